use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A message about a completed request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Message {
    /// The message.
    pub message: String,
}

/// The health of the server, in a format that existing clients expect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// `Healthy` or `Unhealthy`.
    pub status: String,
    /// Why the server is unhealthy.
    pub detail: Option<String>,
}

/// A condition of the server's readiness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Check {
    /// Whether the condition holds.
    pub ready: bool,
    /// The progress or the error.
    pub detail: String,
}

/// The readiness of the server, with its conditions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Readiness {
    /// Whether all conditions hold. Single unavailable indexes do not count, because the others are available.
    pub ready: bool,
    /// The conditions `volume`, `model` and `indexes`.
    pub checks: BTreeMap<String, Check>,
}

/// An error: a message, or a list of invalid fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ErrorDetail {
    /// A string, or a list of [`FieldError`].
    pub detail: Value,
}

/// An invalid field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// The location of the field: `body` or `query`, followed by names and positions.
    pub loc: Vec<Value>,
    /// The error message.
    pub msg: String,
    /// A short name of the error.
    #[serde(rename = "type")]
    pub kind: String,
}
