use serde::{Deserialize, Serialize};

use super::Confinement;
use crate::{Format, Limits, ParseError, ParsedDocument};

/// Maximum length of a request in bytes. It has the name of a charset and a few numbers.
pub(super) const MAX_REQUEST_BYTES: u64 = 64 << 10;

/// Maximum length of a greeting in bytes.
pub(super) const MAX_GREETING_BYTES: u64 = 4 << 10;

/// The first message of a worker, sent before it reads anything: one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub confinement: Confinement,
}

/// A request to a worker: one line of JSON, followed by the bytes of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Request {
    pub format: Format,
    pub charset: Option<String>,
    /// Number of bytes of the file.
    pub bytes: usize,
    pub limits: Limits,
}

/// The reply of a worker: one line of JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Reply {
    /// The result of parsing.
    pub outcome: ParseOutcome,
    /// Whether the worker must be replaced because it holds too much memory.
    pub is_last: bool,
}

/// The result of parsing a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ParseOutcome {
    /// The parsed document.
    Parsed(ParsedDocument),
    /// The error.
    Failed(ParseError),
}

/// Maximum length of a reply in bytes: a document in which every character is escaped, and its metadata.
pub(super) fn max_reply_bytes(limits: &Limits) -> u64 {
    (limits.max_document_bytes as u64).saturating_mul(6).saturating_add(256 << 10)
}
