//! Errors of a reconcile.

use crate::apply::ApplyError;

/// Why objects could not be built. No specification is known to cause this.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The settings file of a server could not be serialised.
    #[error("cannot serialise the settings of the server: {0}")]
    Settings(#[from] serde_json::Error),
    /// The task of a Job could not be serialised.
    #[error("cannot serialise the task of the Job: {0}")]
    Task(#[from] serde_saphyr::SerializeError),
    /// The rules of indexes could not be serialised.
    #[error("cannot serialise the rules of indexes: {0}")]
    Access(#[source] serde_saphyr::SerializeError),
}

/// Why a reconcile failed, by step.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The NodeClaims could not be read.
    #[error("cannot read the NodeClaims of the engine: {0}")]
    Nodes(#[source] kube::Error),
    /// The objects could not be built.
    #[error("cannot build the objects: {0}")]
    Build(#[from] BuildError),
    /// An object could not be applied.
    #[error("cannot apply the objects: {0}")]
    Apply(#[from] ApplyError),
    /// The status could not be written.
    #[error("cannot write the status: {0}")]
    Status(#[source] kube::Error),
}

impl Error {
    /// The kind of failure, as a metric label.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Nodes(error) | Self::Status(error) => kind(error),
            Self::Build(_) => "build",
            Self::Apply(ApplyError::Refused(_)) => "api_refused",
            Self::Apply(ApplyError::Failed { source, .. }) => kind(source),
            Self::Apply(ApplyError::Randomness(_)) => "randomness",
        }
    }
}

fn kind(error: &kube::Error) -> &'static str {
    match error {
        kube::Error::Api(status) => match status.code {
            409 => "api_conflict",
            429 => "api_throttled",
            400 | 403 | 413 | 422 => "api_refused",
            _ => "api",
        },
        _ => "no_answer",
    }
}
