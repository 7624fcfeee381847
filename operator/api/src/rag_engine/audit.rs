use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Record of who did what, as lines of JSON on the server's standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Audit {
    /// Whether each request is recorded: time, request id, caller, action, index and outcome. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}
