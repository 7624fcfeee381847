use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// How documents are cut, in tokens of the embedding model.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.overlapTokens) || (has(self.maxTokens) && self.overlapTokens < self.maxTokens)")
    .message("chunking.overlapTokens must be less than chunking.maxTokens, which has to be there too: for example maxTokens: 256 and overlapTokens: 25"))]
pub struct IndexChunking {
    /// The longest chunk. Not set: 512, or what the model takes if that is less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 16, max = 1_000_000))]
    pub max_tokens: Option<u32>,
    /// How much of a chunk is repeated in the next. Not set: a tenth of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub overlap_tokens: Option<u32>,
}
