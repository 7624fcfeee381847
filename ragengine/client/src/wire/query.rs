use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{Explanation, Metadata, PipelineStages};

/// A question of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryRequest {
    /// The question.
    pub query: String,
    /// The conversation: 8 to 128 letters, digits, `-` and `_`. Default: a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
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

/// The answer to a question of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QueryReply {
    /// The answer. Numbers in brackets are those of the sources.
    pub answer: String,
    /// The passages in the prompt, in order. Empty if there are none. With the stage `citations`, only those that the
    /// answer cites, in the order of their new numbers.
    pub sources: Vec<QuerySource>,
    /// The conversation.
    pub session_id: String,
    /// The id under which the answer can be voted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_id: Option<String>,
    /// The question that needs no history, if there is a history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condensed_question: Option<String>,
    /// `unavailable` if the history cannot be read now: the answer was made without it, and is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<String>,
    /// The explanation, if the request asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

/// A passage that an answer is based on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuerySource {
    /// Its number in the answer, from 1.
    pub number: usize,
    /// The index.
    pub index_name: String,
    /// The document's id.
    pub doc_id: String,
    /// The id of its best chunk.
    pub node_id: String,
    /// The text.
    pub text: String,
    /// The relevance of its best chunk, 0 to 1. Higher is better.
    pub score: f32,
    /// The document's metadata.
    #[schema(value_type = Object)]
    pub metadata: Metadata,
}

/// The messages of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChatHistory {
    /// The conversation.
    pub session_id: String,
    /// The messages, in order. Empty for an unknown conversation.
    pub messages: Vec<HistoryMessage>,
}

/// A message of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HistoryMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// The text.
    pub content: String,
    /// The passages of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<QuerySource>>,
    /// The id under which the answer can be voted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_id: Option<String>,
    /// `false` for an answer that was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete: Option<bool>,
}

/// The conversation to clear.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClearChat {
    /// The conversation.
    pub session_id: String,
}

/// The reply to clearing a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClearedChat {
    /// `success`.
    pub status: String,
    /// What was cleared.
    pub message: String,
}
