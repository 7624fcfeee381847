use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How documents are cut. Sizes are in tokens of the embedding model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Chunking {
    /// The longest chunk, its heading included. Not set: 512, or the model's limit when that is less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How much of a chunk is repeated at the start of the next. Not set: a tenth of the longest chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap_tokens: Option<u32>,
}
