//! Polls the status of all servers, independently of the reconciles.

mod report;
mod turns;

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;
use ragengine_client::wire::EngineStatus;
use ragengine_client::{Client, ClientError};
pub use report::Report;
use report::{bounded, for_indexes, is_news, next};
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::warn;
pub use turns::{CONCURRENCY_OF_NAMESPACE, InFlight};
use turns::{Turn, first};

use crate::metrics::Metrics;
use crate::names::{Identity, Owner};
use crate::pod;
use crate::ports::{PORT, admin_port_of};
use crate::scheme::Scheme;
use crate::watches::{Referred, Referrers, Wake};

/// The maximum number of concurrent requests.
const CONCURRENCY: usize = 16;
/// The time from an answer to the next request: for a server without problems, and for any other.
const INTERVALS: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(2));
/// How often the due requests are collected.
const TICK: Duration = Duration::from_millis(500);

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The uid of its pod.
    pub pod_uid: String,
    /// The pod's address.
    pub address: IpAddr,
    /// The port of its status endpoint.
    pub status_port: u16,
    /// The scheme of its port for clients.
    pub scheme: Scheme,
}

impl Target {
    /// The address of a server that can be asked, once its container has started.
    pub fn of(pods: &[Arc<Pod>]) -> Option<Self> {
        let pod = pod::asked(pods).filter(|pod| pod::has_begun(pod))?;
        let address = pod.status.as_ref()?.pod_ip.as_ref()?.parse().ok()?;
        let scheme = Scheme::of_pod(&pod.metadata);
        Some(Self { pod_uid: pod.metadata.uid.clone()?, address, status_port: admin_port_of(pod), scheme })
    }

    /// The base URL of one of its ports. Only the port for clients has TLS.
    pub fn url(&self, port: u16) -> String {
        let scheme = if port == PORT { self.scheme } else { Scheme::Http };
        format!("{scheme}://{}", SocketAddr::new(self.address, port))
    }
}

/// The servers that are polled.
pub struct Engines {
    known: Mutex<HashMap<String, PolledEngine>>,
    /// The first client. All other clients are derived from it, because a new one would use 120 KiB and parse all root
    /// certificates again.
    client: OnceLock<Client>,
    wake: Wake,
    referrers: Arc<Referrers>,
    news: Notify,
    metrics: Arc<Metrics>,
}

struct PolledEngine {
    engine: Owner,
    target: Target,
    client: Client,
    report: Option<Report>,
    due: Instant,
}

/// A request for the status of a server.
struct Question {
    uid: String,
    namespace: String,
    pod_uid: String,
    client: Client,
}

impl Engines {
    /// Starts without servers. A status that has changed wakes its RAGEngine, and the Indexes that refer to it if they
    /// are affected.
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

    /// The last report about a RAGEngine's server.
    pub fn report(&self, uid: &str) -> Option<Report> {
        self.known.lock().get(uid)?.report.clone()
    }

    /// Polls the server at this address from now on. `None` stops polling.
    pub fn ask(&self, identity: &Identity, target: Option<Target>) {
        let mut known = self.known.lock();
        let Some(target) = target else {
            known.remove(&identity.uid);
            return;
        };
        if known.get(&identity.uid).is_some_and(|known| known.target == target) {
            return;
        }
        let client = match self.client(&target.url(target.status_port)) {
            Ok(client) => client,
            Err(error) => {
                warn!(engine = identity.name, %error, "the server's status cannot be read: its address is invalid");
                return;
            }
        };
        let engine = identity.owner();
        known.insert(identity.uid.clone(), PolledEngine { engine, target, client, report: None, due: Instant::now() });
        self.news.notify_one();
    }

    /// A client of the server at this address.
    ///
    /// # Errors
    ///
    /// When the address is invalid.
    pub fn client(&self, base: &str) -> Result<Client, ClientError> {
        if let Some(client) = self.client.get() {
            return client.at(base);
        }
        let made = Client::guarded(base)?;
        self.client.get_or_init(|| made).at(base)
    }

    /// Forgets a RAGEngine that was deleted.
    pub fn forget(&self, uid: &str) {
        self.known.lock().remove(uid);
    }

    /// Polls until it is aborted.
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
                // Longer than the timeout of a request, so a server never has two requests at a time.
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

async fn ask(question: Question) -> (Question, Result<EngineStatus, String>) {
    let answer = question.client.status().await.map_err(|error| error.to_string());
    (question, answer)
}

#[cfg(test)]
mod tests;
