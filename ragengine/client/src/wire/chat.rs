use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{Explanation, SourceNode};

/// OpenAI's chat completion request, with three more fields. Whatever else it has goes to the language model as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChatCompletionRequest {
    /// The conversation, as OpenAI has it.
    #[schema(value_type = Vec<Object>)]
    pub messages: Vec<Map<String, Value>>,
    /// The model. Without one, the language model's endpoint's first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The index to answer from. Without one, the language model answers alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_name: Option<String>,
    /// The part of the free context window that documents may fill, 0.2 to 0.8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_token_ratio: Option<f64>,
    /// Whether the reply says what was decided about every chunk, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<bool>,
    /// Whether the answer comes as server-sent events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Every other parameter of OpenAI's API.
    #[serde(flatten)]
    #[schema(value_type = Object, additional_properties = true)]
    pub more: Map<String, Value>,
}

/// OpenAI's chat completion, with the documents that went into it. In a stream the two fields are on the chunk that carries
/// `finish_reason`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChatCompletion {
    /// The answers, as OpenAI has them.
    #[schema(value_type = Vec<Object>)]
    pub choices: Vec<Map<String, Value>>,
    /// The chunks that are in the prompt, the nearest first. Null when the language model answered alone.
    pub source_nodes: Option<Vec<SourceNode>>,
    /// What was decided, when the request asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Everything else that the language model sent: `id`, `model`, `usage` and the like.
    #[serde(flatten)]
    #[schema(value_type = Object, additional_properties = true)]
    pub more: Map<String, Value>,
}

/// An error of the OpenAI API.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OpenAiError {
    /// What went wrong.
    pub error: OpenAiErrorDetail,
}

/// What went wrong, as OpenAI says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OpenAiErrorDetail {
    /// In words.
    pub message: String,
    /// The kind of error, such as `invalid_request_error`.
    pub r#type: Option<String>,
    /// The parameter that is wrong, when one is.
    pub param: Option<String>,
    /// A short name.
    #[schema(value_type = Option<String>)]
    pub code: Value,
}
