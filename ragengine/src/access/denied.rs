use ragengine_access::{Action, Refused};
use ragengine_errors::{Class, Fault, Logged, RetryAfter};

use super::Unauthorized;

/// Why a caller may not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The write token is missing or wrong.
    #[error(transparent)]
    Unauthorized(#[from] Unauthorized),
    /// The caller is not known.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The rules of the index do not allow it. The same whether the index exists or not.
    #[error("You may not {action} index '{index}'.")]
    Index {
        /// What the caller wanted to do.
        action: Action,
        /// The index.
        index: String,
    },
    /// The request is about all indexes.
    #[error("You may not write all indexes: name the index.")]
    AllIndexes,
    /// Copies of whole indexes need the write token.
    #[error("You may not copy indexes: send the server's write token.")]
    Copy,
}

impl Fault for Denied {
    fn class(&self) -> Class {
        match self {
            Self::Unauthorized(error) => error.class(),
            Self::Refused(error) => error.class(),
            Self::Index { .. } | Self::AllIndexes | Self::Copy => Class::Forbidden,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Unauthorized(error) => error.kind(),
            Self::Refused(error) => error.kind(),
            Self::Index { .. } | Self::AllIndexes | Self::Copy => "forbidden",
        }
    }

    fn retry_after(&self) -> Option<RetryAfter> {
        match self {
            Self::Refused(error) => error.retry_after(),
            Self::Unauthorized(_) | Self::Index { .. } | Self::AllIndexes | Self::Copy => None,
        }
    }
}

impl Logged for Denied {
    fn own_words(&self) -> Option<String> {
        match self {
            Self::Unauthorized(error) => error.own_words(),
            Self::Refused(error) => error.own_words(),
            // The name is a caller's text.
            Self::Index { action, .. } => Some(format!("the caller may not {action} the index")),
            Self::AllIndexes | Self::Copy => Some(self.to_string()),
        }
    }
}
