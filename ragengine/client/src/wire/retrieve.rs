use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Metadata;

/// A search in an index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Retrieve {
    /// The name of the index.
    pub index_name: String,
    /// The text to search for.
    pub query: String,
    /// Maximum number of chunks, 1 to 300.
    #[serde(default = "default_max_node_count")]
    #[schema(minimum = 1, maximum = 300, default = 5)]
    pub max_node_count: usize,
    /// Restricts the search to documents whose metadata matches: `{"team": "people", "year": {"$gte": 2025}}`. A list
    /// matches any of its values. Operators: `$eq`, `$ne`, `$in`, `$nin`, `$gt`, `$gte`, `$lt`, `$lte`, `$exists`,
    /// `$and`, `$or`, `$not`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "super::metadata_filter")]
    #[schema(value_type = Option<Object>)]
    pub metadata_filter: Option<Metadata>,
    /// Stages of the pipeline to turn on or off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<PipelineStages>,
}

/// Stages of the pipeline that a request turns on or off. Not set: as the setting `endpoints` says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PipelineStages {
    /// Whether acronyms of the setting `rewrite.acronyms` are expanded in the query that is searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acronyms: Option<bool>,
    /// Whether a filter of the setting `retrieval.filterRules` is chosen by the words of the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_rules: Option<bool>,
}

fn default_max_node_count() -> usize {
    5
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Retrieved {
    /// The text that was searched for.
    pub query: String,
    /// The chunks, best first.
    pub results: Vec<RetrievedNode>,
    /// Number of chunks.
    pub count: usize,
    /// Number of windows that the query was split into; each is searched separately. Present only if the query is
    /// longer than the input limit of the embedding model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_windows: Option<usize>,
}

/// Which search found a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetrievedSource {
    /// Vector search and full-text search.
    Both,
    /// Vector search only.
    DenseOnly,
    /// Full-text search only.
    SparseOnly,
}

/// A retrieved chunk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RetrievedNode {
    /// The id of its document.
    pub doc_id: String,
    /// The id of the chunk. It stays the same while the text and its position in the document stay the same.
    pub node_id: String,
    /// The text of the chunk.
    pub text: String,
    /// The relevance, at most 1. Higher is better.
    pub score: f32,
    /// The cosine similarity to the query. Null unless vector search found the chunk.
    pub dense_score: Option<f32>,
    /// The full-text score. Null unless full-text search found the chunk.
    pub sparse_score: Option<f32>,
    /// Which search found the chunk.
    pub source: RetrievedSource,
    /// The metadata of its document, with the chunk's `page` if the document is split by pages.
    #[schema(value_type = Object)]
    pub metadata: Metadata,
}

/// A chunk that was used for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SourceNode {
    /// The id of its document.
    pub doc_id: String,
    /// The id of the chunk.
    pub node_id: String,
    /// The text of the chunk.
    pub text: String,
    /// The squared L2 distance between the vectors of chunk and question, 0 to 4. Lower is nearer.
    pub score: f32,
    /// The metadata of its document, with the chunk's `page` if the document is split by pages.
    #[schema(value_type = Object)]
    pub metadata: Metadata,
}
