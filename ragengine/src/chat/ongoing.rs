use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use axum::http::HeaderValue;
use ragengine_errors::texts;
use ragengine_index::Index;
use ragengine_pipeline::budget::Budget;
use ragengine_pipeline::request::Request;
use ragengine_pipeline::stream::Usage;
use tracing::warn;

use super::context::Context;
use crate::error::ApiError;
use crate::report::{Path, Report, Selected, Stage};
use crate::telemetry::chat::{Outcome, ended};
use crate::telemetry::metrics::{Counted, Metrics};

/// The report of a chat that has not ended. Dropped before it is ended, it says that the client has left.
pub struct Ongoing {
    report: Report,
    metrics: Arc<Metrics>,
    started: Instant,
    stage_started: Instant,
    /// None: it has ended.
    in_flight: Option<Counted>,
}

impl Ongoing {
    /// A chat has begun.
    pub fn begin(metrics: &Arc<Metrics>, request_id: &HeaderValue) -> Self {
        let now = Instant::now();
        let request_id = request_id.to_str().unwrap_or_default().to_owned();
        Self {
            report: Report { request_id, ..Report::default() },
            in_flight: Some(metrics.chat.begins()),
            metrics: Arc::clone(metrics),
            started: now,
            stage_started: now,
        }
    }

    /// The request could be read. The log has the model's name when it `is_known`, and not what a caller made up.
    pub fn was_read(&mut self, request: &Request, is_known: impl Fn(&str) -> bool) {
        self.report.model = request.model.as_ref().filter(|model| is_known(model) || texts::are_logged()).cloned();
        self.report.is_stream = request.stream;
    }

    /// The request is about this index.
    pub fn is_about(&mut self, index: &Index) {
        self.metrics.index_is_there(index.name());
        self.report.index = Some(index.name().to_owned());
    }

    /// No documents go into the prompt.
    pub fn passes_through(&mut self, reason: &'static str) {
        self.report.path = Path::PassThrough;
        self.report.reason = reason;
    }

    /// The conversation was counted.
    pub fn was_counted(
        &mut self,
        tokenizer: &'static str,
        model: Option<&str>,
        window_tokens: u64,
        conversation_tokens: u64,
    ) {
        let report = &mut self.report;
        report.tokenizer = Some(tokenizer);
        report.model = model.map(str::to_owned).or(report.model.take());
        report.window_tokens = Some(window_tokens);
        report.conversation_tokens = Some(conversation_tokens);
    }

    /// The window was divided.
    pub fn was_divided(&mut self, budget: &Budget, max_distance: f32) {
        if let (Some(from), Some(to)) = (budget.lowered_from, budget.max_tokens) {
            self.max_tokens_were_lowered(from, to);
        }
        self.report.budget = Some(*budget);
        self.report.max_distance = Some(max_distance);
        self.report.max_tokens = budget.max_tokens;
    }

    /// The question has so many vectors.
    pub fn was_embedded(&mut self, windows: usize) {
        self.report.question_windows = Some(windows);
    }

    /// Each lowering is told; a chat counts once.
    fn max_tokens_were_lowered(&mut self, from: u64, to: u64) {
        warn!(
            request_id = self.report.request_id,
            "max_tokens ({from}) is greater than available context after prompt consideration. Setting to {to}."
        );
        self.report.has_lowered_max_tokens = true;
    }

    /// A part of the work is done. What it had to wait for counts to it.
    pub fn stage_ends(&mut self, stage: Stage) {
        let now = Instant::now();
        self.report.stages.push((stage, now - self.stage_started));
        self.stage_started = now;
    }

    /// The context was selected.
    pub fn was_selected(&mut self, context: &Context) {
        self.report.selection = Some(Selected {
            decisions: context.decisions,
            used_tokens: context.used_tokens,
            nearest_distance: context.nearest_distance,
            last_distance: context.selected.last().map(|found| found.distance),
            chunks: context.chunks.clone(),
        });
        let Some(finished) = &context.finished else { return };
        self.report.path = Path::Rag;
        if let (Some(from), Some(to)) = (self.report.max_tokens, finished.max_tokens)
            && to < from
        {
            self.max_tokens_were_lowered(from, to);
        }
        self.report.prompt_tokens = Some(finished.prompt_tokens);
        self.report.max_tokens = finished.max_tokens;
    }

    /// The first word of a stream has come.
    pub fn first_word_came(&mut self) {
        self.report.first_token.get_or_insert_with(|| self.started.elapsed());
    }

    /// The language model reported its tokens.
    pub fn was_reported(&mut self, usage: Option<Usage>) {
        self.report.usage = usage.or(self.report.usage);
    }

    /// The answer has ended.
    pub fn succeeded(mut self) {
        self.end(&Outcome::Answered);
    }

    /// There is no answer, or it broke off: for this reason, which is given back.
    pub fn failed(mut self, error: ApiError) -> ApiError {
        if self.report.path == Path::None {
            self.report.reason = error.kind();
        }
        self.end(&Outcome::Failed(&error));
        error
    }

    fn end(&mut self, outcome: &Outcome<'_>) {
        if let Some(in_flight) = self.in_flight.take() {
            drop(in_flight);
            ended(&self.metrics, &self.report, outcome, self.started.elapsed());
        }
    }
}

impl Deref for Ongoing {
    type Target = Report;

    fn deref(&self) -> &Report {
        &self.report
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        self.end(&Outcome::Left);
    }
}
