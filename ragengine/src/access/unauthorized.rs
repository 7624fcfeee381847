use std::fmt;
use std::sync::Arc;

use ragengine_errors::{Class, Fault, Logged};

/// A request needs the write token and does not show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unauthorized {
    pub(super) missing: Missing,
    /// Where the token is, as the settings say.
    pub(super) source: Option<Arc<str>>,
}

/// What is wrong with what was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// Nothing was shown.
    Everything,
    /// It was no bearer token.
    Bearer,
    /// It was another token.
    OtherToken,
}

impl fmt::Display for Unauthorized {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wrong = match self.missing {
            Missing::OtherToken => "the token that was sent is not this server's write token",
            Missing::Bearer => {
                "writing wants this server's write token, and the Authorization that was sent is no bearer token"
            }
            Missing::Everything => "writing wants this server's write token, and none was sent",
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
