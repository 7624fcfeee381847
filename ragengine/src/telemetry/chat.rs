//! Metrics of a chat, and its line in the log.

use std::time::Duration;

use ragengine_errors::Logged as _;
use ragengine_index::search::similarity;
use ragengine_pipeline::select::Decision;
use tracing::{error, info, warn};

use super::metrics::{IndexLabel, Metrics, Route};
use crate::error::ApiError;
use crate::report::{ChatReport, Selected};
use crate::retrieval::stages::Endpoint;

/// Most characters of a caller's text in the log.
const MAX_LOGGED_CHARACTERS: usize = 128;

/// How a chat ended.
pub enum ChatOutcome<'a> {
    /// With an answer.
    Answered,
    /// With an error, or with an incomplete stream.
    Failed(&'a ApiError),
    /// The client disconnected.
    Left,
}

impl<'a> ChatOutcome<'a> {
    /// The name for metric labels.
    pub fn label(&self) -> &'static str {
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

/// Counts the chunks that were selected for a prompt.
pub fn selected(metrics: &Metrics, report: &ChatReport, selected: &Selected) {
    let (label, chat) = (Label::of(metrics, report), &metrics.chat);
    let budget_tokens = report.budget.map_or(0, |budget| budget.context_tokens);
    for (decision, count) in selected.decisions {
        chat.chunks(label.as_str(), decision, count);
    }
    chat.context(label.as_str(), budget_tokens, selected.used_tokens);
    let (nearest, last) = (selected.nearest_distance.map(similarity), selected.last_distance.map(similarity));
    chat.similarities(label.as_str(), nearest, last);
}

/// Counts a chat whose `max_tokens` was lowered.
pub fn max_tokens_lowered(metrics: &Metrics, report: &ChatReport) {
    metrics.chat.max_tokens_lowered(Label::of(metrics, report).as_str());
}

/// Counts and logs a chat that has ended.
pub fn ended(metrics: &Metrics, report: &ChatReport, outcome: &ChatOutcome<'_>, elapsed: Duration) {
    measure(metrics, report, outcome, elapsed);
    log(report, outcome, elapsed);
}

/// The metric label of a chat's index.
enum Label<'a> {
    None,
    Index(IndexLabel<'a>),
}

impl<'a> Label<'a> {
    fn of(metrics: &'a Metrics, report: &'a ChatReport) -> Self {
        report.index.as_ref().map_or(Self::None, |name| Self::Index(metrics.index_label(name)))
    }

    fn as_str(&self) -> &str {
        match self {
            Self::None => "",
            Self::Index(label) => label.as_str(),
        }
    }
}

fn measure(metrics: &Metrics, report: &ChatReport, outcome: &ChatOutcome<'_>, elapsed: Duration) {
    let (label, chat, path) = (Label::of(metrics, report), &metrics.chat, report.path.label());
    chat.ended(Route { index: label.as_str(), path, reason: report.reason, outcome: outcome.label() }, elapsed);
    if let Some(usage) = report.usage {
        chat.tokens(label.as_str(), usage.prompt_tokens, usage.completion_tokens);
    }
}

/// Logs the chat in one line. It contains text of users only in an error, and only if `log.texts` is on.
fn log(report: &ChatReport, outcome: &ChatOutcome<'_>, elapsed: Duration) {
    let (error, selection, context_tokens) = (outcome.error(), report.selection.as_ref(), report.context_tokens());
    let status = error.map(|error| status_at(report.endpoint, error));
    macro_rules! line {
        ($level:ident) => {
            $level!(
                target: "ragengine::chat",
                outcome = outcome.label(),
                endpoint = report.endpoint,
                caller = report.caller,
                status = status,
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
                selected = selected_chunks(report),
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
    match status {
        None | Some(..500) => line!(info),
        Some(503) => line!(warn),
        Some(_) => line!(error),
    }
}

/// The HTTP status of an error in the reply of an endpoint.
fn status_at(endpoint: &str, error: &ApiError) -> u16 {
    let status = if endpoint == Endpoint::Completions.label() { error.openai_status() } else { error.status() };
    status.as_u16()
}

/// The selected chunks as `id distance tokens`, nearest first.
fn selected_chunks(report: &ChatReport) -> Option<String> {
    let chunks = report.selection.iter().flat_map(|selection| &selection.chunks);
    let parts: Vec<String> = chunks
        .filter(|chunk| chunk.decision == Decision::Selected.label())
        .map(|chunk| format!("{} {:.4} {}", chunk.node_id, chunk.distance, chunk.tokens.unwrap_or_default()))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Shortens a name, which callers choose.
fn short(name: &str) -> &str {
    name.char_indices().nth(MAX_LOGGED_CHARACTERS).map_or(name, |(end, _)| &name[..end])
}

/// Rounded to microseconds.
#[expect(clippy::cast_precision_loss, reason = "a chat takes less than 2^52 microseconds")]
fn milliseconds(elapsed: Duration) -> f64 {
    elapsed.as_micros() as f64 / 1000.0
}
