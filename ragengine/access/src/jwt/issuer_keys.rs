use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{info, warn};

use super::key_set::KeySet;
use super::key_source::KeySource;
use crate::problem::{Change, Problem};
use crate::small_file::LOOK_EVERY;

/// A request waits at most for this time until the keys were read again. An attempt takes at most 5 s.
const WAIT_LIMIT: Duration = Duration::from_secs(6);

/// How often the keys of an issuer are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// From an address, after a success.
    pub address: Duration,
    /// From a file.
    pub file: Duration,
    /// From an address, after a failure.
    pub after_failure: Duration,
    /// The shortest time between two attempts when a token names an unknown key.
    pub unknown_key: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        let ten_seconds = Duration::from_secs(10);
        let address = Duration::from_secs(300);
        Self { address, file: LOOK_EVERY, after_failure: ten_seconds, unknown_key: ten_seconds }
    }
}

/// The keys of an issuer. One background task reads them, so that no two requests cause two attempts. The last good
/// ones stay.
pub(super) struct IssuerKeys {
    shared: Arc<Shared>,
    pace: Pace,
    watcher: AbortHandle,
}

struct Shared {
    current: RwLock<Option<Current>>,
    problem: Problem,
    /// A request wants the keys to be read again.
    wanted: Notify,
    attempt: Mutex<Attempt>,
    /// How many attempts have ended.
    ended: watch::Sender<u64>,
}

/// The keys that hold.
#[derive(Clone)]
pub(super) struct Current {
    pub keys: Arc<KeySet>,
    /// Another number after each change.
    pub generation: u64,
}

#[derive(Default)]
struct Attempt {
    began_at: Option<Instant>,
    is_running: bool,
}

impl IssuerKeys {
    /// Reads the keys, and again as long as this lives. `issuer` is for the log. Must be called in a tokio runtime.
    pub async fn open(issuer: String, source: KeySource, pace: Pace) -> Self {
        let shared = Arc::new(Shared {
            current: RwLock::default(),
            problem: Problem::default(),
            wanted: Notify::new(),
            attempt: Mutex::default(),
            ended: watch::channel(0).0,
        });
        let watcher = tokio::spawn(watch(Arc::clone(&shared), issuer, source, pace)).abort_handle();
        let keys = Self { shared, pace, watcher };
        keys.attempt_after(0).await;
        keys
    }

    /// The keys. None as long as none were read.
    pub fn current(&self) -> Option<Current> {
        self.shared.current.read().clone()
    }

    /// What is wrong with reading now, in words for people.
    pub fn problem(&self) -> Option<String> {
        self.shared.problem.words()
    }

    /// Waits until the keys were read again, if the last attempt was long enough ago.
    pub async fn refresh(&self) {
        let ended = *self.shared.ended.borrow();
        {
            let attempt = self.shared.attempt.lock();
            if !attempt.is_running {
                if attempt.began_at.is_some_and(|began_at| began_at.elapsed() < self.pace.unknown_key) {
                    return;
                }
                self.shared.wanted.notify_one();
            }
        }
        self.attempt_after(ended).await;
    }

    async fn attempt_after(&self, ended: u64) {
        let mut subscribed = self.shared.ended.subscribe();
        // When it takes too long, the last keys hold.
        drop(timeout(WAIT_LIMIT, subscribed.wait_for(|now| *now > ended)).await);
    }
}

impl Drop for IssuerKeys {
    fn drop(&mut self) {
        self.watcher.abort();
    }
}

/// Reads the keys again and again. Never returns.
async fn watch(shared: Arc<Shared>, issuer: String, mut source: KeySource, pace: Pace) {
    loop {
        let began_at = Instant::now();
        *shared.attempt.lock() = Attempt { began_at: Some(began_at), is_running: true };
        let read = source.changed().await;
        let is_good = read.is_ok();
        shared.has_read(&issuer, source.setting(), read);
        shared.attempt.lock().is_running = false;
        shared.ended.send_modify(|ended| *ended += 1);
        let wait = match (&source, is_good) {
            (KeySource::File(_), _) => pace.file,
            (KeySource::Url { .. }, true) => pace.address,
            (KeySource::Url { .. }, false) => pace.after_failure,
        };
        let next = began_at + wait;
        tokio::select! {
            () = sleep_until(next) => {}
            () = shared.wanted.notified() => {
                // A request of before the attempt.
                sleep_until(next.min(began_at + pace.unknown_key)).await;
            }
        }
    }
}

impl Shared {
    fn has_read(&self, issuer: &str, setting: &str, read: Result<Option<KeySet>, String>) {
        match read {
            Ok(changed) => {
                if let Some(keys) = changed {
                    info!(issuer, keys = keys.len(), "the keys of {setting} were read");
                    let mut current = self.current.write();
                    let generation = current.as_ref().map_or(0, |current| current.generation + 1);
                    *current = Some(Current { keys: Arc::new(keys), generation });
                }
                if self.problem.set(None) == Change::Ended {
                    info!(issuer, "the keys of {setting} can be read again");
                }
            }
            Err(words) => {
                let words = format!("the keys of the issuer {issuer} cannot be read: {words}");
                if self.problem.set(Some(&words)) == Change::Began {
                    let held = self.current.read().is_some();
                    let until_then = if held { "the last ones hold" } else { "its tokens cannot be checked" };
                    warn!(problem = words, "{setting}: {until_then}");
                }
            }
        }
    }
}
