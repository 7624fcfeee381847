use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a chat takes from an index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Retrieval {
    /// Chunks farther than this from the question are not used: a squared L2 distance of normalised vectors, 0 (the same) to 4. What it means depends on the embedding model.
    #[schemars(range(min = 0.0, max = 4.0))]
    pub max_distance: f64,
    /// The part of the tokens left that context may take when a request does not say.
    #[schemars(range(min = 0.2, max = 0.8))]
    pub context_token_ratio: f64,
    /// Chunks looked at by a chat, at least.
    #[serde(rename = "minTopK")]
    #[schemars(range(min = 1, max = 10_000))]
    pub min_top_k: u32,
    /// Tokens that a chunk is taken to have, in the reckoning of how many are looked at.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub tokens_per_chunk: u32,
}

impl Default for Retrieval {
    fn default() -> Self {
        Self { max_distance: 0.85, context_token_ratio: 0.5, min_top_k: 100, tokens_per_chunk: 500 }
    }
}
