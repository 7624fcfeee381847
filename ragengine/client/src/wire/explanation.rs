use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What was decided about a chat, and why: in a reply to `explain: true`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    /// `rag` when documents went into the prompt, else `passthrough`.
    pub path: String,
    /// Why it was passed through: `no_index`, `tools`, `role`, `content`, `nothing_relevant` or `over_budget`. Empty otherwise.
    pub reason: String,
    /// How tokens were counted: `served`, `tiktoken`, `embedding` or `estimate`. Not there when nothing was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// The language model's context window in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u64>,
    /// Tokens of the conversation without context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_tokens: Option<u64>,
    /// Tokens of the finished prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// The bound of the answer that was sent, when the request had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Tokens for context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<ContextTokens>,
    /// How many windows the question was searched with: 1, or more when it is longer than the embedding model reads at once. A chunk's distance
    /// is the least of theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_windows: Option<usize>,
    /// How many chunks were looked at, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<usize>,
    /// The threshold: a squared L2 distance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_distance: Option<f32>,
    /// Every chunk that was looked at, the nearest first.
    pub chunks: Vec<ExplainedChunk>,
}

/// Tokens for context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextTokens {
    /// What the context may take.
    pub budget: u64,
    /// What the selected chunks take.
    pub used: u64,
}

/// What was decided about a chunk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExplainedChunk {
    /// Its document.
    pub doc_id: String,
    /// Its own id.
    pub node_id: String,
    /// The squared L2 distance of its vector from the question's, 0 to 4; lower is nearer.
    pub distance: f32,
    /// What it costs in the prompt. Chunks over the threshold are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// `selected`, `over_threshold` or `over_budget`.
    pub decision: String,
}
