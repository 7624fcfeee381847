use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{Explanation, PipelineStages, RetrieveStages, RetrievedNode};

/// A question whose answer cites its sources.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatRequest {
    /// The question.
    pub query: String,
    /// Maximum number of chunks that are looked for, 1 to 300. Default: the setting `endpoints.chat.topK`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 300)]
    pub top_k: Option<usize>,
    /// The conversation: 8 to 128 letters, digits, `-` and `_`. Not set: there is no history, and none is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The language model. Default: the caller's in the setting `endpoints.chat.modelByCaller`, else the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// The index to answer from. Default: the setting `defaultIndex`, else the only index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_name: Option<String>,
    /// Whether the answer is streamed as server-sent events: `token` with `{"text": …}`, then `done` with the whole
    /// reply, or `error` with `{"detail": …}`.
    #[serde(default)]
    pub stream: bool,
    /// Whether the reply explains the decision about every chunk.
    #[serde(default)]
    pub explain: bool,
    /// Restricts the context to documents whose metadata matches, as for `/retrieve`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "super::metadata_filter")]
    #[schema(value_type = Option<Object>)]
    pub metadata_filter: Option<Map<String, Value>>,
    /// Stages of the pipeline to turn on or off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<PipelineStages>,
}

/// An answer with its citations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChatReply {
    /// The question as it was asked.
    pub query: String,
    /// The answer. Numbers in brackets are those of the citations.
    pub answer: String,
    /// The cited passages in the order of their numbers. Without the stage `citations`, all passages in the prompt.
    pub citations: Vec<Citation>,
    /// The id under which the answer can be voted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_id: Option<String>,
    /// The question that needs no history, if it was rewritten with the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condensed_question: Option<String>,
    /// `unavailable` if the history cannot be read now: the answer was made without it, and is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<String>,
    /// The explanation, if the request asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

/// A passage that an answer cites.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Citation {
    /// The document's title: its metadata `title`, else its `path`, else its id.
    pub title: String,
    /// The page, from the document's metadata.
    pub page: Option<u64>,
    /// The address, from the document's metadata.
    pub url: Option<String>,
    /// Its number in the answer, from 1.
    pub number: usize,
    /// The document's id.
    pub doc_id: String,
    /// The id of its best chunk.
    pub node_id: String,
    /// The text.
    pub passage: String,
    /// The headings above it.
    pub heading: Option<String>,
    /// How well the passage supports the sentences that cite it, 0 to 1: the least similarity of one of them. Null if it
    /// could not be found out. Only with the setting `citations.verify`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known_or_null")]
    pub support: Option<Option<f32>>,
}

/// Distinguishes null from an absent field.
fn known_or_null<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<f32>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// A search in an index, as the chat service has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchRequest {
    /// The text to search for.
    pub query: String,
    /// Maximum number of chunks, 1 to 300. Default: the setting `endpoints.chat.topK`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 300)]
    pub top_k: Option<usize>,
    /// The index. Default: the setting `defaultIndex`, else the only index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_name: Option<String>,
    /// Restricts the search to documents whose metadata matches, as for `/retrieve`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "super::metadata_filter")]
    #[schema(value_type = Option<Object>)]
    pub metadata_filter: Option<Map<String, Value>>,
    /// Stages of the pipeline to turn on or off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<RetrieveStages>,
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SearchReply {
    /// The text that was searched for.
    pub query: String,
    /// The chunks, best first.
    pub results: Vec<RetrievedNode>,
    /// Their number.
    pub count: usize,
}
