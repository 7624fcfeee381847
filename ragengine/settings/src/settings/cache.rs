use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Answers that are given again to the same question. They are kept in `redis` and `postgres` if these are set, else in
/// memory. A changed index never gives an old answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Cache {
    /// Whether answers are kept.
    pub enabled: bool,
    /// The least similarity of the best chunk of an answer that is kept, 0 to 1.
    pub min_similarity: f32,
    /// How long an answer is kept, in days. 1 to 365.
    pub ttl_days: u32,
}

impl Default for Cache {
    fn default() -> Self {
        Self { enabled: true, min_similarity: 0.75, ttl_days: 30 }
    }
}
