use std::time::Duration;

use prometheus::{Error, Histogram};
use ragengine_metrics::{Builder, metrics};
use ragengine_pipeline::select::Decision;

use super::Counted;
use crate::report::Stage;

/// From nothing to the largest windows.
const TOKENS: &[f64] = &[
    0.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16_384.0, 32_768.0, 65_536.0, 131_072.0, 262_144.0,
];

/// Finer where thresholds are.
const SIMILARITIES: &[f64] =
    &[0.0, 0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.575, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0];

/// How a chat was routed and how it ended: the labels of its counter.
#[derive(Debug, Clone, Copy)]
pub struct Route<'a> {
    /// The index's label, or nothing.
    pub index: &'a str,
    /// `rag`, `passthrough`, or `none` when it was refused before that was decided.
    pub path: &'a str,
    /// Why.
    pub reason: &'a str,
    /// `ok`, `refused`, `failed` or `left`.
    pub outcome: &'a str,
}

metrics! {
    /// What Prometheus sees of chats.
    struct Series: "chat_" {
        /// Chats that have ended. `path` is `rag` (documents went into the prompt), `passthrough`, or `none` when the request was
        /// refused before that was decided. `reason` says why: of `passthrough` one of `no_index`, `tools`, `role`, `content`,
        /// `nothing_relevant`, `over_budget`; of `none` the kind of the error; of `rag` nothing. `outcome` is `ok`, `refused` (a
        /// 4xx), `failed` (a 5xx, or a stream that broke) or `left` (the client did).
        requests_total: Counters["index", "path", "reason", "outcome"],
        /// Chats whose answer has not ended, streams included.
        requests_in_flight: Gauge[],
        /// From the request to the end of the answer, the language model's time included. Only of outcome `ok`.
        duration_seconds: Durations["path"],
        /// From the request to the first word of a streamed answer.
        first_token_seconds: Durations["path"],
        /// Parts of the work before the language model is asked. `stage` is `plan` (reading the request, counting its tokens),
        /// `embed` (the vector of the question), `search`, or `select` (counting, selecting and reading chunks, writing the prompt).
        stage_duration_seconds: Durations["stage"],
        /// Chunks that were decided on. `decision` is `selected`, `over_threshold` (too far from the question) or `over_budget`
        /// (near enough, but it did not fit).
        chunks_total: Counters["index", "decision"],
        /// Tokens for context. `part` is `budget` (what it may take) or `used` (what the selected chunks take).
        context_tokens: Histograms["index", "part"] in TOKENS,
        /// Similarity to the question, 1 - distance / 2. `rank` is `best` (the nearest chunk of all) or `last_selected` (the
        /// farthest that went into the prompt).
        similarity: Histograms["index", "rank"] in SIMILARITIES,
        /// Chats whose max_tokens was lowered to what the window leaves.
        max_tokens_lowered_total: Counters["index"],
        /// Chats whose tokens were counted. `kind` is `served` (the model's own tokenizer), `tiktoken` (OpenAI's), `embedding` (the
        /// built-in model) or `estimate` (three bytes a token).
        tokenizer_total: Counters["kind"],
        /// Tokens as the language model reported them. `direction` is `in` or `out`. A stream reports them only when its client asks
        /// for it (`stream_options.include_usage`).
        tokens_total: Counters["index", "direction"],
    }
}

/// What Prometheus sees of chats.
pub struct ChatMetrics {
    series: Series,
    /// In the order of [`Stage::ALL`], looked up once.
    stages: [Histogram; 4],
}

impl ChatMetrics {
    pub(super) fn new(builder: &mut Builder) -> Result<Self, Error> {
        let series = Series::new(builder)?;
        let stages = Stage::ALL.map(|stage| series.stage_duration_seconds.with_label_values(&[stage.label()]));
        Ok(Self { series, stages })
    }

    /// A chat has begun. It is in flight until what this gives is dropped.
    pub fn begins(&self) -> Counted {
        Counted::in_gauge(self.series.requests_in_flight.clone())
    }

    /// A chat has ended.
    pub fn ended(&self, route: Route<'_>, elapsed: Duration) {
        let Route { index, path, reason, outcome } = route;
        self.series.requests_total.with_label_values(&[index, path, reason, outcome]).inc();
        if outcome == "ok" {
            self.series.duration_seconds.with_label_values(&[path]).observe(elapsed.as_secs_f64());
        }
    }

    /// The first word of a stream has come.
    pub fn first_token(&self, path: &str, elapsed: Duration) {
        self.series.first_token_seconds.with_label_values(&[path]).observe(elapsed.as_secs_f64());
    }

    /// A part of the work is done.
    pub fn stage(&self, stage: Stage, elapsed: Duration) {
        self.stages[stage as usize].observe(elapsed.as_secs_f64());
    }

    /// So many chunks were decided on in this way.
    pub fn chunks(&self, index: &str, decision: Decision, count: usize) {
        self.series.chunks_total.with_label_values(&[index, decision.label()]).inc_by(count as u64);
    }

    /// The context's budget and what was used of it.
    #[expect(clippy::cast_precision_loss, reason = "windows are far below 2^53")]
    pub fn context(&self, index: &str, budget_tokens: u64, used_tokens: u64) {
        self.series.context_tokens.with_label_values(&[index, "budget"]).observe(budget_tokens as f64);
        self.series.context_tokens.with_label_values(&[index, "used"]).observe(used_tokens as f64);
    }

    /// The similarities of the nearest chunk and of the last one that was selected.
    pub fn similarities(&self, index: &str, best: Option<f32>, last_selected: Option<f32>) {
        for (rank, similarity) in [("best", best), ("last_selected", last_selected)] {
            if let Some(similarity) = similarity {
                self.series.similarity.with_label_values(&[index, rank]).observe(f64::from(similarity));
            }
        }
    }

    /// The answer's bound was lowered.
    pub fn max_tokens_lowered(&self, index: &str) {
        self.series.max_tokens_lowered_total.with_label_values(&[index]).inc();
    }

    /// Tokens were counted in this way.
    pub fn tokenizer(&self, kind: &str) {
        self.series.tokenizer_total.with_label_values(&[kind]).inc();
    }

    /// The language model reported its tokens.
    pub fn tokens(&self, index: &str, prompt_tokens: u64, completion_tokens: u64) {
        self.series.tokens_total.with_label_values(&[index, "in"]).inc_by(prompt_tokens);
        self.series.tokens_total.with_label_values(&[index, "out"]).inc_by(completion_tokens);
    }
}
