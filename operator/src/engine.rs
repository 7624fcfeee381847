//! Reads the servers: how each is, asked again and again, beside the reconciles and never within one.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use ragengine_client::wire::{EngineStatus, GrowingGeneration};
use ragengine_client::{Client, ClientError};
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::warn;

use crate::index::settle::shortened;
use crate::metrics::Metrics;
use crate::names::{Identity, Owner};
use crate::watches::{Referred, Referrers, Wake};

/// How many servers are asked at a time.
const CONCURRENCY: usize = 16;
/// How many of one namespace: whoever may put servers there keeps nobody else's from being asked.
pub const CONCURRENCY_OF_NAMESPACE: usize = 4;
/// The time from one answer to the next question: of a server that is ready, and of one that is not.
const INTERVALS: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(2));
/// How often it is looked who is to be asked.
const TICK: Duration = Duration::from_millis(500);
/// After so many failures in a row a server counts as one that cannot be asked.
const TOLERATED_FAILURES: u32 = 3;

/// What a server said when it was asked last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The pod that it ran in.
    pub pod_uid: String,
    /// Its last answer.
    pub answer: Option<EngineStatus>,
    /// Why the last question got none.
    pub error: Option<String>,
    /// How many questions in a row got none.
    pub failures: u32,
}

impl Report {
    /// Whether the server counts as one that cannot be asked.
    pub fn is_unreachable(&self) -> bool {
        self.failures >= TOLERATED_FAILURES
    }
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The uid of its pod.
    pub pod_uid: String,
    /// The pod's address.
    pub address: IpAddr,
    /// The port at which it is asked how it is.
    pub status_port: u16,
}

/// The most owners and generations of an answer that are kept, the most problems, and the longest of their words, in characters.
const MAX_KEPT: usize = 1000;
const MAX_PROBLEMS: usize = 50;
const MAX_WORDS: usize = 500;

/// The servers that are asked.
pub struct Engines {
    known: Mutex<HashMap<String, Known>>,
    /// The first server's client, which those of all others are made of: one of its own takes each 120 KiB, and the reading of every root certificate.
    client: OnceLock<Client>,
    wake: Wake,
    referrers: Arc<Referrers>,
    news: Notify,
    metrics: Arc<Metrics>,
}

struct Known {
    engine: Owner,
    target: Target,
    client: Client,
    report: Option<Report>,
    due: Instant,
}

/// One question.
struct Question {
    uid: String,
    namespace: String,
    pod_uid: String,
    client: Client,
}

impl Engines {
    /// Nobody yet. Whoever has something new to say wakes its RAGEngine, and the Indexes that name it when it concerns them.
    pub fn new(wake: Wake, referrers: Arc<Referrers>, metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self {
            known: Mutex::default(),
            client: OnceLock::new(),
            wake,
            referrers,
            news: Notify::new(),
            metrics,
        })
    }

    /// What a RAGEngine's server said last.
    pub fn report(&self, uid: &str) -> Option<Report> {
        self.known.lock().get(uid)?.report.clone()
    }

    /// From now on the server is asked there, or not at all.
    pub fn ask(&self, identity: &Identity, target: Option<Target>) {
        let mut known = self.known.lock();
        let Some(target) = target else {
            known.remove(&identity.uid);
            return;
        };
        if known.get(&identity.uid).is_some_and(|known| known.target == target) {
            return;
        }
        let client = match self.client(&url(target.address, target.status_port)) {
            Ok(client) => client,
            Err(error) => {
                warn!(engine = identity.name, %error, "the server cannot be asked how it is");
                return;
            }
        };
        let engine = identity.owner();
        known.insert(identity.uid.clone(), Known { engine, target, client, report: None, due: Instant::now() });
        self.news.notify_one();
    }

    /// A client of the server at this address.
    ///
    /// # Errors
    ///
    /// When the address is none.
    pub fn client(&self, base: &str) -> Result<Client, ClientError> {
        if let Some(client) = self.client.get() {
            return client.at(base);
        }
        let made = Client::guarded(base)?;
        self.client.get_or_init(|| made).at(base)
    }

    /// A RAGEngine is gone.
    pub fn forget(&self, uid: &str) {
        self.known.lock().remove(uid);
    }

    /// Asks, for ever.
    pub async fn run(self: Arc<Self>) {
        let (mut questions, mut asked) = (FuturesUnordered::new(), InFlight::default());
        loop {
            questions.extend(self.due(&mut asked, CONCURRENCY - questions.len()).into_iter().map(ask));
            tokio::select! {
                Some((question, answer)) = questions.next() => {
                    asked.ends(&question.namespace);
                    self.note(question, answer).await;
                }
                () = tokio::time::sleep(TICK) => {}
                () = self.news.notified() => {}
            }
        }
    }

    fn due(&self, asked: &mut InFlight, at_most: usize) -> Vec<Question> {
        let now = Instant::now();
        let mut known = self.known.lock();
        let due = known.iter_mut().filter(|(_, known)| known.due <= now);
        let waiting =
            due.map(|(uid, known)| (Turn { was_asked: known.report.is_some(), due: known.due }, (uid, known)));
        first(waiting.collect())
            .filter(|(_, known)| asked.begins(&known.engine.namespace))
            .take(at_most)
            .map(|(uid, known)| {
                // Longer than an answer may take: nobody is asked twice at a time.
                known.due = now + INTERVALS.0;
                Question {
                    uid: uid.clone(),
                    namespace: known.engine.namespace.clone(),
                    pod_uid: known.target.pod_uid.clone(),
                    client: known.client.clone(),
                }
            })
            .collect()
    }

    async fn note(&self, question: Question, answer: Result<EngineStatus, String>) {
        self.metrics.engine_asked(answer.is_ok());
        let changed = {
            let mut known = self.known.lock();
            let same_pod = known.get_mut(&question.uid).filter(|known| known.target.pod_uid == question.pod_uid);
            let Some(known) = same_pod else { return };
            let report = next(known.report.as_ref(), question.pod_uid, answer.map(bounded));
            let is_well = report.answer.as_ref().is_some_and(|answer| answer.ready && answer.problems.is_empty());
            known.due = Instant::now() + if is_well { INTERVALS.0 } else { INTERVALS.1 };
            let is_news = known.report.as_ref().is_none_or(|before| is_news(before, &report));
            let concerns_indexes = for_indexes(known.report.as_ref()) != for_indexes(Some(&report));
            known.report = Some(report);
            is_news.then(|| (known.engine.clone(), concerns_indexes))
        };
        let Some((engine, concerns_indexes)) = changed else { return };
        self.wake.send(&engine).await;
        if concerns_indexes {
            for index in self.referrers.of(Referred::Engine, &engine.namespace, &engine.name) {
                self.wake.send(&index).await;
            }
        }
    }
}

