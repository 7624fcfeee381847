use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The decisions about a chat and their reasons, for a request with `explain: true`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    /// `rag` if the prompt contains documents or interactions, otherwise `passthrough`.
    pub path: String,
    /// Why no documents were used: `no_index`, `tools`, `role`, `content`, `nothing_relevant` or `over_budget`. Empty
    /// otherwise.
    pub reason: String,
    /// How tokens were counted: `served`, `tiktoken`, `embedding` or `estimate`. Missing if none were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// The language model's context window in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u64>,
    /// Number of tokens of the conversation without context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_tokens: Option<u64>,
    /// Number of tokens of the finished prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// The answer's limit in tokens that was sent to the language model, if the request had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The token budget of the context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<ContextTokens>,
    /// Number of windows of the question that were searched for: more than 1 if the question is longer than the input
    /// limit of the embedding model. The distance of a chunk is that of the nearest window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_windows: Option<usize>,
    /// Maximum number of retrieved chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<usize>,
    /// Maximum squared L2 distance of a chunk. Missing if the calibrated threshold decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_distance: Option<f32>,
    /// What the calibrated threshold was decided by. Missing for the fixed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<ExplainedEvidence>,
    /// The stages of the pipeline that were on, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<ExplainedStage>,
    /// How near the best chunk is: `excellent` (a similarity of 0.90 or more), `good` (0.80), `acceptable` (0.75) or
    /// `below`. Missing unless the request chose a retrieval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub band: Option<String>,
    /// Every retrieved chunk, best first.
    pub chunks: Vec<ExplainedChunk>,
}

/// What the searches by vectors and by words tell about whether the index can answer a question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExplainedEvidence {
    /// The probability that the index can answer the question, 0 to 1. From 0.5 on, the question gets context.
    pub probability: f32,
    /// The squared L2 distance of the nearest chunk.
    pub nearest_distance: f32,
    /// The distance of the tenth nearest chunk.
    pub tenth_distance: f32,
    /// The mean distance of random pairs of chunks of the index.
    pub background_mean: f32,
    /// The standard deviation of that distance.
    pub background_deviation: f32,
    /// The best BM25 score less the tenth best, divided by the sum of the inverse document frequencies (IDF) of the
    /// question's words.
    pub bm25_lead_share: f32,
    /// The part of that sum which belongs to words that the best chunk of hybrid retrieval has, 0 to 1.
    pub covered_share: f32,
    /// The part of that sum which belongs to words that no chunk has, 0 to 1.
    pub unknown_share: f32,
    /// The part of the ten nearest chunks that is also among the ten best by words, 0 to 1.
    pub agreement: f32,
    /// The number of different words of the question, without stop words.
    pub words: usize,
    /// The number of chunks of the index.
    pub chunks: usize,
}

/// What a stage of the pipeline did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExplainedStage {
    /// `session`, `rewrite`, `acronyms`, `filters`, `retrieval`, `feedback`, `recency`, `rerank`, `diversity`,
    /// `interactions`, `postprocess`, `citations` or `guardrails`.
    pub stage: String,
    /// `done`, `unchanged`, `failed`, `timeout`, `nonsense` (a reply that names no passage), `dropped` (a filter rule with
    /// which nothing near enough was found), `rejected` (an answer that cites nothing), `insufficient` (one that says that
    /// the documents do not suffice), `redacted` or `blocked` (by guardrails).
    pub outcome: String,
    /// Duration in milliseconds.
    pub elapsed_ms: f64,
    /// The question that is searched for: rewritten, or with expanded acronyms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The position in the setting `retrieval.filterRules`, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<usize>,
    /// Why chunks were put in order by a model: `spread` (the best scores are close to each other), `temporal` or
    /// `comparison` (by a word of the question), or `always`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// Earlier turns of the session in the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<usize>,
    /// Their tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The ids of the interactions in the prompt, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// How similar their questions are, in the same order: `very_relevant` (a similarity of more than 0.85), `related`
    /// (0.7) or `background`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<String>,
    /// The numbers that the cited passages had in the prompt, in the order of their new numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citations: Option<Vec<usize>>,
}

/// The token budget of the context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextTokens {
    /// Number of tokens that the context may use.
    pub budget: u64,
    /// Number of tokens that the selected chunks use.
    pub used: u64,
}

/// The decision about a chunk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExplainedChunk {
    /// The id of its document.
    pub doc_id: String,
    /// The id of the chunk.
    pub node_id: String,
    /// The squared L2 distance between the vectors of chunk and question, 0 to 4. Lower is nearer.
    pub distance: f32,
    /// What the order of the chunks is made from; higher is better. Missing for a search by vectors only, whose order is
    /// that of the distances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
    /// What votes added to the score, -0.15 to 0.10. Missing unless votes were looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adjustment: Option<f32>,
    /// Number of tokens in the prompt. Missing for chunks over the threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// `selected`, `over_threshold`, `over_budget` or `duplicate`.
    pub decision: String,
}
