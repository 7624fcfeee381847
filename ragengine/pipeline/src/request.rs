//! A chat request. It does not depend on the protocol of the caller.

use crate::chat_body::ChatBody;
use crate::conversation::Conversation;
use crate::filter::Filter;

/// A chat request. The types of its fields have been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The index to answer from. `None` when it is absent or empty.
    pub index_name: Option<String>,
    /// The share of the tokens left that the context may use.
    pub context_token_ratio: Option<f64>,
    /// The documents that may be used.
    pub metadata_filter: Filter,
    /// Stages that the caller turns on or off.
    pub stages: StageChoices,
    /// Whether the reply reports the decisions and their reasons.
    pub explain: bool,
    /// The conversation.
    pub conversation: Conversation,
    /// The model that the caller named.
    pub model: Option<String>,
    /// The models that some endpoints use when `model` fails (field `models`).
    pub other_models: Vec<String>,
    /// Whether the caller asks for a stream of events.
    pub stream: bool,
    /// Whether a stream ends with the usage (`stream_options.include_usage`).
    pub include_usage: bool,
    /// The number of answers that the caller asks for (field `n`).
    pub choices: u64,
    /// The caller's bound for the answer, in tokens: the smaller of `max_completion_tokens` and `max_tokens`.
    pub max_tokens: Option<u64>,
    /// Whether tools or functions are present.
    pub has_tools: bool,
    /// The body, from which the body for the language model is made.
    pub body: ChatBody,
}

/// Stages of the pipeline that a caller turns on or off. `None`: as the settings say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StageChoices {
    /// Whether acronyms are expanded.
    pub acronyms: Option<bool>,
    /// Whether a filter is chosen by the words of the question.
    pub filter_rules: Option<bool>,
}
