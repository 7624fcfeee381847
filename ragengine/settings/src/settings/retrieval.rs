use ragengine_pipeline::request::Threshold;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TextLanguage;

/// How a chat retrieves chunks from an index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Retrieval {
    /// Maximum distance between a chunk and the question: a squared L2 distance of normalised vectors, from 0
    /// (identical) to 4. Chunks farther away are not used. A good value depends on the embedding model.
    pub max_distance: f32,
    /// What decides whether a question gets context. `fixed`: each chunk must be within `maxDistance`. `calibrated`: the
    /// question must be answerable, which is judged once for each question by its vectors and words and by the distances
    /// of random chunks of the index; `maxDistance` is not used then.
    pub threshold: Threshold,
    /// Minimum similarity of the best chunk, 0 to 1: a question whose best chunk is below it gets no context. Not set:
    /// no minimum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_similarity: Option<f32>,
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
    /// Filters that are chosen by the words of the question, such as
    /// `{words: [policy, policies], filter: {priority: {$gte: 7}}}`. Words and phrases match whole words in any case;
    /// the first rule that matches counts. A rule without `words` is for questions that no other rule matches. A rule
    /// with which nothing near enough is found is dropped. At most 100. See `endpoints` for where they are used.
    pub filter_rules: Vec<FilterRule>,
    /// The language of full-text search: stems and stop words. Chunks of documents with the `split_type` `code` are
    /// searched without. After a change, the full text is made again in the background; searches use vectors only
    /// until then.
    pub language: TextLanguage,
    /// The weight of vectors in hybrid retrieval, 0 to 1. A chunk's score is
    /// `denseWeight * similarity + textWeight * (BM25 score / best BM25 score)`.
    pub dense_weight: f32,
    /// The weight of the text in hybrid retrieval, 0 to 1.
    pub text_weight: f32,
    /// The weight of relevance against difference when chunks are chosen by maximal marginal relevance, 0 to 1. 1:
    /// relevance only.
    pub mmr_lambda: f32,
    /// Chunks with at least this similarity are near-identical, 0 to 1.
    pub duplicate_similarity: f32,
}

/// A filter for questions with some words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FilterRule {
    /// Words and phrases.
    #[serde(default)]
    pub words: Vec<String>,
    /// A filter as in the field `metadata_filter` of a request.
    pub filter: serde_json::Map<String, serde_json::Value>,
}

impl Default for Retrieval {
    fn default() -> Self {
        Self {
            max_distance: 0.85,
            threshold: Threshold::Fixed,
            min_similarity: None,
            context_token_ratio: 0.5,
            min_top_k: 100,
            tokens_per_chunk: 500,
            max_question_windows: 64,
            filter_rules: Vec::new(),
            language: TextLanguage::English,
            dense_weight: 0.7,
            text_weight: 0.3,
            mmr_lambda: 0.7,
            duplicate_similarity: 0.98,
        }
    }
}
