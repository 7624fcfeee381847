//! The record of a chat, as plain data, for the metrics, the log and the explanation.

use std::time::Duration;

use ragengine_client::wire::{ContextTokens, ExplainedChunk, ExplainedStage, Explanation};
use ragengine_index::search::similarity;
use ragengine_pipeline::budget::Budget;
use ragengine_pipeline::ranking::answerable::Evidence;
use ragengine_pipeline::select::Decision;
use ragengine_pipeline::stream::Usage;

use crate::retrieval::threshold;

/// The record of a chat. Fields are set as the chat proceeds.
#[derive(Debug, Default)]
pub struct ChatReport {
    /// The request id.
    pub request_id: String,
    /// The endpoint: `completions`, `query` or `chat`.
    pub endpoint: &'static str,
    /// The caller's name.
    pub caller: Option<String>,
    /// The index of the request.
    pub index: Option<String>,
    /// The language model, if it is a known one. Never text of the caller.
    pub model: Option<String>,
    /// Whether the client requested a stream.
    pub is_stream: bool,
    /// Whether documents were used.
    pub path: Path,
    /// The reason for the path. For a chat that was refused before, the kind of the error.
    pub reason: &'static str,
    /// The tokenizer that counted the tokens.
    pub tokenizer: Option<&'static str>,
    /// The model's context window, in tokens.
    pub window_tokens: Option<u64>,
    /// Tokens of the conversation without context.
    pub conversation_tokens: Option<u64>,
    /// The budget for context and answer.
    pub budget: Option<Budget>,
    /// The threshold for the distance of chunks.
    pub max_distance: Option<f32>,
    /// Number of windows of the question, each with a vector.
    pub question_windows: Option<usize>,
    /// The stages of the pipeline that were on, in order.
    pub stages: Vec<ExplainedStage>,
    /// What the calibrated threshold was decided by.
    pub evidence: Option<Evidence>,
    /// How near the best chunk is. Only for a search that is not by vectors only.
    pub band: Option<&'static str>,
    /// The selected chunks.
    pub selection: Option<Selected>,
    /// Tokens of the finished prompt.
    pub prompt_tokens: Option<u64>,
    /// The `max_tokens` in the request to the language model.
    pub max_tokens: Option<u64>,
    /// Whether `max_tokens` is lower than in the client's request.
    pub has_lowered_max_tokens: bool,
    /// Time until the first token of a stream.
    pub first_token: Option<Duration>,
    /// The token usage that the language model reported.
    pub usage: Option<Usage>,
}

/// How a chat was answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Path {
    /// Not decided yet.
    #[default]
    None,
    /// With documents in the prompt.
    Rag,
    /// By the language model, without documents.
    PassThrough,
    /// With an answer that was known.
    Known,
}

impl Path {
    /// The name for metric labels.
    pub fn label(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Rag => "rag",
            Self::PassThrough => "passthrough",
            Self::Known => "cached",
        }
    }
}

/// A part of the work on a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Parsing the request, deciding its path, counting its tokens.
    Plan,
    /// Rewriting the question with the language model. Only if that is on.
    Rewrite,
    /// Embedding the question, including waiting.
    Embed,
    /// The search, including waiting.
    Search,
    /// Ordering the best chunks with a model. Only if that is on. It is a part of [`Self::Search`].
    Rerank,
    /// Counting tokens, selecting and reading chunks, writing the prompt.
    Select,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Self; 6] = [Self::Plan, Self::Rewrite, Self::Embed, Self::Search, Self::Rerank, Self::Select];

    /// The name for metric labels.
    pub fn label(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Rewrite => "rewrite",
            Self::Embed => "embed",
            Self::Search => "search",
            Self::Rerank => "rerank",
            Self::Select => "select",
        }
    }
}

/// The result of selecting chunks for the prompt.
#[derive(Debug)]
pub struct Selected {
    /// The number of chunks for each decision.
    pub decisions: [(Decision, usize); 4],
    /// Tokens of the selected chunks.
    pub used_tokens: u64,
    /// The distance of the nearest retrieved chunk.
    pub nearest_distance: Option<f32>,
    /// The distance of the farthest chunk in the prompt.
    pub last_distance: Option<f32>,
    /// The selected chunks, or all retrieved chunks if the request has `explain`.
    pub chunks: Vec<ExplainedChunk>,
}

impl Selected {
    /// The number of chunks with this decision.
    pub fn count(&self, wanted: Decision) -> usize {
        self.decisions.iter().find(|(made, _)| *made == wanted).map_or(0, |(_, count)| *count)
    }
}

impl ChatReport {
    /// The number of retrieved chunks.
    pub fn found(&self) -> usize {
        let decisions = self.selection.iter().flat_map(|selection| &selection.decisions);
        decisions.map(|(_, count)| count).sum()
    }

    /// The similarity of the nearest chunk.
    pub fn best_similarity(&self) -> Option<f32> {
        self.selection.as_ref()?.nearest_distance.map(similarity)
    }

    /// The budget for context and its used part, in tokens.
    pub fn context_tokens(&self) -> Option<ContextTokens> {
        let used = self.selection.as_ref().map_or(0, |selection| selection.used_tokens);
        self.budget.map(|budget| ContextTokens { budget: budget.context_tokens, used })
    }

    /// The explanation for the reply.
    pub fn explanation(&self) -> Explanation {
        Explanation {
            path: self.path.label().to_owned(),
            reason: self.reason.to_owned(),
            tokenizer: self.tokenizer.map(str::to_owned),
            window_tokens: self.window_tokens,
            conversation_tokens: self.conversation_tokens,
            context_tokens: self.context_tokens(),
            top_k: self.budget.map(|budget| budget.top_k),
            max_distance: self.max_distance,
            max_tokens: self.max_tokens,
            prompt_tokens: self.prompt_tokens,
            question_windows: self.question_windows,
            stages: self.stages.clone(),
            band: self.band.map(str::to_owned),
            evidence: self.evidence.map(threshold::explained),
            chunks: self.selection.as_ref().map(|selection| selection.chunks.clone()).unwrap_or_default(),
        }
    }
}
