use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Checks of all answers, also of those that are passed through.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Guardrails {
    /// Whether answers are checked. While there is no valid policy, chats get a 503.
    pub enabled: bool,
    /// The file with the policy. Read again when it changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_file: Option<PathBuf>,
}
