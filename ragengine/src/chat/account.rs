//! What is known of a chat so far. When it ends, it becomes metrics and one line of the log; when it is asked for, an explanation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::HeaderValue;
use ragengine_client::wire::{ContextTokens, Explanation};
use ragengine_pipeline::budget::Budget;
use ragengine_pipeline::request::ChatRequest;
use ragengine_pipeline::select::Decision;
use ragengine_pipeline::stream::Usage;
use tracing::{error, info, warn};

use super::context::Context;
use crate::error::ApiError;
use crate::index::Index;
use crate::logging::{Logged as _, texts};
use crate::metrics::{IndexLabel, Metrics, Route, Stage};
use crate::retrieve::similarity;

/// Of what a caller wrote, the log has no more than this.
const MAX_LOGGED_CHARACTERS: usize = 128;

/// The account of one chat. Dropped before it is ended, it says that the client has left.
pub(super) struct Account {
    metrics: Arc<Metrics>,
    started: Instant,
    stage_started: Instant,
    request_id: HeaderValue,
    index: Option<String>,
    model: Option<String>,
    is_stream: bool,
    /// What the division of the window leaves for the answer.
    response_tokens: Option<u64>,
    has_lowered_max_tokens: bool,
    facts: Explanation,
    decisions: Option<[(Decision, usize); 3]>,
    nearest_distance: Option<f32>,
    first_token: Option<Duration>,
    usage: Option<Usage>,
    has_ended: bool,
}

/// The label of a chat's index. One about no index has none.
enum Label<'a> {
    None,
    Index(IndexLabel<'a>),
}

impl Label<'_> {
    fn as_str(&self) -> &str {
        match self {
            Self::None => "",
            Self::Index(label) => label.as_str(),
        }
    }
}

/// How a chat ended.
enum Outcome<'a> {
    Answered,
    Failed(&'a ApiError),
    Left,
}

impl Account {
    /// A chat has begun.
    pub fn begin(metrics: &Arc<Metrics>, request_id: &HeaderValue) -> Self {
        metrics.chat.in_flight.inc();
        let now = Instant::now();
        Self {
            metrics: Arc::clone(metrics),
            started: now,
            stage_started: now,
            request_id: request_id.clone(),
            index: None,
            model: None,
            is_stream: false,
            response_tokens: None,
            has_lowered_max_tokens: false,
            facts: Explanation { path: "none".to_owned(), ..Explanation::default() },
            decisions: None,
            nearest_distance: None,
            first_token: None,
            usage: None,
            has_ended: false,
        }
    }

    /// The request could be read. The log has the model's name when it `is_known`, and not what a caller made up.
    pub fn was_read(&mut self, request: &ChatRequest, is_known: impl Fn(&str) -> bool) {
        self.model = request.model.as_ref().filter(|model| is_known(model) || texts::are_logged()).cloned();
        self.is_stream = request.stream;
    }

    /// The request is about this index.
    pub fn is_about(&mut self, index: &Index) {
        self.metrics.index_is_there(index.name());
        self.index = Some(index.name().to_owned());
    }

    /// Documents have gone into the prompt.
    fn has_documents(&mut self) {
        "rag".clone_into(&mut self.facts.path);
    }

    /// No documents go into the prompt.
    pub fn passes_through(&mut self, reason: &str) {
        "passthrough".clone_into(&mut self.facts.path);
        reason.clone_into(&mut self.facts.reason);
    }

    /// The conversation was counted.
    pub fn was_counted(&mut self, tokenizer: &str, model: Option<&str>, window_tokens: u64, conversation_tokens: u64) {
        self.metrics.chat.tokenizer(tokenizer);
        self.model = model.map(str::to_owned).or(self.model.take());
        self.facts.tokenizer = Some(tokenizer.to_owned());
        self.facts.window_tokens = Some(window_tokens);
        self.facts.conversation_tokens = Some(conversation_tokens);
    }

