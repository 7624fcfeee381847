use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A document from a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ParsedDocument {
    /// The key of the document within its file: the id of a row, or its number. None for a file with a single document.
    pub key: Option<String>,
    /// The text. Pages are separated by a form feed (U+000C).
    pub text: String,
    /// Metadata from the file: `title`, `url` and `date` (as `2026-05-01`), and the way to split the document:
    /// `split_type`, and `language` for code.
    pub metadata: Map<String, Value>,
}

/// A part of a file that is invalid, while others are valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The location, such as `line 7`.
    pub place: String,
    /// The error message.
    pub message: String,
}

/// An item parsed from a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parsed {
    /// A document.
    Document(ParsedDocument),
    /// An invalid part, which is skipped.
    Problem(Problem),
}

/// The consumer needs no further items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;
