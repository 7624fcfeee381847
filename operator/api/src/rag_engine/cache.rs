use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Answers that are given again to the same question. `endpoints` says where. They are kept in `redis` and `postgres` if
/// these are set, otherwise in the server's memory. A changed index never gives an old answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Cache {
    /// Whether answers are kept. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Minimum similarity of the best chunk of an answer that is kept, from 0 to 1. Default: 0.75.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub min_similarity: Option<f64>,
    /// How long an answer is kept, in days. Default: 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 365))]
    pub ttl_days: Option<u32>,
}