    /// The window was divided.
    pub fn was_divided(&mut self, budget: &Budget, max_distance: f32) {
        if let (Some(from), Some(to)) = (budget.lowered_from, budget.max_tokens) {
            self.max_tokens_were_lowered(from, to);
        }
        self.response_tokens = Some(budget.response_tokens);
        self.facts.context_tokens = Some(ContextTokens { budget: budget.context_tokens, used: 0 });
        self.facts.top_k = Some(budget.top_k);
        self.facts.max_distance = Some(max_distance);
        self.facts.max_tokens = budget.max_tokens;
    }

    /// The question has so many vectors.
    pub fn was_embedded(&mut self, windows: usize) {
        self.facts.question_windows = Some(windows);
    }

    /// Each lowering is told; a chat counts once.
    fn max_tokens_were_lowered(&mut self, from: u64, to: u64) {
        let request_id = self.request_id();
        warn!(
            request_id,
            "max_tokens ({from}) is greater than available context after prompt consideration. Setting to {to}."
        );
        if !std::mem::replace(&mut self.has_lowered_max_tokens, true) {
            self.metrics.chat.max_tokens_lowered(self.index_label().as_str());
        }
    }

    /// A part of the work is done.
    pub fn stage_ends(&mut self, stage: Stage) {
        let now = Instant::now();
        self.metrics.chat.stage(stage, now - self.stage_started);
        self.stage_started = now;
    }

    /// A part of the work is done that took so long. What it had to wait for counts to it.
    pub fn search_and_selection_end(&mut self, selecting: Duration) {
        let now = Instant::now();
        let both = now - self.stage_started;
        self.metrics.chat.stage(Stage::Search, both.saturating_sub(selecting));
        self.metrics.chat.stage(Stage::Select, selecting);
        self.stage_started = now;
    }

    /// The context was selected.
    pub fn was_selected(&mut self, context: &Context) {
        let budget = self.facts.context_tokens.map_or(0, |tokens| tokens.budget);
        self.measure_selection(context, budget);
        self.decisions = Some(context.decisions);
        self.nearest_distance = context.nearest_distance;
        self.facts.context_tokens = Some(ContextTokens { budget, used: context.used_tokens });
        self.facts.chunks.clone_from(&context.chunks);
        if let Some(finished) = &context.finished {
            self.has_documents();
            if let (Some(from), Some(to)) = (self.facts.max_tokens, finished.max_tokens)
                && to < from
            {
                self.max_tokens_were_lowered(from, to);
            }
            self.facts.prompt_tokens = Some(finished.prompt_tokens);
            self.facts.max_tokens = finished.max_tokens;
        }
    }

    fn measure_selection(&self, context: &Context, budget: u64) {
        let label = self.index_label();
        let label = label.as_str();
        for (decision, count) in context.decisions {
            self.metrics.chat.chunks(label, decision, count);
        }
        self.metrics.chat.context(label, budget, context.used_tokens);
        let last = context.selected.last().map(|found| similarity(found.distance));
        self.metrics.chat.similarities(label, context.nearest_distance.map(similarity), last);
    }

    /// The first word of a stream has come.
    pub fn first_word_came(&mut self) {
        if self.first_token.is_none() {
            let elapsed = self.started.elapsed();
            self.first_token = Some(elapsed);
            self.metrics.chat.first_token(&self.facts.path, elapsed);
        }
    }

    /// The language model reported its tokens.
    pub fn was_reported(&mut self, usage: Option<Usage>) {
        self.usage = usage.or(self.usage);
    }

    /// What was decided, and why.
    pub fn explanation(&self) -> &Explanation {
        &self.facts
    }

    /// The answer has ended.
    pub fn succeeded(mut self) {
        self.end(&Outcome::Answered);
    }

    /// There is no answer, or it broke off.
    pub fn failed(mut self, error: &ApiError) {
        self.end(&Outcome::Failed(error));
    }

    /// The id of the request, for lines of the log.
    pub fn request_id(&self) -> &str {
        self.request_id.to_str().unwrap_or_default()
    }

