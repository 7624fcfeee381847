//! Reads what the servers have recorded of synchronisations: asked while one runs and when it has ended, beside the reconciles and never within
//! one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use ragengine_client::Client;
use ragengine_client::wire::{ListSources, SourceDescription};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::engine::{self, Engines, InFlight, Target};
use crate::metrics::Metrics;
use crate::names::{IndexIdentity, Owner};
use crate::ports::PORT;
use crate::watches::Wake;

/// How many servers are asked at a time.
const CONCURRENCY: usize = 8;
/// The time from one answer to the next question.
const INTERVAL: Duration = Duration::from_secs(2);
/// The most errors of all sources of an Index together that a server is asked for: its status has no room for more.
const MAX_ERRORS: usize = 40;
/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(10);
/// How often it is looked who is to be asked.
const TICK: Duration = Duration::from_millis(500);

/// What is asked, and of whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Where the server is.
    pub target: Target,
    /// The name of the index in it.
    pub index_name: String,
    /// How many sources the Index has.
    pub sources: usize,
    /// Which synchronisation is asked about, and whether its Job has ended: an answer from before that is not the last word.
    pub about: About,
}

/// A synchronisation, running or ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Its name.
    pub sync_id: String,
    /// Whether its Job has ended.
    pub has_ended: bool,
}

/// What a server said last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What it was asked about.
    pub about: About,
    /// The sources of the Index, by the names that they have there; empty where the server knows none. None: it has not answered.
    pub sources: Option<Vec<SourceDescription>>,
    /// How many questions in a row got no answer.
    pub failures: u32,
}

/// The synchronisations that are asked about.
pub struct Records {
    known: Mutex<HashMap<String, PolledIndex>>,
    /// Whose connections are used here too.
    engines: Arc<Engines>,
    wake: Wake,
    news: Notify,
    metrics: Arc<Metrics>,
}

struct PolledIndex {
    owner: Owner,
    question: Question,
    client: Client,
    record: Option<Record>,
    due: Instant,
}

/// A question that is due.
struct Due {
    uid: String,
    owner: Owner,
    question: Question,
    client: Client,
}

impl Records {
    /// Nobody yet. Whoever has something new to say wakes its Index.
    pub fn new(engines: Arc<Engines>, wake: Wake, metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self { known: Mutex::default(), engines, wake, news: Notify::new(), metrics })
    }

    /// What the server said last of the synchronisation that is asked about.
    pub fn record(&self, uid: &str) -> Option<Record> {
        self.known.lock().get(uid)?.record.clone()
    }

    /// From now on this is asked, or nothing.
    pub fn ask(&self, identity: &IndexIdentity, question: Option<Question>) {
        let mut known = self.known.lock();
        let Some(question) = question else {
            known.remove(&identity.uid);
            return;
        };
        if known.get(&identity.uid).is_some_and(|known| known.question == question) {
            return;
        }
        // An address that was made of an IP address is one.
        let Ok(client) = self.engines.client(&engine::url(question.target.address, PORT)) else { return };
        let owner = identity.owner();
        known.insert(identity.uid.clone(), PolledIndex { owner, question, client, record: None, due: Instant::now() });
        self.news.notify_one();
    }

    /// An Index is gone.
    pub fn forget(&self, uid: &str) {
        self.known.lock().remove(uid);
    }

    /// Asks, for ever.
    pub async fn run(self: Arc<Self>) {
        let (mut questions, mut asked) = (FuturesUnordered::new(), InFlight::default());
        loop {
            questions.extend(self.due(&mut asked, CONCURRENCY - questions.len()).into_iter().map(ask));
            tokio::select! {
                Some((due, answer)) = questions.next() => {
                    asked.ends(&due.owner.namespace);
                    self.note(due, answer).await;
                }
                () = tokio::time::sleep(TICK) => {}
                () = self.news.notified() => {}
            }
        }
    }

    fn due(&self, asked: &mut InFlight, at_most: usize) -> Vec<Due> {
        let now = Instant::now();
        let mut known = self.known.lock();
        let mut waiting: Vec<_> = known.iter_mut().filter(|(_, known)| known.due <= now).collect();
        waiting.sort_by_key(|(_, known)| known.due);
        let turns = waiting.into_iter().filter(|(_, known)| asked.begins(&known.owner.namespace));
        turns
            .take(at_most)
            .map(|(uid, known)| {
                // Longer than an answer may take: nobody is asked twice at a time.
                known.due = now + 2 * LIMIT;
                Due {
                    uid: uid.clone(),
                    owner: known.owner.clone(),
                    question: known.question.clone(),
                    client: known.client.clone(),
                }
            })
            .collect()
    }

    async fn note(&self, due: Due, answer: Option<Vec<SourceDescription>>) {
        self.metrics.engine_asked(answer.is_some());
        let changed = {
            let mut known = self.known.lock();
            let same = known.get_mut(&due.uid).filter(|known| known.question == due.question);
            let Some(known) = same else { return };
            let record = next(known.record.as_ref(), due.question.about, answer);
            known.due = Instant::now() + INTERVAL;
            let is_news = known.record.as_ref() != Some(&record);
            known.record = Some(record);
            is_news.then(|| known.owner.clone())
        };
        if let Some(owner) = changed {
            self.wake.send(&owner).await;
        }
    }
}

async fn ask(due: Due) -> (Due, Option<Vec<SourceDescription>>) {
    let prefix = format!("{}.", due.owner.name);
    let max_errors = (MAX_ERRORS / due.question.sources.max(1)).max(1);
    let which = ListSources { owner: Some(due.owner.name.clone()), max_errors: Some(max_errors) };
    let asked = tokio::time::timeout(LIMIT, due.client.some_sources(&due.question.index_name, &which)).await;
    let answer = match asked {
        Ok(Ok(sources)) => Some(sources),
        // Before its first document there is no such index.
        Ok(Err(error)) if error.is_not_found() => Some(Vec::new()),
        Ok(Err(_)) | Err(_) => None,
    };
    let answer = answer.map(|sources| sources.into_iter().filter_map(|source| unprefixed(source, &prefix)).collect());
    (due, answer)
}

/// One of this owner's, by its own name.
fn unprefixed(mut source: SourceDescription, prefix: &str) -> Option<SourceDescription> {
    source.name = source.name.strip_prefix(prefix)?.to_owned();
    Some(source)
}

/// An answer that is old is kept: it says more than none.
fn next(before: Option<&Record>, about: About, answer: Option<Vec<SourceDescription>>) -> Record {
    match answer {
        Some(sources) => Record { about, sources: Some(sources), failures: 0 },
        None => Record {
            about,
            sources: before.and_then(|before| before.sources.clone()),
            failures: before.map_or(0, |before| before.failures).saturating_add(1),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_sources_of_the_index_are_its_own() {
        let source =
            |name: &str| SourceDescription { name: name.into(), documents: 1, chunks: 1, bytes: 1, sync: None };
        for (name, own) in [("handbook.site", Some("site")), ("handbook2.site", None), ("by-hand", None)] {
            assert_eq!(unprefixed(source(name), "handbook.").map(|source| source.name).as_deref(), own, "{name}");
        }
    }

    #[test]
    fn an_old_answer_says_more_than_none() {
        let about = About { sync_id: "a".into(), has_ended: true };
        let first = next(None, about.clone(), Some(Vec::new()));
        let failed = next(Some(&first), about.clone(), None);
        assert_eq!((failed.sources.clone(), failed.failures), (Some(Vec::new()), 1));
        assert_eq!(next(Some(&failed), about.clone(), None).failures, 2);
        assert_eq!(next(None, about, None).sources, None);
    }
}
