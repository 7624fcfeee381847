use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// How documents are split into chunks. Lengths are in tokens of the embedding model.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new(
        "!has(self.overlapTokens) || (has(self.maxTokens) && self.overlapTokens < self.maxTokens)"
    )
    .message(
        "chunking.overlapTokens must be less than chunking.maxTokens, which must be set too: for example maxTokens: \
         256 and overlapTokens: 25"
    )
)]
pub struct IndexChunking {
    /// Maximum length of a chunk, in tokens. Default: 512, or the limit of the embedding model if that is lower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 16, max = 1_000_000))]
    pub max_tokens: Option<u32>,
    /// Overlap between chunks, in tokens. Default: 10% of `maxTokens`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub overlap_tokens: Option<u32>,
}
