//! A chat request, whatever protocol it came by.

use crate::chat_body::ChatBody;
use crate::conversation::Conversation;

/// A chat request whose types have been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The index to answer from. An empty name counts as none.
    pub index_name: Option<String>,
    /// The part of the tokens left that context may take.
    pub context_token_ratio: Option<f64>,
    /// Whether the reply is to say what was decided, and why.
    pub explain: bool,
    /// The conversation.
    pub conversation: Conversation,
    /// The model that the caller named.
    pub model: Option<String>,
    /// The models that some endpoints ask when that one fails (`models`).
    pub other_models: Vec<String>,
    /// Whether the answer is wanted as a stream of events.
    pub stream: bool,
    /// Whether a stream ends with the usage (`stream_options.include_usage`).
    pub include_usage: bool,
    /// How many answers are wanted.
    pub choices: u64,
    /// The longest answer in tokens: the smaller one where both names are used.
    pub max_tokens: Option<u64>,
    /// Whether tools or functions are present.
    pub has_tools: bool,
    /// What the language model gets of it, but for what is changed: the caller's own bytes where it speaks OpenAI's protocol.
    pub body: ChatBody,
}
