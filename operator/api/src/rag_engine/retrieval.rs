use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How a chat retrieves chunks from an index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Retrieval {
    /// Maximum distance between question and chunk: the squared L2 distance of normalised vectors, from 0 (identical)
    /// to 4. Suitable values depend on the embedding model. Default: 0.85.
    #[schemars(range(min = 0.0, max = 4.0))]
    pub max_distance: f64,
    /// Share of the remaining context window that retrieved chunks may fill, from 0.2 to 0.8. Requests can override it.
    /// Default: 0.5.
    #[schemars(range(min = 0.2, max = 0.8))]
    pub context_token_ratio: f64,
    /// Minimum number of chunks that a chat searches for. Default: 100.
    #[serde(rename = "minTopK")]
    #[schemars(range(min = 1, max = 10_000))]
    pub min_top_k: u32,
    /// Assumed length of a chunk, in tokens, used to calculate how many chunks to search for. Default: 500.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub tokens_per_chunk: u32,
    /// Filters that are chosen by the words of a question. The first rule that matches applies; a rule without `words`
    /// applies when no other matches; a rule with which nothing near enough is found is dropped. `endpoints` says where
    /// they are used. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub filter_rules: Vec<FilterRule>,
    /// What decides whether a question gets context. `fixed`: each chunk must be within `maxDistance`. `calibrated`: the
    /// question must be answerable, judged by its vectors and words and by random chunks of the index; `maxDistance` is
    /// not used. Default: `fixed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Threshold>,
    /// Minimum similarity of the best chunk, from 0 to 1. A question whose best chunk is below it gets no context.
    /// Default: no minimum.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub min_similarity: Option<f64>,
    /// Language of full-text search: its stems and stop words. `none`: words as they are written. Default: `english`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "languages")]
    pub language: Option<String>,
    /// Weight of vectors in hybrid retrieval, from 0 to 1. Default: 0.7.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub dense_weight: Option<f64>,
    /// Weight of words in hybrid retrieval, from 0 to 1. Default: 0.3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub text_weight: Option<f64>,
    /// Weight of relevance against difference for `diversity: mmr`, from 0 to 1. 1: relevance only. Default: 0.7.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub mmr_lambda: Option<f64>,
    /// Similarity from which chunks are near-identical, from 0 to 1. Default: 0.98.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub duplicate_similarity: Option<f64>,
}

/// A filter for questions with some words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FilterRule {
    /// Words and phrases, as whole words in any case, such as `policy`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), inner(length(min = 1, max = 200)))]
    pub words: Vec<String>,
    /// Conditions on the metadata of documents, as in `metadata_filter` of a request, such as
    /// `{priority: {$gte: 7}}`.
    #[schemars(schema_with = "conditions")]
    pub filter: Map<String, Value>,
}

/// What decides whether a question gets context. `fixed`: each chunk must be within `maxDistance`. `calibrated`: the
/// question must be answerable, judged by its vectors and words and by random chunks of the index; `maxDistance` is not
/// used. Default: `fixed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Threshold {
    /// The distance of each chunk.
    Fixed,
    /// A judgement of the question.
    Calibrated,
}

/// The languages of full-text search.
pub const TEXT_LANGUAGES: [&str; 19] = [
    "none",
    "arabic",
    "danish",
    "dutch",
    "english",
    "finnish",
    "french",
    "german",
    "greek",
    "hungarian",
    "italian",
    "norwegian",
    "portuguese",
    "romanian",
    "russian",
    "spanish",
    "swedish",
    "tamil",
    "turkish",
];

fn languages(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "nullable": true, "enum": TEXT_LANGUAGES})
}

fn conditions(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "object", "maxProperties": 100, "x-kubernetes-preserve-unknown-fields": true})
}

impl Default for Retrieval {
    fn default() -> Self {
        Self {
            max_distance: 0.85,
            context_token_ratio: 0.5,
            min_top_k: 100,
            tokens_per_chunk: 500,
            filter_rules: Vec::new(),
            threshold: None,
            min_similarity: None,
            language: None,
            dense_weight: None,
            text_weight: None,
            mmr_lambda: None,
            duplicate_similarity: None,
        }
    }
}
