use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A sentence about what was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Message {
    /// The sentence.
    pub message: String,
}

/// Whether the server works, in the words that existing clients look for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// `Healthy` or `Unhealthy`.
    pub status: String,
    /// What is missing, when something is.
    pub detail: Option<String>,
}

/// One of the things that the server needs before it can answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Check {
    /// Whether it is there.
    pub ready: bool,
    /// What it is doing, or what is wrong.
    pub detail: String,
}

/// Whether the server can answer, and what it waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Readiness {
    /// Whether everything below is ready, but for single indexes: one that cannot be used does not keep the others from being served.
    pub ready: bool,
    /// `volume`, `model` and `indexes`.
    pub checks: BTreeMap<String, Check>,
}

/// What is wrong with a request: a sentence, or a list of the fields that are not as they must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ErrorDetail {
    /// A string, or a list of [`FieldError`].
    pub detail: Value,
}

/// A field that is not as it must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// Where it is: `body` or `query`, then names and positions.
    pub loc: Vec<Value>,
    /// What is wrong.
    pub msg: String,
    /// A short name for what is wrong.
    #[serde(rename = "type")]
    pub kind: String,
}
