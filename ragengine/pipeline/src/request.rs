//! A chat request. It does not depend on the protocol of the caller.

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// How the history is used.
    pub chat_mode: ChatMode,
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
    /// The fields with tools and functions, as JSON. They are parts of the body.
    pub tools: Vec<Bytes>,
    /// Whether a request with tools is answered from its index nevertheless (field `rag_with_tools`).
    pub uses_index_with_tools: bool,
    /// The body, from which the body for the language model is made.
    pub body: ChatBody,
}

/// Stages of the pipeline that a caller turns on or off. `None`: as the settings say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StageChoices {
    /// Whether an earlier answer to the same question may be given.
    pub cache: Option<bool>,
    /// Whether events are published.
    pub events: Option<bool>,
    /// When a question is rewritten with the history.
    pub condense: Option<Condensing>,
    /// Whether a question is rewritten for the search.
    pub reformulate: Option<bool>,
    /// Whether acronyms are expanded.
    pub acronyms: Option<bool>,
    /// Whether a filter is chosen by the words of the question.
    pub filter_rules: Option<bool>,
    /// How chunks are found.
    pub retrieval: Option<RetrievalMode>,
    /// Whether votes on earlier answers change the order.
    pub feedback: Option<bool>,
    /// Whether the newer of similar chunks comes first.
    pub recency: Option<bool>,
    /// When the best chunks are put in order by a model.
    pub rerank: Option<Reranking>,
    /// What is done about chunks that say the same.
    pub diversity: Option<Diversity>,
    /// Whether earlier questions and their answers are in the prompt.
    pub interactions: Option<bool>,
    /// The form of the passages in the prompt.
    pub context_format: Option<ContextFormat>,
    /// Whether HTML in the answer becomes Markdown.
    pub postprocess: Option<bool>,
    /// Whether the citations of the answer are checked and renumbered.
    pub citations: Option<bool>,
    /// The provider of the interactions that are used, such as `openai/gpt-4o`. It is matched exactly.
    pub provider: Option<String>,
    /// The kind of the task, under which the answer is kept.
    pub task_category: Option<String>,
}

/// When a question is rewritten so that it is understood without the history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Condensing {
    /// Never.
    #[default]
    Never,
    /// If it seems to continue the history.
    FollowUp,
    /// Whenever there is a history.
    Always,
}

/// When the best chunks are put in order by a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Reranking {
    /// Never.
    #[default]
    Never,
    /// If the search may have the wrong order.
    Conditional,
    /// For every question.
    Always,
}

/// How chunks are found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RetrievalMode {
    /// By the distance of their vectors.
    #[default]
    Dense,
    /// By their words.
    Text,
    /// By both, with the weights of the settings.
    Hybrid,
    /// By both, with their reciprocal ranks.
    Rrf,
}

/// What is done about chunks that say the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Diversity {
    /// Nothing.
    #[default]
    None,
    /// Of chunks that are nearly the same, only the best is used.
    Duplicates,
    /// Chunks are chosen by maximal marginal relevance: each is relevant, and unlike those before.
    Mmr,
}

/// The form of the passages in the prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ContextFormat {
    /// With numbers, which the answer cites.
    #[default]
    Numbered,
    /// With their sources, separated by lines of three dashes.
    Source,
}

/// The form of the history in the prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HistoryFormat {
    /// Each message is one.
    #[default]
    Messages,
    /// A section at the end of the system message.
    Section,
}

/// How the history of a conversation is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChatMode {
    /// The question is searched for as it is, unless `pipeline` says otherwise.
    #[default]
    Context,
    /// The question is rewritten with the history. The new question is searched for, and the language model gets both.
    CondensePlusContext,
}

/// What decides whether a question gets context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Threshold {
    /// Each chunk must be within a distance.
    #[default]
    Fixed,
    /// The question must be answerable, judged by vectors and words and by the index itself.
    Calibrated,
}