/// As much of an answer as is kept: whoever makes the server's image chooses what it says.
fn bounded(mut answer: EngineStatus) -> EngineStatus {
    answer.owners.truncate(MAX_KEPT);
    answer.generations.truncate(MAX_KEPT);
    answer.problems.truncate(MAX_PROBLEMS);
    answer.owners.shrink_to_fit();
    answer.generations.shrink_to_fit();
    answer.problems.iter_mut().for_each(|problem| problem.detail = shortened(&problem.detail, MAX_WORDS));
    answer
}

/// Whose turn it is: a server that was never asked comes before all others, because a status waits for it. Those that leave the operator without an answer
/// until the time is over may be many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    was_asked: bool,
    due: Instant,
}

fn first<T>(mut waiting: Vec<(Turn, T)>) -> impl Iterator<Item = T> {
    waiting.sort_by_key(|(turn, _)| *turn);
    waiting.into_iter().map(|(_, who)| who)
}

/// How many questions to servers of each namespace have no answer yet.
#[derive(Debug, Default)]
pub struct InFlight(HashMap<String, usize>);

impl InFlight {
    /// Whether another one may be asked, which it is then.
    pub fn begins(&mut self, namespace: &str) -> bool {
        let count = self.0.get(namespace).copied().unwrap_or(0);
        if count >= CONCURRENCY_OF_NAMESPACE {
            return false;
        }
        self.0.insert(namespace.to_owned(), count + 1);
        true
    }

    /// One was answered, or given up.
    pub fn ends(&mut self, namespace: &str) {
        if let Some(count) = self.0.get_mut(namespace) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(namespace);
            }
        }
    }
}

async fn ask(question: Question) -> (Question, Result<EngineStatus, String>) {
    let answer = question.client.status().await.map_err(|error| error.to_string());
    (question, answer)
}

/// An answer that is old is kept: it says more than none.
fn next(before: Option<&Report>, pod_uid: String, answer: Result<EngineStatus, String>) -> Report {
    match answer {
        Ok(answer) => Report { pod_uid, answer: Some(answer), error: None, failures: 0 },
        Err(error) => Report {
            pod_uid,
            answer: before.and_then(|before| before.answer.clone()),
            error: Some(error),
            failures: before.map_or(0, |before| before.failures).saturating_add(1),
        },
    }
}

/// What the Indexes of an engine look at: whether its server takes documents, and the indexes that are being built anew.
fn for_indexes(report: Option<&Report>) -> (bool, &[GrowingGeneration]) {
    let answer = report.filter(|report| !report.is_unreachable()).and_then(|report| report.answer.as_ref());
    answer.map_or((false, &[]), |answer| (answer.ready, answer.generations.as_slice()))
}

/// Whether a status would say something else.
fn is_news(before: &Report, after: &Report) -> bool {
    before.answer != after.answer || before.is_unreachable() != after.is_unreachable()
}

/// The address of a server in a pod.
pub fn url(address: IpAddr, port: u16) -> String {
    format!("http://{}", SocketAddr::new(address, port))
}

#[cfg(test)]
mod tests;
