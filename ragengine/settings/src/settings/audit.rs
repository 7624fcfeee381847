use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A record of who did what, on standard output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Audit {
    /// Whether each request is recorded, as a line of JSON: time, request id, caller, action, index and outcome.
    pub enabled: bool,
}
