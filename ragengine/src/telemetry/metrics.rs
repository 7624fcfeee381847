//! Metrics for Prometheus. Each server has a separate registry, so that tests do not share one.

mod admission;
mod chat;
mod connections;
mod http;

use std::sync::Arc;
use std::time::Duration;

pub use admission::{AdmissionMetrics, Counted};
pub use chat::{ChatMetrics, Route};
pub use connections::{Closed, ConnectionMetrics, ListenerMetrics};
pub use http::HttpMetrics;
use prometheus::{Encoder as _, TextEncoder};
use ragengine_embedding::EmbeddingMetrics;
use ragengine_events::EventMetrics;
use ragengine_index::IndexSize;
use ragengine_index::metrics::IndexMetrics;
pub use ragengine_metrics::IndexLabel;
use ragengine_metrics::{Builder, Built, markdown, metrics};
use ragengine_stores::StoreMetrics;
use ragengine_traces::TraceMetrics;
use ragengine_vector_database::VectorDatabaseMetrics;

/// Buckets of similarities of sentences.
const SUPPORT: &[f64] = &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

metrics! {
    /// Metrics of the whole server.
    struct Server: "" {
        /// Always 1. The label `version` is the version of the server.
        build_info: Gauges["version"],
        /// Duration of a search for `/retrieve`, including waiting and reading the chunks.
        search_duration_seconds: Durations[],
        /// Questions that were longer than the embedding model's limit and were searched in several windows. `asker` is
        /// `chat` or `retrieve`.
        long_questions_total: Counters["asker"],
        /// Stages of the pipeline. `endpoint` is `completions`, `retrieve`, `query` or `chat`; `stage` is `rate_limit`, `session`, `cache`, `rewrite`, `acronyms`, `filters`,
        /// `retrieval`, `feedback`, `recency`, `rerank`, `diversity`, `interactions`, `postprocess`, `citations` or `guardrails`;
        /// `outcome` is `done`, `unchanged` (nothing to do), `off`, `hit`, `miss` and `bypass` (of the cache), `failed`, `timeout`, `nonsense` (the reply of a
        /// reranker names no passage), `dropped` (nothing near enough was found with the filter), `rejected` (the
        /// answer cites nothing), `insufficient` (the answer says that the documents do not suffice), `redacted` and `blocked` (by guardrails)
        /// or `refused` (over the limit of the caller).
        pipeline_stages_total: Counters["endpoint", "stage", "outcome"],
        /// How well cited passages support the sentences that cite them, 0 to 1: the least similarity of one of them.
        /// Only with `citations.verify`.
        citation_support: Histograms["endpoint"] in SUPPORT,
        /// 1 if the language model's endpoint answers, 0 if it does not answer or refuses the key. Absent without an
        /// endpoint, and before the first check.
        language_model_up: Gauges[],
        /// Sources that are being synchronised, over all indexes.
        source_syncs_running: Gauge[],
        /// Copies of indexes. `operation` is `persist`, `load`, `backup` or `restore`; `outcome` is `ok` or the kind of
        /// the error.
        copies_total: Counters["operation", "outcome"],
        /// Copies of indexes that failed, by `operation` as above. From 0 on, so that an alert sees the first failure.
        copies_failed_total: Counters["operation"],
    }
}

/// What makes or reads a copy of indexes.
const COPYING: [&str; 4] = ["persist", "load", "backup", "restore"];

/// All metrics.
pub struct Metrics {
    /// HTTP requests.
    pub http: HttpMetrics,
    /// Admission control.
    pub admission: AdmissionMetrics,
    /// Chats.
    pub chat: ChatMetrics,
    /// Connections.
    pub connections: ConnectionMetrics,
    /// Embedding.
    pub embedding: EmbeddingMetrics,
    /// Events.
    pub events: EventMetrics,
    /// Indexes.
    pub index: Arc<IndexMetrics>,
    /// Stores.
    pub stores: Arc<StoreMetrics>,
    /// Traces.
    pub traces: TraceMetrics,
    /// The external vector engine.
    pub vector_database: Arc<VectorDatabaseMetrics>,
    server: Server,
    built: Built,
}

