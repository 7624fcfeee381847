use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{Citation, Explanation, PipelineStages, SourceNode};

/// OpenAI's chat completion request, with eight additional fields. All other fields are sent to the language model
/// unchanged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChatCompletionRequest {
    /// The conversation, in OpenAI's format.
    #[schema(value_type = Vec<Object>)]
    pub messages: Vec<Map<String, Value>>,
    /// The name of the model. Default: the configured model, or the first that the endpoint lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The index to answer from. Not set: the language model answers without documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_name: Option<String>,
    /// The share of the free context window that documents may fill, 0.2 to 0.8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_token_ratio: Option<f64>,
    /// Restricts the context to documents whose metadata matches, as for `/retrieve`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata_filter: Option<Map<String, Value>>,
    /// Stages of the pipeline to turn on or off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<PipelineStages>,
    /// `context` (the default), or `condense_plus_context`: the question is rewritten with the history, the new question
    /// is searched for, and the language model gets it in addition to the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_mode: Option<ChatMode>,
    /// Whether the citations of the answer are checked and renumbered. An answer from an index that cites nothing is then
    /// replaced by the setting `citations.fallbackMessage`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citations: Option<bool>,
    /// Whether the index is also used if the request has tools. By default such a request goes to the language model as
    /// it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rag_with_tools: Option<bool>,
    /// Whether the reply explains the decision about every chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<bool>,
    /// Whether the answer is streamed as server-sent events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// All other parameters of OpenAI's API.
    #[serde(flatten)]
    #[schema(value_type = Object, additional_properties = true)]
    pub more: Map<String, Value>,
}

/// OpenAI's chat completion, with the documents that were used. In a stream the additional fields are on the chunk
/// with `finish_reason`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChatCompletion {
    /// The answers, in OpenAI's format.
    #[schema(value_type = Vec<Object>)]
    pub choices: Vec<Map<String, Value>>,
    /// The chunks in the prompt, nearest first. Null if the language model answered without documents.
    pub source_nodes: Option<Vec<SourceNode>>,
    /// The cited passages in the order of their numbers. With `citations: true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citations: Option<Vec<Citation>>,
    /// The question that needs no history. With `chat_mode: condense_plus_context`, if there is a history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condensed_question: Option<String>,
    /// The explanation, if the request asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// All other fields from the language model, such as `id`, `model` and `usage`.
    #[serde(flatten)]
    #[schema(value_type = Object, additional_properties = true)]
    pub more: Map<String, Value>,
}

/// How the history of a conversation is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChatMode {
    /// The question is searched for as it is, unless `pipeline` says otherwise.
    Context,
    /// The question is rewritten with the history.
    CondensePlusContext,
}

/// An error in OpenAI's format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OpenAiError {
    /// The details.
    pub error: OpenAiErrorDetail,
}

/// The details of an error in OpenAI's format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OpenAiErrorDetail {
    /// The error message.
    pub message: String,
    /// The kind of error, such as `invalid_request_error`.
    pub r#type: Option<String>,
    /// The invalid parameter, if one is.
    pub param: Option<String>,
    /// A short name of the error.
    #[schema(value_type = Option<String>)]
    pub code: Value,
}
