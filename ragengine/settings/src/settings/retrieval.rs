use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a chat retrieves chunks from an index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Retrieval {
    /// Maximum distance between a chunk and the question: a squared L2 distance of normalised vectors, from 0
    /// (identical) to 4. Chunks farther away are not used. A good value depends on the embedding model.
    pub max_distance: f32,
    /// The share of the remaining context window that retrieved chunks may fill, 0.2 to 0.8. A request may override it.
    pub context_token_ratio: f64,
    /// Minimum number of chunks that a chat retrieves.
    #[serde(rename = "minTopK")]
    pub min_top_k: u32,
    /// Assumed size of a chunk in tokens, used to compute how many chunks to retrieve.
    pub tokens_per_chunk: u32,
    /// Maximum number of windows of a question that is longer than the input limit of the embedding model. Each window
    /// is embedded and searched separately. A longer question gets a 400.
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
