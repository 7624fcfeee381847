//! The policy's file.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;

use crate::error::PolicyError;
use crate::limits::MAX_POLICY_BYTES;
use crate::policy::Policy;

/// The time between two looks at the file.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// There is no valid policy now, so no answer may be shown. The text names the file and says what to mend.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyProblem {
    /// There is no such file.
    #[error("the guardrails policy {} does not exist: create it, or disable guardrails", .path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("the guardrails policy {} cannot be read: {reason}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        reason: String,
    },
    /// The policy is invalid.
    #[error("the guardrails policy {} is invalid: {source}", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: PolicyError,
    },
}

impl PolicyProblem {
    /// A short name for a metric's label.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "missing",
            Self::Unreadable { .. } => "unreadable",
            Self::Invalid { source, .. } => source.kind(),
        }
    }
}

/// What the file held when it was last read.
struct State {
    /// None if it could not be read.
    text: Option<String>,
    current: Result<Arc<Policy>, PolicyProblem>,
}

/// A policy in a file that may change while the server runs.
///
/// It fails closed: when the file is missing, unreadable or invalid there is no policy, even if there was a valid one
/// before. Then answers must be refused (status 503) until it is mended. Streams that have begun keep their policy.
pub struct PolicyFile {
    path: PathBuf,
    state: RwLock<State>,
}

impl PolicyFile {
    /// Reads the policy. A problem with it is logged, and is the result of [`current`](Self::current).
    pub fn open(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let state = load(&path, read(&path));
        log(&state.current);
        Self { path, state: RwLock::new(state) }
    }

    /// The policy for the next answer.
    ///
    /// # Errors
    ///
    /// [`PolicyProblem`]: there is no valid policy. The answer must be refused.
    pub fn current(&self) -> Result<Arc<Policy>, PolicyProblem> {
        self.state.read().current.clone()
    }

    /// Reads the file, and takes over what has changed. Returns whether anything has. The contents are compared, because
    /// Kubernetes changes mounted files by swapping symbolic links. A change is logged, and so is a problem, once.
    pub fn refresh(&self) -> bool {
        let text = read(&self.path);
        {
            let state = self.state.read();
            match (&text, &state.text) {
                (Ok(new), Some(old)) if new == old => return false,
                (Err(problem), None) if state.current.as_ref().err() == Some(problem) => return false,
                _ => {}
            }
        }
        let new = load(&self.path, text);
        log(&new.current);
        *self.state.write() = new;
        true
    }

    /// Looks at the file every two seconds. It never ends, so the caller drops or aborts it.
    pub async fn watch(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let file = self.clone();
            // Patterns take some time to compile. A panic there must not end the watching.
            if let Err(error) = tokio::task::spawn_blocking(move || file.refresh()).await {
                tracing::error!(%error, "the guardrails policy could not be read again");
            }
        }
    }
}

fn read(path: &Path) -> Result<String, PolicyProblem> {
    let problem = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => PolicyProblem::Missing { path: path.to_owned() },
        _ => PolicyProblem::Unreadable { path: path.to_owned(), reason: error.to_string() },
    };
    let mut text = String::new();
    // One byte more than allowed shows that the file is too large.
    let limit = MAX_POLICY_BYTES as u64 + 1;
    File::open(path).and_then(|file| file.take(limit).read_to_string(&mut text)).map_err(problem)?;
    Ok(text)
}

fn load(path: &Path, text: Result<String, PolicyProblem>) -> State {
    match text {
        Ok(text) => {
            let current = Policy::parse(&text)
                .map(Arc::new)
                .map_err(|source| PolicyProblem::Invalid { path: path.to_owned(), source });
            State { text: Some(text), current }
        }
        Err(problem) => State { text: None, current: Err(problem) },
    }
}

fn log(current: &Result<Arc<Policy>, PolicyProblem>) {
    match current {
        Ok(policy) => {
            tracing::info!(policy = policy.id(), scanners = policy.scanners().len(), "guardrails policy in use")
        }
        Err(problem) => tracing::error!(%problem, "answers are refused until the guardrails policy is mended"),
    }
}
