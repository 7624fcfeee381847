//! What is known of a chat so far, as plain data. Metrics, the line in the log and the explanation are three readers of it.

use std::time::Duration;

use ragengine_client::wire::{ContextTokens, ExplainedChunk, Explanation};
use ragengine_pipeline::budget::Budget;
use ragengine_pipeline::select::Decision;
use ragengine_pipeline::stream::Usage;

/// What is known of a chat.
#[derive(Debug, Default)]
pub struct Report {
    /// The id of the request.
    pub request_id: String,
    /// The index that it is about.
    pub index: Option<String>,
    /// The model that is asked, where it is known: not what a caller made up.
    pub model: Option<String>,
    /// Whether the answer is wanted as a stream.
    pub is_stream: bool,
    /// Where the request went.
    pub path: Path,
    /// Why: of a chat that was refused before that was decided, the kind of the error.
    pub reason: &'static str,
    /// How its tokens were counted.
    pub tokenizer: Option<&'static str>,
    /// The model's context window.
    pub window_tokens: Option<u64>,
    /// The conversation without context.
    pub conversation_tokens: Option<u64>,
    /// The division of the window.
    pub budget: Option<Budget>,
    /// The threshold.
    pub max_distance: Option<f32>,
    /// How many vectors the question has.
    pub question_windows: Option<usize>,
    /// What was selected.
    pub selection: Option<Selected>,
    /// The finished prompt.
    pub prompt_tokens: Option<u64>,
    /// The bound of the answer that is sent.
    pub max_tokens: Option<u64>,
    /// Whether that is lower than what was asked for.
    pub has_lowered_max_tokens: bool,
    /// How long the parts of the work took.
    pub stages: Vec<(Stage, Duration)>,
    /// When the first word of a stream came.
    pub first_token: Option<Duration>,
    /// What the language model reported.
    pub usage: Option<Usage>,
}

/// Where a chat went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Path {
    /// Nowhere yet.
    #[default]
    None,
    /// Documents went into the prompt.
    Rag,
    /// To the language model without documents.
    PassThrough,
}

impl Path {
    /// Its name in labels.
    pub fn label(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Rag => "rag",
            Self::PassThrough => "passthrough",
        }
    }
}

/// A part of the work on a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Reading the request, deciding its path, counting its tokens.
    Plan,
    /// The vector of the question, waiting included.
    Embed,
    /// The search, waiting included.
    Search,
    /// Counting, selecting, reading and writing the prompt.
    Select,
}

impl Stage {
    /// All of them, in their order.
    pub const ALL: [Self; 4] = [Self::Plan, Self::Embed, Self::Search, Self::Select];

    /// Its name in labels.
    pub fn label(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Embed => "embed",
            Self::Search => "search",
            Self::Select => "select",
        }
    }
}

/// What was selected of what was found.
#[derive(Debug)]
pub struct Selected {
    /// How often each decision was made.
    pub decisions: [(Decision, usize); 3],
    /// Tokens of the selected chunks.
    pub used_tokens: u64,
    /// The distance of the nearest chunk of all.
    pub nearest_distance: Option<f32>,
    /// The distance of the last chunk that is in the prompt.
    pub last_distance: Option<f32>,
    /// The selected chunks, or all of them when the request asks why.
    pub chunks: Vec<ExplainedChunk>,
}

impl Selected {
    /// How often a decision was made.
    pub fn count(&self, wanted: Decision) -> usize {
        self.decisions.iter().find(|(made, _)| *made == wanted).map_or(0, |(_, count)| *count)
    }
}

impl Report {
    /// Tokens for context: what it may take, and what it takes.
    pub fn context_tokens(&self) -> Option<ContextTokens> {
        let used = self.selection.as_ref().map_or(0, |selection| selection.used_tokens);
        self.budget.map(|budget| ContextTokens { budget: budget.context_tokens, used })
    }

    /// What was decided, and why, as a reply shows it.
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
            chunks: self.selection.as_ref().map(|selection| selection.chunks.clone()).unwrap_or_default(),
        }
    }
}
