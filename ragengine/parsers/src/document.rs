use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A document that a file holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ParsedDocument {
    /// What tells it from the others of its file: the id of a row, or its number. A file that is one document has none.
    pub key: Option<String>,
    /// Its text. Pages are separated by a form feed (U+000C).
    pub text: String,
    /// What the file says of it: `title`, `url` and `date` (as `2026-05-01`), and how it is to be cut: `split_type`, and `language` for code.
    pub metadata: Map<String, Value>,
}

/// A part of a file that could not be read, beside others that could.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Where it is: `line 7`.
    pub place: String,
    /// What is wrong there, in words.
    pub message: String,
}

/// What comes out of a file, one after another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parsed {
    /// A document.
    Document(ParsedDocument),
    /// A part that is left out.
    Problem(Problem),
}

/// Nobody wants what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;
