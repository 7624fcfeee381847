use serde::{Deserialize, Serialize};

use super::Confinement;
use crate::{Format, Limits, ParseError, ParsedDocument};

/// No request is longer, in bytes: the name of a charset and a few numbers.
pub(super) const MAX_REQUEST_BYTES: u64 = 64 << 10;

/// No greeting is longer, in bytes.
pub(super) const MAX_GREETING_BYTES: u64 = 4 << 10;

/// What a worker says first, before it reads anything: one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub confinement: Confinement,
}

/// What a worker is asked: one line of JSON. The bytes of the file come after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Request {
    pub format: Format,
    pub charset: Option<String>,
    /// How many come.
    pub bytes: usize,
    pub limits: Limits,
}

/// What a worker answers: one line of JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Reply {
    /// What the file is.
    pub outcome: Outcome,
    /// Whether it is to be replaced, because it would keep much of the memory that it needed.
    pub is_last: bool,
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// This document.
    Parsed(ParsedDocument),
    /// No document.
    Failed(ParseError),
}

/// How long a reply may be, in bytes: a document whose every character is escaped, and its metadata.
pub(super) fn max_reply_bytes(limits: &Limits) -> u64 {
    (limits.max_document_bytes as u64).saturating_mul(6).saturating_add(256 << 10)
}
