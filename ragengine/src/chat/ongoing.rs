use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::HeaderValue;
use ragengine_client::wire::ExplainedStage;
use ragengine_engine::Index;
use ragengine_errors::texts;
use ragengine_pipeline::budget::Budget;
use ragengine_pipeline::finish::FinishedPrompt;
use ragengine_pipeline::ranking::answerable::Evidence;
use ragengine_pipeline::ranking::bands::Band;
use ragengine_pipeline::request::Request;
use ragengine_pipeline::stream::Usage;
use ragengine_traces::{Span, passed as traced};
use tracing::warn;

use crate::access::Caller;
use crate::error::ApiError;
use crate::report::{ChatReport, Path, Selected, Stage};
use crate::retrieval::stages::Endpoint;
use crate::telemetry::chat::{self, ChatOutcome};
use crate::telemetry::metrics::{Counted, Metrics};
use crate::telemetry::traces;

/// The report of a running chat, which also updates the metrics. If it is dropped before its end, the chat is reported
/// as left by the client.
pub struct Ongoing {
    /// Boxed, because the report is large and moves with the chat from step to step.
    report: Box<ChatReport>,
    metrics: Arc<Metrics>,
    started: Instant,
    stage_started: Instant,
    /// The span of the request, and that of the answer by the language model.
    request_span: Span,
    answer_span: Span,
    /// `None` after the end.
    in_flight: Option<Counted>,
}

impl Ongoing {
    /// Starts the report.
    pub fn begin(metrics: &Arc<Metrics>, endpoint: Endpoint, request_id: &HeaderValue) -> Self {
        let now = Instant::now();
        let request_id = request_id.to_str().unwrap_or_default().to_owned();
        Self {
            report: Box::new(ChatReport { request_id, endpoint: endpoint.label(), ..ChatReport::default() }),
            request_span: Span::current(),
            answer_span: Span::default(),
            in_flight: Some(metrics.chat.begins()),
            metrics: Arc::clone(metrics),
            started: now,
            stage_started: now,
        }
    }

    /// Records a parsed request. The model's name is logged only if it `is_known` or texts are logged, because it is
    /// text of the caller.
    pub fn was_read(&mut self, request: &Request, is_known: impl Fn(&str) -> bool) {
        self.report.model = request.model.as_ref().filter(|model| is_known(model) || texts::are_logged()).cloned();
        self.report.is_stream = request.stream;
    }

    /// Records that the language model is asked, in this span.
    pub fn asks_in(&mut self, span: Span) {
        self.answer_span = span;
    }

    /// When the chat began.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Records who asks.
    pub fn is_asked_by(&mut self, caller: &Caller) {
        self.report.caller = caller.logged().map(str::to_owned);
    }

    /// Records the index of the request.
    pub fn is_about(&mut self, index: &Index) {
        self.metrics.index_is_there(index.name());
        self.report.index = Some(index.name().to_owned());
    }

    /// Records that the answer was known.
    pub fn is_known(&mut self) {
        self.report.path = Path::Known;
    }

    /// Records that no documents are used, and why.
    pub fn passes_through(&mut self, reason: &'static str) {
        self.report.path = Path::PassThrough;
        self.report.reason = reason;
    }

    /// Records the token count of the conversation.
    pub fn was_counted(
        &mut self,
        tokenizer: &'static str,
        model: Option<&str>,
        window_tokens: u64,
        conversation_tokens: u64,
    ) {
        self.metrics.chat.tokenizer(tokenizer);
        let report = &mut self.report;
        report.tokenizer = Some(tokenizer);
        report.model = model.map(str::to_owned).or(report.model.take());
        report.window_tokens = Some(window_tokens);
        report.conversation_tokens = Some(conversation_tokens);
    }

    /// Records the budget.
    pub fn was_divided(&mut self, budget: &Budget, max_distance: f32) {
        if let (Some(from), Some(to)) = (budget.lowered_from, budget.max_tokens) {
            self.max_tokens_were_lowered(from, to);
        }
        self.report.budget = Some(*budget);
        self.report.max_distance = Some(max_distance);
        self.report.max_tokens = budget.max_tokens;
    }

