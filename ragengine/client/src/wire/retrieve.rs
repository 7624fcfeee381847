use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ExplainedEvidence, ExplainedStage, Metadata};

/// A search in an index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
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
    pub pipeline: Option<RetrieveStages>,
    /// Whether the reply explains what the stages did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub explain: bool,
}

/// Stages of `/retrieve` that a request turns on or off. Not set: as the setting `endpoints.retrieve` says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetrieveStages {
    /// Whether acronyms of the setting `rewrite.acronyms` are expanded in the query that is searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acronyms: Option<bool>,
    /// Whether a filter of the setting `retrieval.filterRules` is chosen by the words of the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_rules: Option<bool>,
    /// How chunks are found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieval: Option<RetrievalMode>,
    /// The threshold that `explanation.context` is about. `/retrieve` returns chunks whatever it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Threshold>,
}

/// What decides whether a question gets context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Threshold {
    /// The setting `retrieval.maxDistance`.
    Fixed,
    /// A judgement of the question by its vectors and words.
    Calibrated,
}

/// Stages of the pipeline that a chat turns on or off. Not set: as the setting `endpoints` says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PipelineStages {
    /// When the language model rewrites the question with the history, for the search only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condense: Option<Condensing>,
    /// Whether the language model rewrites the question for the search, if it is not rewritten with the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reformulate: Option<bool>,
    /// Whether acronyms of the setting `rewrite.acronyms` are expanded in the query that is searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acronyms: Option<bool>,
    /// Whether a filter of the setting `retrieval.filterRules` is chosen by the words of the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_rules: Option<bool>,
    /// How chunks are found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieval: Option<RetrievalMode>,
    /// Whether votes on earlier answers raise and lower the scores of their chunks. The reply then has the header
    /// `x-answer-id`, and its answer can be voted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<bool>,
    /// Whether the newer comes first of chunks whose scores differ by less than 0.02.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recency: Option<bool>,
    /// When the 20 best chunks are put in order by the model of the setting `rerank`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerank: Option<Reranking>,
    /// What is done about chunks that say the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diversity: Option<Diversity>,
    /// Whether earlier questions of the caller and their answers are in the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactions: Option<bool>,
    /// The form of the passages in the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_format: Option<ContextFormat>,
    /// Whether HTML in the answer becomes Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postprocess: Option<bool>,
    /// Whether the citations of the answer are checked and renumbered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citations: Option<bool>,
    /// Whether an earlier answer to the same question is given again. Only for `/query` and `/chat`. The reply has the
    /// header `x-cache`: `hit`, `miss` or `bypass`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<bool>,
    /// Whether events about the question and its answer are published. Only for `/query` and `/chat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<bool>,
    /// Only interactions with this provider are used, such as `openai/gpt-4o`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The kind of the task, under which the question and its answer are kept. Default: `general`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_category: Option<String>,
}

/// When a question is rewritten so that it is understood without the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Condensing {
    /// Never.
    Never,
    /// If it seems to continue the history: it is short, begins with a word such as *and*, or has a pronoun.
    FollowUp,
    /// Whenever there is a history.
    Always,
}

/// When the best chunks are put in order by a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Reranking {
    /// Never.
    Never,
    /// If the best scores are close to each other, or the question asks for what is newest or compares.
    Conditional,
    /// For every question.
    Always,
}

/// How chunks are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum RetrievalMode {
    /// By the distance of their vectors.
    Dense,
    /// By their words (BM25).
    Text,
    /// By both, with the weights of the settings.
    Hybrid,
    /// By both, with their reciprocal ranks.
    Rrf,
}

/// The form of the passages in the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum ContextFormat {
    /// With numbers that the answer cites.
    Numbered,
    /// With their sources.
    Source,
}

/// What is done about chunks that say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Diversity {
    /// Nothing.
    None,
    /// Of near-identical chunks, only the best is used.
    Duplicates,
    /// Chunks are chosen that are relevant and unlike each other.
    Mmr,
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
    /// What the stages did, if the request has `explain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<RetrieveExplanation>,
}

/// What the stages of a search did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RetrieveExplanation {
    /// The stages of the pipeline that were on, in order.
    pub stages: Vec<ExplainedStage>,
    /// How near the best chunk is: `excellent` (a similarity of 0.90 or more), `good` (0.80), `acceptable` (0.75) or
    /// `below`. Missing if nothing was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub band: Option<String>,
    /// Whether a chat would get context for this query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<bool>,
    /// What the calibrated threshold was decided by. Missing for the fixed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<ExplainedEvidence>,
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
    /// The relevance, about 0 to 1; higher is better. By vectors: the cosine similarity. By words: the BM25 score,
    /// divided by the best. By both: their weighted sum, or the sum of reciprocal ranks.
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
