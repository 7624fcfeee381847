use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How documents are split into chunks. Sizes are in tokens of the embedding model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Chunking {
    /// Maximum chunk size including its heading. Default: 512, or the model's limit if that is less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Overlap between consecutive chunks. Default: 10% of the maximum chunk size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap_tokens: Option<u32>,
}
