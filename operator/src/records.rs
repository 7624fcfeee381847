//! Polls the servers' records of synchronisations, while a Job runs and after it has ended. Independent of the
//! reconciles.

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

use crate::engine::{Engines, InFlight, Target};
use crate::metrics::Metrics;
use crate::names::{IndexIdentity, Owner};
use crate::ports::PORT;
use crate::server_token::ServerToken;
use crate::watches::Wake;

/// The maximum number of concurrent requests.
const CONCURRENCY: usize = 8;
/// The time from an answer to the next request.
const INTERVAL: Duration = Duration::from_secs(2);
/// The maximum number of file errors that are requested for all sources of an Index together. Its status has no room
/// for more.
const MAX_ERRORS: usize = 40;
/// The timeout of a request.
const LIMIT: Duration = Duration::from_secs(10);
/// How often the due requests are collected.
const TICK: Duration = Duration::from_millis(500);

/// A request for the record of a synchronisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The address of the server.
    pub target: Target,
    /// The name of the index in the server.
    pub index_name: String,
    /// Whether the server must know its caller. Other servers are not sent the operator's token.
    pub must_know_caller: bool,
    /// The number of sources of the Index.
    pub sources: usize,
    /// The synchronisation, and whether its Job has ended: an answer from before the end is not final.
    pub about: About,
}

/// A synchronisation, running or ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Its id.
    pub sync_id: String,
    /// Whether its Job has ended.
    pub has_ended: bool,
}

/// The last answer of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The synchronisation that it is about.
    pub about: About,
    /// The sources of the Index by their names in the Index. Empty if the server knows none, `None` if it has not
    /// answered.
    pub sources: Option<Vec<SourceDescription>>,
    /// The number of consecutive failures.
    pub failures: u32,
}

/// The synchronisations that are polled.
pub struct Records {
    known: Mutex<HashMap<String, PolledIndex>>,
    /// Provides the connections to the servers.
    engines: Arc<Engines>,
    /// Says who the operator is.
    token: Arc<ServerToken>,
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

/// A request that is due.
struct Due {
    uid: String,
    owner: Owner,
    question: Question,
    client: Client,
}

impl Records {
    /// Starts without synchronisations. A record that has changed wakes its Index.
    pub fn new(engines: Arc<Engines>, token: Arc<ServerToken>, wake: Wake, metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self { known: Mutex::default(), engines, token, wake, news: Notify::new(), metrics })
    }

    /// The last record of the synchronisation.
    pub fn record(&self, uid: &str) -> Option<Record> {
        self.known.lock().get(uid)?.record.clone()
    }

    /// Polls this record from now on. `None` stops polling.
    pub fn ask(&self, identity: &IndexIdentity, question: Option<Question>) {
        let mut known = self.known.lock();
        let Some(question) = question else {
            known.remove(&identity.uid);
            return;
        };
        if known.get(&identity.uid).is_some_and(|known| known.question == question) {
            return;
        }
        // A URL made of an IP address is always valid.
        let Ok(client) = self.engines.client(&question.target.url(PORT)) else { return };
        let owner = identity.owner();
        known.insert(identity.uid.clone(), PolledIndex { owner, question, client, record: None, due: Instant::now() });
        self.news.notify_one();
    }

    /// Forgets an Index that was deleted.
    pub fn forget(&self, uid: &str) {
        self.known.lock().remove(uid);
    }

    /// Polls until it is aborted.
    pub async fn run(self: Arc<Self>) {
        let (mut questions, mut asked) = (FuturesUnordered::new(), InFlight::default());
        loop {
            questions
                .extend(self.due(&mut asked, CONCURRENCY - questions.len()).into_iter().map(|due| self.answered(due)));
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
                // Longer than the timeout of a request, so a server never has two requests for the same record.
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

    async fn answered(&self, due: Due) -> (Due, Option<Vec<SourceDescription>>) {
        let token = if due.question.must_know_caller { self.token.read().await } else { None };
        ask(due, token).await
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

async fn ask(due: Due, token: Option<String>) -> (Due, Option<Vec<SourceDescription>>) {
    let prefix = format!("{}.", due.owner.name);
    let max_errors = (MAX_ERRORS / due.question.sources.max(1)).max(1);
    let which = ListSources { owner: Some(due.owner.name.clone()), max_errors: Some(max_errors) };
    let client = match token {
        Some(token) => due.client.clone().with_token(&token),
        None => Ok(due.client.clone()),
    };
    // A text that cannot be a token is not sent: the server refuses the question, as it does without a token.
    let client = client.unwrap_or_else(|_| due.client.clone());
    let asked = tokio::time::timeout(LIMIT, client.some_sources(&due.question.index_name, &which)).await;
    let answer = match asked {
        Ok(Ok(sources)) => Some(sources),
        // The index does not exist before its first document.
        Ok(Err(error)) if error.is_not_found() => Some(Vec::new()),
        Ok(Err(_)) | Err(_) => None,
    };
    let answer = answer.map(|sources| sources.into_iter().filter_map(|source| unprefixed(source, &prefix)).collect());
    (due, answer)
}

/// Removes the owner's prefix from a source's name. `None` for sources of other owners.
fn unprefixed(mut source: SourceDescription, prefix: &str) -> Option<SourceDescription> {
    source.name = source.name.strip_prefix(prefix)?.to_owned();
    Some(source)
}

/// The next record. After a failure the previous answer is kept, because it is better than none.
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
    fn only_sources_with_the_prefix_of_the_index_are_read() {
        let source =
            |name: &str| SourceDescription { name: name.into(), documents: 1, chunks: 1, bytes: 1, sync: None };
        for (name, own) in [("handbook.site", Some("site")), ("handbook2.site", None), ("by-hand", None)] {
            assert_eq!(unprefixed(source(name), "handbook.").map(|source| source.name).as_deref(), own, "{name}");
        }
    }

    #[test]
    fn a_failure_keeps_the_previous_answer() {
        let about = About { sync_id: "a".into(), has_ended: true };
        let first = next(None, about.clone(), Some(Vec::new()));
        let failed = next(Some(&first), about.clone(), None);
        assert_eq!((failed.sources.clone(), failed.failures), (Some(Vec::new()), 1));
        assert_eq!(next(Some(&failed), about.clone(), None).failures, 2);
        assert_eq!(next(None, about, None).sources, None);
    }
}
