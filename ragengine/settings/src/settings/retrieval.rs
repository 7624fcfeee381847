use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a chat takes from an index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Retrieval {
    /// Chunks farther than this from the question are not used: a squared L2 distance of normalised vectors, 0 (the same) to 4. What it means depends on the embedding model.
    pub max_distance: f32,
    /// The part of the tokens left that context may take when a request does not say: 0.2 to 0.8.
    pub context_token_ratio: f64,
    /// Chunks looked at by a chat, at least.
    #[serde(rename = "minTopK")]
    pub min_top_k: u32,
    /// Tokens that a chunk is taken to have, in the reckoning of how many are looked at.
    pub tokens_per_chunk: u32,
    /// Windows that a question is cut into at most, when it is longer than the embedding model reads at once: each is embedded and searched with. A longer question is a 400.
    pub max_question_windows: u32,
}

impl Default for Retrieval {
    fn default() -> Self {
        Self {
            max_distance: 0.85,
            context_token_ratio: 0.5,
            min_top_k: 100,
            tokens_per_chunk: 500,
            max_question_windows: 64,
        }
    }
}