    /// Records what a stage of the pipeline did.
    pub fn stage_was(&mut self, stage: ExplainedStage) {
        self.report.stages.push(stage);
    }

    /// Records how near the best chunk is.
    pub fn was_found(&mut self, band: Option<Band>) {
        self.report.band = band.map(Band::label);
    }

    /// Records the decision of the calibrated threshold.
    pub fn was_judged(&mut self, evidence: Evidence) {
        self.report.evidence = Some(evidence);
        self.report.max_distance = None;
    }

    /// Records the number of the question's windows.
    pub fn was_embedded(&mut self, windows: usize) {
        self.report.question_windows = Some(windows);
    }

    /// Logs each lowering, and counts the chat once.
    fn max_tokens_were_lowered(&mut self, from: u64, to: u64) {
        warn!(
            request_id = self.report.request_id,
            "max_tokens ({from}) is greater than available context after prompt consideration. Setting to {to}."
        );
        if !std::mem::replace(&mut self.report.has_lowered_max_tokens, true) {
            chat::max_tokens_lowered(&self.metrics, &self.report);
        }
    }

    /// Records the duration of a stage, including waiting.
    pub fn stage_ends(&mut self, stage: Stage) {
        let now = Instant::now();
        let took = now - self.stage_started;
        self.metrics.chat.stage(stage, took);
        // The other stages have spans where their work is.
        if matches!(stage, Stage::Plan | Stage::Select) {
            traced(stage.label(), "done", took);
        }
        self.stage_started = now;
    }

    /// Records the duration of a stage that is a part of another one.
    pub fn stage_took(&self, stage: Stage, elapsed: Duration) {
        self.metrics.chat.stage(stage, elapsed);
    }

    /// Records the selection, and the prompt if it has documents.
    pub fn was_selected(&mut self, selected: Selected, finished: Option<&FinishedPrompt>) {
        chat::selected(&self.metrics, &self.report, &selected);
        self.report.selection = Some(selected);
        let Some(finished) = finished else { return };
        self.report.path = Path::Rag;
        if let (Some(from), Some(to)) = (self.report.max_tokens, finished.max_tokens)
            && to < from
        {
            self.max_tokens_were_lowered(from, to);
        }
        self.report.prompt_tokens = Some(finished.prompt_tokens);
        self.report.max_tokens = finished.max_tokens;
    }

    /// Records the time to the first token of a stream. Further calls change nothing.
    pub fn first_word_came(&mut self) {
        if self.report.first_token.is_none() {
            let elapsed = self.started.elapsed();
            self.report.first_token = Some(elapsed);
            self.metrics.chat.first_token(self.report.path.label(), elapsed);
        }
    }

    /// Records the token usage that the language model reported.
    pub fn was_reported(&mut self, usage: Option<Usage>) {
        self.report.usage = usage.or(self.report.usage);
    }

    /// Ends the report of an answered chat.
    pub fn succeeded(mut self) {
        self.end(&ChatOutcome::Answered);
    }

    /// Ends the report of a failed or incomplete answer, and returns the error.
    pub fn failed(mut self, error: ApiError) -> ApiError {
        if self.report.path == Path::None {
            self.report.reason = error.kind();
        }
        self.end(&ChatOutcome::Failed(&error));
        error
    }

    fn end(&mut self, outcome: &ChatOutcome<'_>) {
        if let Some(in_flight) = self.in_flight.take() {
            drop(in_flight);
            traces::ended(&self.report, outcome, &self.request_span, &self.answer_span);
            chat::ended(&self.metrics, &self.report, outcome, self.started.elapsed());
        }
    }
}

impl Deref for Ongoing {
    type Target = ChatReport;

    fn deref(&self) -> &ChatReport {
        &self.report
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        self.end(&ChatOutcome::Left);
    }
}
