use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StateStore;

/// Votes on answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Feedback {
    /// Whether votes are kept. If not, `/feedback` replies with 400. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Where answers and votes are kept. Default: `redb`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<StateStore>,
}
