use std::time::Duration;

use crate::StoreError;

/// Why a server does not work. The texts are our own, because those of the server name users and may quote rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It is out of reach, or refuses connections.
    Unreachable(String),
    /// It did not answer in time.
    NoAnswer(String),
    /// A newer version migrated the tables of the database that this setting names.
    NewerSchema(&'static str),
    /// It refuses to work. Connecting again does not help, but the next operation may succeed.
    Refused(String),
    /// A row or a reply is not as expected.
    Damaged(String),
    /// Anything else.
    Other(String),
}

impl Failure {
    /// Silence for this time.
    pub fn no_answer(limit: Duration) -> Self {
        Self::NoAnswer(format!("it did not answer within {} s", limit.as_secs()))
    }

    /// Whether a connection must be made before the next operation.
    pub fn needs_connection(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::NewerSchema(_))
    }

    /// What is wrong, for people.
    pub fn words(&self) -> String {
        match self {
            Self::NewerSchema(_) => self.error().to_string(),
            Self::Unreachable(words)
            | Self::NoAnswer(words)
            | Self::Refused(words)
            | Self::Damaged(words)
            | Self::Other(words) => words.clone(),
        }
    }

    /// The error of an operation.
    pub fn error(&self) -> StoreError {
        match self {
            Self::Unreachable(words) | Self::Refused(words) | Self::NoAnswer(words) => {
                StoreError::Unavailable(words.clone())
            }
            Self::NewerSchema(setting) => StoreError::NewerSchema(format!("the database of {setting}")),
            Self::Damaged(words) | Self::Other(words) => StoreError::Damaged(words.clone()),
        }
    }
}
