use std::time::Duration;

use prometheus::{Error, Histogram, HistogramVec, IntCounterVec, IntGauge};
use ragengine_pipeline::select::Decision;

use super::registry::Builder;

/// From nothing to the largest windows.
const TOKENS: &[f64] = &[
    0.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16_384.0, 32_768.0, 65_536.0, 131_072.0, 262_144.0,
];

/// Finer where thresholds are.
const SIMILARITIES: &[f64] =
    &[0.0, 0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.575, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0];

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

    fn label(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Embed => "embed",
            Self::Search => "search",
            Self::Select => "select",
        }
    }
}

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

/// What Prometheus sees of chats.
pub struct ChatMetrics {
    /// Chats whose answer has not ended.
    pub in_flight: IntGauge,
    requests_total: IntCounterVec,
    duration_seconds: HistogramVec,
    first_token_seconds: HistogramVec,
    /// In the order of [`Stage::ALL`].
    stage_duration_seconds: [Histogram; 4],
    chunks_total: IntCounterVec,
    context_tokens: HistogramVec,
    similarity: HistogramVec,
    max_tokens_lowered_total: IntCounterVec,
    tokenizer_total: IntCounterVec,
    tokens_total: IntCounterVec,
}

impl ChatMetrics {
    pub(super) fn new(builder: &mut Builder, seconds: &[f64]) -> Result<Self, Error> {
        Ok(Self {
            requests_total: builder.counters(
                "chat_requests_total",
                "Chats that have ended. `path` is `rag` (documents went into the prompt), `passthrough`, or `none` when the request was \
                 refused before that was decided. `reason` says why: of `passthrough` one of `no_index`, `tools`, `role`, `content`, \
                 `nothing_relevant`, `over_budget`; of `none` the kind of the error; of `rag` nothing. `outcome` is `ok`, `refused` (a \
                 4xx), `failed` (a 5xx, or a stream that broke) or `left` (the client did).",
                &["index", "path", "reason", "outcome"],
            )?,
            in_flight: builder.gauge("chat_requests_in_flight", "Chats whose answer has not ended, streams included.")?,
            duration_seconds: builder.histograms(
                "chat_duration_seconds",
                "From the request to the end of the answer, the language model's time included. Only of outcome `ok`.",
                &["path"],
                seconds,
            )?,
            first_token_seconds: builder.histograms(
                "chat_first_token_seconds",
                "From the request to the first word of a streamed answer.",
                &["path"],
                seconds,
            )?,
            stage_duration_seconds: stages(&builder.histograms(
                "chat_stage_duration_seconds",
                "Parts of the work before the language model is asked. `stage` is `plan` (reading the request, counting its tokens), \
                 `embed` (the vector of the question), `search`, or `select` (counting, selecting and reading chunks, writing the prompt).",
                &["stage"],
                seconds,
            )?),
            chunks_total: builder.counters(
                "chat_chunks_total",
                "Chunks that were decided on. `decision` is `selected`, `over_threshold` (too far from the question) or `over_budget` \
                 (near enough, but it did not fit).",
                &["index", "decision"],
            )?,
            context_tokens: builder.histograms(
                "chat_context_tokens",
                "Tokens for context. `part` is `budget` (what it may take) or `used` (what the selected chunks take).",
                &["index", "part"],
                TOKENS,
            )?,
            similarity: builder.histograms(
                "chat_similarity",
                "Similarity to the question, 1 - distance / 2. `rank` is `best` (the nearest chunk of all) or `last_selected` (the \
                 farthest that went into the prompt).",
                &["index", "rank"],
                SIMILARITIES,
            )?,
            max_tokens_lowered_total: builder.counters(
                "chat_max_tokens_lowered_total",
                "Chats whose max_tokens was lowered to what the window leaves.",
                &["index"],
            )?,
            tokenizer_total: builder.counters(
                "chat_tokenizer_total",
                "Chats whose tokens were counted. `kind` is `served` (the model's own tokenizer), `tiktoken` (OpenAI's), `embedding` (the \
                 built-in model) or `estimate` (three bytes a token).",
                &["kind"],
            )?,
            tokens_total: builder.counters(
                "chat_tokens_total",
                "Tokens as the language model reported them. `direction` is `in` or `out`. A stream reports them only when its client asks \
                 for it (`stream_options.include_usage`).",
                &["index", "direction"],
            )?,
        })
    }

    /// A chat has ended.
    pub fn ended(&self, route: Route<'_>, elapsed: Duration) {
        let Route { index, path, reason, outcome } = route;
        self.requests_total.with_label_values(&[index, path, reason, outcome]).inc();
        if outcome == "ok" {
            self.duration_seconds.with_label_values(&[path]).observe(elapsed.as_secs_f64());
        }
    }

    /// The first word of a stream has come.
    pub fn first_token(&self, path: &str, elapsed: Duration) {
        self.first_token_seconds.with_label_values(&[path]).observe(elapsed.as_secs_f64());
    }

    /// A part of the work is done.
    pub fn stage(&self, stage: Stage, elapsed: Duration) {
        self.stage_duration_seconds[stage as usize].observe(elapsed.as_secs_f64());
    }

    /// So many chunks were decided on in this way.
    pub fn chunks(&self, index: &str, decision: Decision, count: usize) {
        self.chunks_total.with_label_values(&[index, decision.label()]).inc_by(count as u64);
    }

    /// The context's budget and what was used of it.
    #[expect(clippy::cast_precision_loss, reason = "windows are far below 2^53")]
    pub fn context(&self, index: &str, budget_tokens: u64, used_tokens: u64) {
        self.context_tokens.with_label_values(&[index, "budget"]).observe(budget_tokens as f64);
        self.context_tokens.with_label_values(&[index, "used"]).observe(used_tokens as f64);
    }

    /// The similarities of the nearest chunk and of the last one that was selected.
    pub fn similarities(&self, index: &str, best: Option<f32>, last_selected: Option<f32>) {
        for (rank, similarity) in [("best", best), ("last_selected", last_selected)] {
            if let Some(similarity) = similarity {
                self.similarity.with_label_values(&[index, rank]).observe(f64::from(similarity));
            }
        }
    }

    /// The answer's bound was lowered.
    pub fn max_tokens_lowered(&self, index: &str) {
        self.max_tokens_lowered_total.with_label_values(&[index]).inc();
    }

    /// Tokens were counted in this way.
    pub fn tokenizer(&self, kind: &str) {
        self.tokenizer_total.with_label_values(&[kind]).inc();
    }

    /// The language model reported its tokens.
    pub fn tokens(&self, index: &str, prompt_tokens: u64, completion_tokens: u64) {
        self.tokens_total.with_label_values(&[index, "in"]).inc_by(prompt_tokens);
        self.tokens_total.with_label_values(&[index, "out"]).inc_by(completion_tokens);
    }
}

/// One for each stage, looked up once.
fn stages(durations: &HistogramVec) -> [Histogram; 4] {
    Stage::ALL.map(|stage| durations.with_label_values(&[stage.label()]))
}
