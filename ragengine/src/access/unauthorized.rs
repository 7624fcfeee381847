use std::fmt;
use std::sync::Arc;

use ragengine_errors::{Class, Fault, Logged};

/// The write token of a request is missing or wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unauthorized {
    pub(super) missing: Missing,
    /// `auth.writeTokenSource`: where users can find the token.
    pub(super) source: Option<Arc<str>>,
}

/// The fault of the Authorization header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// There is no header.
    Everything,
    /// The header has no bearer token.
    Bearer,
    /// The token is not accepted.
    OtherToken,
}

impl fmt::Display for Unauthorized {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wrong = match self.missing {
            Missing::OtherToken => "the token in the request is not this server's write token",
            Missing::Bearer => {
                "this request needs the server's write token, but its Authorization header has no bearer token"
            }
            Missing::Everything => "this request needs the server's write token, but has no Authorization header",
        };
        write!(
            formatter,
            "{wrong}: send the header 'Authorization: Bearer TOKEN' (auth.writeToken in the server's settings)"
        )?;
        match &self.source {
            Some(source) => write!(formatter, ". The token is in {source}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Unauthorized {}

impl Fault for Unauthorized {
    fn class(&self) -> Class {
        Class::Unauthorized
    }

    fn kind(&self) -> &'static str {
        "unauthorized"
    }
}

impl Logged for Unauthorized {
    fn own_words(&self) -> Option<String> {
        Some(self.to_string())
    }
}
