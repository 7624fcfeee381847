//! What is told of a chat when it has ended: numbers, and one line of the log.

use std::time::Duration;

use ragengine_errors::Logged as _;
use ragengine_index::search::similarity;
use ragengine_pipeline::select::Decision;
use tracing::{error, info, warn};

use super::metrics::{IndexLabel, Metrics, Route};
use crate::error::ApiError;
use crate::report::Report;

/// Of what a caller wrote, the log has no more than this.
const MAX_LOGGED_CHARACTERS: usize = 128;

/// How a chat ended.
pub enum Outcome<'a> {
    /// With an answer.
    Answered,
    /// Without one, or it broke off.
    Failed(&'a ApiError),
    /// The client has left.
    Left,
}

impl<'a> Outcome<'a> {
    fn label(&self) -> &'static str {
        match self {
            Self::Answered => "ok",
            Self::Failed(error) if error.openai_status().is_client_error() => "refused",
            Self::Failed(_) => "failed",
            Self::Left => "left",
        }
    }

    fn error(&self) -> Option<&'a ApiError> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Answered | Self::Left => None,
        }
    }
}

/// A chat has ended.
pub fn ended(metrics: &Metrics, report: &Report, outcome: &Outcome<'_>, elapsed: Duration) {
    measure(metrics, report, outcome, elapsed);
    log(report, outcome, elapsed);
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

fn measure(metrics: &Metrics, report: &Report, outcome: &Outcome<'_>, elapsed: Duration) {
    let label = report.index.as_ref().map_or(Label::None, |name| Label::Index(metrics.index_label(name)));
    let (label, chat, path) = (label.as_str(), &metrics.chat, report.path.label());
    chat.ended(Route { index: label, path, reason: report.reason, outcome: outcome.label() }, elapsed);
    report.stages.iter().for_each(|(stage, took)| chat.stage(*stage, *took));
    if let Some(tokenizer) = report.tokenizer {
        chat.tokenizer(tokenizer);
    }
    if let Some(selection) = &report.selection {
        let budget_tokens = report.budget.map_or(0, |budget| budget.context_tokens);
        selection.decisions.iter().for_each(|(decision, count)| chat.chunks(label, *decision, *count));
        chat.context(label, budget_tokens, selection.used_tokens);
        chat.similarities(label, selection.nearest_distance.map(similarity), selection.last_distance.map(similarity));
    }
    if report.has_lowered_max_tokens {
        chat.max_tokens_lowered(label);
    }
    if let Some(first_token) = report.first_token {
        chat.first_token(path, first_token);
    }
    if let Some(usage) = report.usage {
        chat.tokens(label, usage.prompt_tokens, usage.completion_tokens);
    }
}

/// The chat's one line. It has no text in it, but for an error's where texts are logged.
fn log(report: &Report, outcome: &Outcome<'_>, elapsed: Duration) {
    let (error, selection, context_tokens) = (outcome.error(), report.selection.as_ref(), report.context_tokens());
    macro_rules! line {
        ($level:ident) => {
            $level!(
                target: "ragengine::chat",
                outcome = outcome.label(),
                status = error.map(|error| error.openai_status().as_u16()),
                kind = error.map(|error| error.kind()),
                error = error.map(|error| error.for_log()),
                path = report.path.label(),
                reason = report.reason,
                index = report.index,
                model = report.model.as_deref().map(short),
                stream = report.is_stream,
                tokenizer = report.tokenizer,
                window_tokens = report.window_tokens,
                conversation_tokens = report.conversation_tokens,
                context_budget_tokens = context_tokens.map(|tokens| tokens.budget),
                context_used_tokens = context_tokens.map(|tokens| tokens.used),
                question_windows = report.question_windows,
                response_budget_tokens = report.budget.map(|budget| budget.response_tokens),
                prompt_tokens = report.prompt_tokens,
                max_tokens = report.max_tokens,
                over_threshold = selection.map(|selection| selection.count(Decision::OverThreshold)),
                over_budget = selection.map(|selection| selection.count(Decision::OverBudget)),
                nearest_distance = selection.and_then(|selection| selection.nearest_distance),
                max_distance = report.max_distance,
                selected = selected(report),
                hint = (report.reason == "nothing_relevant")
                    .then_some("every chunk is farther than retrieval.maxDistance"),
                usage_prompt_tokens = report.usage.map(|usage| usage.prompt_tokens),
                usage_completion_tokens = report.usage.map(|usage| usage.completion_tokens),
                first_token_ms = report.first_token.map(milliseconds),
                elapsed_ms = milliseconds(elapsed),
                request_id = report.request_id,
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

/// The selected chunks as `id distance tokens`, the nearest first.
fn selected(report: &Report) -> Option<String> {
    let chunks = report.selection.iter().flat_map(|selection| &selection.chunks);
    let parts: Vec<String> = chunks
        .filter(|chunk| chunk.decision == Decision::Selected.label())
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
