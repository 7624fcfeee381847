use std::time::Duration;

use prometheus::{Error, Histogram};
use ragengine_metrics::{Builder, metrics};
use ragengine_pipeline::select::Decision;

use super::Counted;
use crate::report::Stage;

/// Buckets of tokens, up to the largest context windows.
const TOKENS: &[f64] = &[
    0.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16_384.0, 32_768.0, 65_536.0, 131_072.0, 262_144.0,
];

/// Buckets of similarities, finer around usual thresholds.
const SIMILARITIES: &[f64] =
    &[0.0, 0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.575, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0];

/// The labels of a chat's counter.
#[derive(Debug, Clone, Copy)]
pub struct Route<'a> {
    /// The index's label, or empty.
    pub index: &'a str,
    /// `rag`, `passthrough`, or `none` if the request was refused before the decision.
    pub path: &'a str,
    /// The reason for the path, or the kind of the error.
    pub reason: &'a str,
    /// `ok`, `refused`, `failed` or `left`.
    pub outcome: &'a str,
}

metrics! {
    /// Metrics of chats.
    struct Series: "chat_" {
        /// Chats that have ended. `path` is `rag` (with documents in the prompt), `passthrough` (without), `cached`
        /// (an answer that was known), or `none` if the request was refused before the decision. `reason` is, for `passthrough`, one of `no_index`, `tools`,
        /// `role`, `content`, `nothing_relevant`, `over_budget`; for `none`, the kind of the error; for `rag`, empty.
        /// `outcome` is `ok`, `refused` (a 4xx), `failed` (a 5xx, or an incomplete stream) or `left` (the client
        /// disconnected).
        requests_total: Counters["index", "path", "reason", "outcome"],
        /// Chats whose answer has not ended, including streams.
        requests_in_flight: Gauge[],
        /// Time from the request to the end of the answer, including the language model. Only for outcome `ok`.
        duration_seconds: Durations["path"],
        /// Time from the request to the first token of a streamed answer.
        first_token_seconds: Durations["path"],
        /// Duration of the stages before the request to the language model. `stage` is `plan` (parsing the request,
        /// counting its tokens), `rewrite` (of the question, if it is on), `embed` (embedding the question), `search`,
        /// `rerank` (a part of `search`, if it is on), or `select` (counting, selecting and reading chunks, writing
        /// the prompt).
        stage_duration_seconds: Durations["stage"],
        /// Retrieved chunks. `decision` is `selected`, `over_threshold` (too far from the question), `over_budget`
        /// (near enough, but too long) or `duplicate` (nearly the same as a better one).
        chunks_total: Counters["index", "decision"],
        /// Tokens for context. `part` is `budget` (the limit) or `used` (the selected chunks).
        context_tokens: Histograms["index", "part"] in TOKENS,
        /// Similarity to the question, 1 - distance / 2. `rank` is `best` (the nearest chunk) or `last_selected` (the
        /// farthest chunk in the prompt).
        similarity: Histograms["index", "rank"] in SIMILARITIES,
        /// Chats whose `max_tokens` was lowered to fit the context window.
        max_tokens_lowered_total: Counters["index"],
        /// Chats by the tokenizer that counted their tokens. `kind` is `served` (the language model's tokenizer),
        /// `tiktoken` (OpenAI's), `embedding` (for the built-in model) or `estimate` (three bytes per token).
        tokenizer_total: Counters["kind"],
        /// Tokens that the language model reported. `direction` is `in` or `out`. A stream reports them only if its
        /// client requests it (`stream_options.include_usage`).
        tokens_total: Counters["index", "direction"],
    }
}

/// Metrics of chats.
pub struct ChatMetrics {
    series: Series,
    /// In the order of [`Stage::ALL`], to avoid a lookup per observation.
    stages: [Histogram; Stage::ALL.len()],
}

impl ChatMetrics {
    pub(super) fn new(builder: &mut Builder) -> Result<Self, Error> {
        let series = Series::new(builder)?;
        let stages = Stage::ALL.map(|stage| series.stage_duration_seconds.with_label_values(&[stage.label()]));
        Ok(Self { series, stages })
    }

    /// Counts a chat as in flight until the result is dropped.
    pub fn begins(&self) -> Counted {
        Counted::in_gauge(self.series.requests_in_flight.clone())
    }

    /// Counts a chat that has ended.
    pub fn ended(&self, route: Route<'_>, elapsed: Duration) {
        let Route { index, path, reason, outcome } = route;
        self.series.requests_total.with_label_values(&[index, path, reason, outcome]).inc();
        if outcome == "ok" {
            self.series.duration_seconds.with_label_values(&[path]).observe(elapsed.as_secs_f64());
        }
    }

    /// Records the time to the first token of a stream.
    pub fn first_token(&self, path: &str, elapsed: Duration) {
        self.series.first_token_seconds.with_label_values(&[path]).observe(elapsed.as_secs_f64());
    }

    /// Records the duration of a stage.
    pub fn stage(&self, stage: Stage, elapsed: Duration) {
        self.stages[stage as usize].observe(elapsed.as_secs_f64());
    }

    /// Counts chunks with a decision.
    pub fn chunks(&self, index: &str, decision: Decision, count: usize) {
        self.series.chunks_total.with_label_values(&[index, decision.label()]).inc_by(count as u64);
    }

    /// Records the budget for context and its used part.
    #[expect(clippy::cast_precision_loss, reason = "windows are far below 2^53")]
    pub fn context(&self, index: &str, budget_tokens: u64, used_tokens: u64) {
        self.series.context_tokens.with_label_values(&[index, "budget"]).observe(budget_tokens as f64);
        self.series.context_tokens.with_label_values(&[index, "used"]).observe(used_tokens as f64);
    }

    /// Records the similarities of the nearest and of the farthest selected chunk.
    pub fn similarities(&self, index: &str, best: Option<f32>, last_selected: Option<f32>) {
        for (rank, similarity) in [("best", best), ("last_selected", last_selected)] {
            if let Some(similarity) = similarity {
                self.series.similarity.with_label_values(&[index, rank]).observe(f64::from(similarity));
            }
        }
    }

    /// Counts a chat whose `max_tokens` was lowered.
    pub fn max_tokens_lowered(&self, index: &str) {
        self.series.max_tokens_lowered_total.with_label_values(&[index]).inc();
    }

    /// Counts a chat whose tokens this kind of tokenizer counted.
    pub fn tokenizer(&self, kind: &str) {
        self.series.tokenizer_total.with_label_values(&[kind]).inc();
    }

    /// Counts the tokens that the language model reported.
    pub fn tokens(&self, index: &str, prompt_tokens: u64, completion_tokens: u64) {
        self.series.tokens_total.with_label_values(&[index, "in"]).inc_by(prompt_tokens);
        self.series.tokens_total.with_label_values(&[index, "out"]).inc_by(completion_tokens);
    }
}
