use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits on requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// Chats per minute of one caller, or without `auth.modes` of one address. Further ones get a 429 with
    /// `Retry-After`. Behind an Ingress, all clients have the same address. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub chats_per_minute_per_caller: Option<u32>,
}
