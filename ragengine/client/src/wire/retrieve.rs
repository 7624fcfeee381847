use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Metadata;

/// A search in an index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Retrieve {
    /// The index.
    pub index_name: String,
    /// What is looked for.
    pub query: String,
    /// How many chunks at most, 1 to 300.
    #[serde(default = "default_max_node_count")]
    #[schema(minimum = 1, maximum = 300, default = 5)]
    pub max_node_count: usize,
    /// Only chunks of documents whose metadata has these values. A list stands for any of its values.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "super::optional_metadata")]
    #[schema(value_type = Option<Object>)]
    pub metadata_filter: Option<Metadata>,
}

fn default_max_node_count() -> usize {
    5
}

/// What a search found, the best first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Retrieved {
    /// What was looked for.
    pub query: String,
    /// The chunks.
    pub results: Vec<RetrievedNode>,
    /// How many there are.
    pub count: usize,
    /// How many windows the question was cut into, each of which was searched with: only there when it is longer than the embedding model
    /// reads at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_windows: Option<usize>,
}

/// Which search found a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetrievedSource {
    /// Vectors and full text.
    Both,
    /// Vectors only.
    DenseOnly,
    /// Full text only.
    SparseOnly,
}

/// A chunk that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RetrievedNode {
    /// Its document.
    pub doc_id: String,
    /// Its own id. It is the same for the same text at the same place of the same document.
    pub node_id: String,
    /// Its text.
    pub text: String,
    /// How well it matches, at most 1; higher is better.
    pub score: f32,
    /// The cosine similarity of its vector, when vectors found it.
    pub dense_score: Option<f32>,
    /// Its full-text score, when full text found it.
    pub sparse_score: Option<f32>,
    /// Which search found it.
    pub source: RetrievedSource,
    /// Its document's metadata, and its own `page` when the document is cut by pages.
    #[schema(value_type = Object)]
    pub metadata: Metadata,
}

/// A chunk that an answer was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SourceNode {
    /// Its document.
    pub doc_id: String,
    /// Its own id.
    pub node_id: String,
    /// Its text.
    pub text: String,
    /// The squared L2 distance of its vector from the question's, 0 to 4; lower is nearer.
    pub score: f32,
    /// Its document's metadata, and its own `page` when the document is cut by pages.
    #[schema(value_type = Object)]
    pub metadata: Metadata,
}
