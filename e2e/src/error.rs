use std::fmt::{self, Debug, Formatter};

/// The reason why a test cannot continue.
#[derive(thiserror::Error)]
pub enum Error {
    /// The environment lacks a setting that the tests need.
    #[error("{0}")]
    Environment(String),
    /// This machine lacks a program or permission that a test needs. The test is skipped.
    #[error("{0}")]
    Lacking(String),
    /// A request to the API server failed.
    #[error("{doing}: {source}")]
    Kubernetes {
        /// The action that failed.
        doing: String,
        /// The cause.
        source: Box<kube::Error>,
    },
    /// A condition was not met in time.
    #[error("not met within {timeout_s} s: {wanted}; last state: {seen}")]
    Deadline {
        /// The expected condition.
        wanted: String,
        /// The time limit, in seconds.
        timeout_s: u64,
        /// The last observed state.
        seen: String,
    },
    /// A request got no reply.
    #[error("{request}: {reason}")]
    Request {
        /// The method, the path and the target.
        request: String,
        /// The cause.
        reason: String,
    },
    /// A result is not as the test expects.
    #[error("{0}")]
    Unexpected(String),
}

impl Error {
    /// The kind of the error, as one word.
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

    /// Returns a function for `map_err` that adds what the test was `doing`.
    pub fn kubernetes(doing: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        |source| Self::Kubernetes { doing: doing.into(), source: Box::new(source) }
    }

    /// Whether Pod Security, another admission rule or missing permissions forbid the request.
    pub fn is_forbidden(&self) -> bool {
        let Self::Kubernetes { source, .. } = self else { return false };
        matches!(&**source, kube::Error::Api(status) if status.is_forbidden())
    }
}

/// A test that returns an error prints it with `Debug`. This prints the message instead.
impl Debug for Error {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}
