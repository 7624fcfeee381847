use std::sync::Arc;

use ragengine_errors::{Class, Fault, Logged, RetryAfter};

/// When a request may be sent again, in seconds.
const RETRY_SECONDS: u32 = 5;

/// A caller is not let in. The texts never contain the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The request has no token.
    #[error("this request needs a token: send the header 'Authorization: Bearer TOKEN' with {accepted}")]
    Missing {
        /// The kinds of tokens that the server takes.
        accepted: Arc<str>,
    },
    /// The server does not know the token.
    #[error(
        "the token in the request is not known: send the header 'Authorization: Bearer TOKEN' with {accepted} of this \
         server"
    )]
    Unknown {
        /// The kinds of tokens that the server takes.
        accepted: Arc<str>,
    },
    /// The token has expired.
    #[error("the token in the request has expired: get a new one, by signing in again or from its issuer")]
    Expired,
    /// Whether the token is known cannot be said now.
    #[error("the token in the request cannot be checked now, because {which}: send the request again in some seconds")]
    Unavailable {
        /// What is missing.
        which: Dependency,
    },
}

/// What checking a caller needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Dependency {
    /// The folder of the API keys, which could not be read yet.
    #[error("the API keys have not been read yet")]
    ApiKeys,
    /// The Redis server with the sessions.
    #[error("the sessions in Redis cannot be reached")]
    Sessions,
    /// The keys of the token's issuer, none of which have been read yet.
    #[error("the keys of its issuer have not been read yet")]
    IssuerKeys,
    /// The rules of `access.yaml`, which have not been read yet.
    #[error("the rules of access have not been read yet")]
    Rules,
}

impl Refused {
    /// The refusal's kind, for metrics and logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "token_missing",
            Self::Unknown { .. } => "token_unknown",
            Self::Expired => "token_expired",
            Self::Unavailable { which: Dependency::ApiKeys } => "api_keys_unavailable",
            Self::Unavailable { which: Dependency::Sessions } => "sessions_unavailable",
            Self::Unavailable { which: Dependency::IssuerKeys } => "issuer_keys_unavailable",
            Self::Unavailable { which: Dependency::Rules } => "rules_unavailable",
        }
    }
}

impl Fault for Refused {
    fn class(&self) -> Class {
        match self {
            Self::Missing { .. } | Self::Unknown { .. } | Self::Expired => Class::Unauthorized,
            Self::Unavailable { .. } => Class::Unavailable,
        }
    }

    fn kind(&self) -> &'static str {
        self.kind()
    }

    fn retry_after(&self) -> Option<RetryAfter> {
        matches!(self, Self::Unavailable { .. }).then_some(RetryAfter::Seconds(RETRY_SECONDS))
    }
}

impl Logged for Refused {
    fn own_words(&self) -> Option<String> {
        Some(self.to_string())
    }
}
