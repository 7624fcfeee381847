use std::fmt::{self, Debug, Formatter};

/// Why a test cannot go on.
#[derive(thiserror::Error)]
pub enum Error {
    /// The environment does not say what the tests need to know.
    #[error("{0}")]
    Environment(String),
    /// This machine lacks what a test needs, which is no failure: the test is skipped.
    #[error("{0}")]
    Lacking(String),
    /// The API server, or what it was asked to do, failed.
    #[error("{doing}: {source}")]
    Kubernetes {
        /// What was tried.
        doing: String,
        /// Why it failed.
        source: Box<kube::Error>,
    },
    /// Something was not seen in time.
    #[error("not seen within {timeout_s} s: {wanted}; seen last: {seen}")]
    Deadline {
        /// What was waited for.
        wanted: String,
        /// How long, in seconds.
        timeout_s: u64,
        /// What was there instead.
        seen: String,
    },
    /// A request that got no reply.
    #[error("{request}: {reason}")]
    Request {
        /// Its method and path, and where it went.
        request: String,
        /// What went wrong.
        reason: String,
    },
    /// Something is not as the test wants it.
    #[error("{0}")]
    Unexpected(String),
}

impl Error {
    /// A kind of error, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Environment(_) => "environment",
            Self::Lacking(_) => "lacking",
            Self::Kubernetes { .. } => "kubernetes",
            Self::Deadline { .. } => "deadline",
            Self::Request { .. } => "request",
            Self::Unexpected(_) => "unexpected",
        }
    }

    /// Makes an error of what `doing` met. For `map_err`.
    pub fn kubernetes(doing: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        |source| Self::Kubernetes { doing: doing.into(), source: Box::new(source) }
    }

    /// Whether the cluster does not allow it: by Pod Security, by another admission rule, or by the rights of who asked.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Kubernetes { source, .. } if matches!(&**source, kube::Error::Api(status) if status.is_forbidden()))
    }
}

/// A test that returns an error shows this: the same words.
impl Debug for Error {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}