    fn index_label(&self) -> Label<'_> {
        self.index.as_ref().map_or(Label::None, |name| Label::Index(self.metrics.index_label(name)))
    }

    fn end(&mut self, outcome: &Outcome<'_>) {
        self.has_ended = true;
        self.metrics.chat.in_flight.dec();
        let elapsed = self.started.elapsed();
        if let (Outcome::Failed(error), "none") = (outcome, self.facts.path.as_str()) {
            error.kind().clone_into(&mut self.facts.reason);
        }
        let (path, reason) = (self.facts.path.as_str(), self.facts.reason.as_str());
        {
            let label = self.index_label();
            let route = Route { index: label.as_str(), path, reason, outcome: outcome.label() };
            self.metrics.chat.ended(route, elapsed);
            if let Some(usage) = self.usage {
                self.metrics.chat.tokens(label.as_str(), usage.prompt_tokens, usage.completion_tokens);
            }
        }
        self.log(outcome, elapsed);
    }

    /// The chat's one line. It has no text in it, but for an error's where texts are logged.
    fn log(&self, outcome: &Outcome<'_>, elapsed: Duration) {
        let facts = &self.facts;
        let count = |wanted: Decision| {
            self.decisions.and_then(|all| all.iter().find(|(made, _)| *made == wanted).map(|(_, count)| *count))
        };
        let error = match outcome {
            Outcome::Failed(error) => Some(error),
            Outcome::Answered | Outcome::Left => None,
        };
        macro_rules! line {
            ($level:ident) => {
                $level!(
                    outcome = outcome.label(),
                    status = error.map(|error| error.openai_status().as_u16()),
                    kind = error.map(|error| error.kind()),
                    error = error.map(|error| error.for_log()),
                    path = facts.path,
                    reason = facts.reason,
                    index = self.index,
                    model = self.model.as_deref().map(short),
                    stream = self.is_stream,
                    tokenizer = facts.tokenizer,
                    window_tokens = facts.window_tokens,
                    conversation_tokens = facts.conversation_tokens,
                    context_budget_tokens = facts.context_tokens.map(|tokens| tokens.budget),
                    context_used_tokens = facts.context_tokens.map(|tokens| tokens.used),
                    question_windows = facts.question_windows,
                    response_budget_tokens = self.response_tokens,
                    prompt_tokens = facts.prompt_tokens,
                    max_tokens = facts.max_tokens,
                    over_threshold = count(Decision::OverThreshold),
                    over_budget = count(Decision::OverBudget),
                    nearest_distance = self.nearest_distance,
                    max_distance = facts.max_distance,
                    selected = selected(facts),
                    hint = (facts.reason == "nothing_relevant")
                        .then_some("every chunk is farther than retrieval.maxDistance"),
                    usage_prompt_tokens = self.usage.map(|usage| usage.prompt_tokens),
                    usage_completion_tokens = self.usage.map(|usage| usage.completion_tokens),
                    first_token_ms = self.first_token.map(milliseconds),
                    elapsed_ms = milliseconds(elapsed),
                    request_id = self.request_id(),
                    "chat"
                )
            };
        }
        match error.map(|error| error.openai_status().as_u16()) {
            None | Some(..500) => line!(info),
            Some(503) => line!(warn),
            Some(_) => line!(error),
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if !self.has_ended {
            self.end(&Outcome::Left);
        }
    }
}

impl Outcome<'_> {
    fn label(&self) -> &'static str {
        match self {
            Self::Answered => "ok",
            Self::Failed(error) if error.openai_status().is_client_error() => "refused",
            Self::Failed(_) => "failed",
            Self::Left => "left",
        }
    }
}

/// The selected chunks as `id distance tokens`, the nearest first.
fn selected(facts: &Explanation) -> Option<String> {
    let chosen = facts.chunks.iter().filter(|chunk| chunk.decision == Decision::Selected.label());
    let parts: Vec<String> = chosen
        .map(|chunk| format!("{} {:.4} {}", chunk.node_id, chunk.distance, chunk.tokens.unwrap_or_default()))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// A name that fits into a line: callers may write anything.
fn short(name: &str) -> &str {
    name.char_indices().nth(MAX_LOGGED_CHARACTERS).map_or(name, |(end, _)| &name[..end])
}

/// To the microsecond: more digits would only be noise.
#[expect(clippy::cast_precision_loss, reason = "a chat takes less than 2^52 microseconds")]
fn milliseconds(elapsed: Duration) -> f64 {
    elapsed.as_micros() as f64 / 1000.0
}