impl Metrics {
    /// Creates all metrics. Histograms of durations have buckets up to `longest_timeout`.
    ///
    /// # Errors
    ///
    /// When two metrics have the same name, which a test rules out.
    pub fn new(longest_timeout: Duration) -> Result<Self, prometheus::Error> {
        let mut builder = Builder::new(longest_timeout)?;
        let server = Server::new(&mut builder)?;
        server.build_info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        COPYING.iter().for_each(|operation| server.copies_failed_total.with_label_values(&[operation]).inc_by(0));
        Ok(Self {
            server,
            http: HttpMetrics::new(&mut builder)?,
            admission: AdmissionMetrics::new(&mut builder)?,
            chat: ChatMetrics::new(&mut builder)?,
            connections: ConnectionMetrics::new(&mut builder)?,
            embedding: EmbeddingMetrics::new(&mut builder)?,
            events: EventMetrics::new(&mut builder)?,
            index: IndexMetrics::new(&mut builder)?,
            stores: Arc::new(StoreMetrics::new(&mut builder)?),
            traces: TraceMetrics::new(&mut builder)?,
            vector_database: Arc::new(VectorDatabaseMetrics::new(&mut builder)?),
            built: builder.finish(),
        })
    }

    /// The reference of all metrics, as Markdown.
    pub fn reference(&self) -> String {
        markdown(&self.built.entries)
    }

    /// Assigns a label to an existing index, unless the limit of labels is reached. It is kept until the index is
    /// deleted.
    pub fn index_is_there(&self, name: &str) {
        self.index.labels().claim(name);
    }

    /// The label of an index: its name, or `other` if it has no label or was deleted. It holds a lock: keep it only
    /// briefly, and one at a time.
    pub fn index_label<'a>(&'a self, name: &'a str) -> IndexLabel<'a> {
        self.index.labels().of(name)
    }

    /// Frees the labels of deleted indexes, and removes their series.
    pub fn keep_indexes(&self, is_there: impl Fn(&str) -> bool) {
        self.index.labels().keep(is_there);
    }

    /// Records the duration of a search.
    pub fn searched(&self, elapsed: Duration) {
        self.server.search_duration_seconds.with_label_values::<&str>(&[]).observe(elapsed.as_secs_f64());
    }

    /// Records whether the language model answers. `None` if it is not known.
    pub fn language_model_is(&self, is_up: Option<bool>) {
        match is_up {
            Some(is_up) => self.server.language_model_up.with_label_values::<&str>(&[]).set(i64::from(is_up)),
            None => self.server.language_model_up.reset(),
        }
    }

    /// Counts a copy of indexes, successful or not.
    pub fn copied(&self, operation: &str, outcome: &str) {
        self.server.copies_total.with_label_values(&[operation, outcome]).inc();
        if outcome != "ok" {
            self.server.copies_failed_total.with_label_values(&[operation]).inc();
        }
    }

    /// Records the number of sources that are being synchronised.
    pub fn source_syncs_run(&self, count: usize) {
        self.server.source_syncs_running.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Counts a stage of the pipeline.
    pub fn pipeline_stage(&self, endpoint: &str, stage: &str, outcome: &str) {
        self.server.pipeline_stages_total.with_label_values(&[endpoint, stage, outcome]).inc();
    }

    /// Counts a chat that is over the limit of its caller.
    pub fn rate_limited(&self, path: &str) {
        let endpoint = match path {
            "/query" => "query",
            "/chat" => "chat",
            _ => "completions",
        };
        self.pipeline_stage(endpoint, "rate_limit", "refused");
    }

    /// Records how well a cited passage supports an answer.
    pub fn citation_support(&self, endpoint: &str, support: f32) {
        self.server.citation_support.with_label_values(&[endpoint]).observe(f64::from(support));
    }

    /// Counts a question that was longer than the embedding model's limit.
    pub fn long_question(&self, asker: &str) {
        self.server.long_questions_total.with_label_values(&[asker]).inc();
    }

    /// Renders Prometheus's text format, with these sizes of indexes.
    ///
    /// # Errors
    ///
    /// When a metric cannot be encoded.
    pub fn render(&self, indexes: &[(String, IndexSize)]) -> Result<String, prometheus::Error> {
        self.index.sizes_are(indexes);
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.built.registry.gather(), &mut text)?;
        String::from_utf8(text).map_err(|error| prometheus::Error::Msg(error.to_string()))
    }
}

#[cfg(test)]
mod tests;
