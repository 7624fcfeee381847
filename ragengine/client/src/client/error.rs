//! Why a call did not give what was asked for, and the words for it.

use std::error::Error;

use reqwest::StatusCode;

/// Why a call did not give what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is not one.
    #[error("'{0}' is not the address of a server: it must look like http://127.0.0.1:5000")]
    Address(String),
    /// The token cannot be sent.
    #[error("the token has characters that no header can hold")]
    Token,
    /// No request can be made at all, whatever the address.
    #[error("no HTTP client: {0}")]
    Http(String),
    /// No connection could be made.
    #[error("no connection to {url}: {reason}")]
    Unreachable {
        /// The server's address.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// Nobody answered.
    #[error("no answer from {url}: {reason}")]
    Transport {
        /// The server's address.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// The server refused.
    #[error("the server answered {status}: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's words.
        message: String,
    },
}

impl ClientError {
    /// Whether the server refused what was sent, and not because of the index or itself: another document may be taken.
    pub fn is_of_the_document(&self) -> bool {
        matches!(self, Self::Refused { status: 400 | 413 | 422, .. })
    }

    /// Whether nobody listens at the address, as far as can be told.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// Whether the server wants a token, or another one.
    pub fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Refused { status: 401, .. })
    }

    /// Whether the server said that there is no such thing.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }

    /// Whether what is there stands against it: a source that another synchronisation has.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { status: 409, .. })
    }
}

/// What lies at the bottom of an error, without the address that reqwest would print with it.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    let mut reason: &(dyn Error + 'static) = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    reason.to_string()
}

/// The server's own words, whatever they came in.
pub(crate) fn refusal(status: StatusCode, text: &str) -> ClientError {
    let body: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let message = match &body["detail"] {
        serde_json::Value::String(detail) => detail.clone(),
        serde_json::Value::Null => text.chars().take(500).collect(),
        fields => fields.to_string(),
    };
    ClientError::Refused { status: status.as_u16(), message }
}
