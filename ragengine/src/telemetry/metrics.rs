//! What Prometheus sees. Each server has a registry of its own, so that tests have too.

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
use ragengine_index::IndexSize;
use ragengine_index::metrics::IndexMetrics;
pub use ragengine_metrics::IndexLabel;
use ragengine_metrics::{Builder, Built, markdown, metrics};

metrics! {
    /// What belongs to no room of its own.
    struct Server: "" {
        /// The version that runs; always 1.
        build_info: Gauges["version"],
        /// Time for one search and the reading of what it found, waiting included. Of `/retrieve`.
        search_duration_seconds: Durations[],
        /// Questions that were longer than the embedding model reads at once, and were searched with window by window. `asker` is
        /// `chat` or `retrieve`.
        long_questions_total: Counters["asker"],
        /// 1 when the language model's endpoint answers, 0 when it does not or refuses the key. Not there when nothing is known, and
        /// without an endpoint.
        language_model_up: Gauges[],
        /// Sources that are being synchronised, in all indexes.
        source_syncs_running: Gauge[],
        /// Copies of indexes that were made or read. `operation` is `persist`, `load`, `backup` or `restore`; `outcome` is `ok` or what was wrong.
        copies_total: Counters["operation", "outcome"],
    }
}

/// Every metric.
pub struct Metrics {
    /// Requests.
    pub http: HttpMetrics,
    /// Who is let in.
    pub admission: AdmissionMetrics,
    /// Chats.
    pub chat: ChatMetrics,
    /// Connections.
    pub connections: ConnectionMetrics,
    /// Embedding.
    pub embedding: EmbeddingMetrics,
    /// Indexes.
    pub index: Arc<IndexMetrics>,
    server: Server,
    built: Built,
}

impl Metrics {
    /// All metrics, at zero. Durations have buckets up to the longest timeout.
    ///
    /// # Errors
    ///
    /// When two have the same name, which a test rules out.
    pub fn new(longest_timeout: Duration) -> Result<Self, prometheus::Error> {
        let mut builder = Builder::new(longest_timeout)?;
        let server = Server::new(&mut builder)?;
        server.build_info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        Ok(Self {
            server,
            http: HttpMetrics::new(&mut builder)?,
            admission: AdmissionMetrics::new(&mut builder)?,
            chat: ChatMetrics::new(&mut builder)?,
            connections: ConnectionMetrics::new(&mut builder)?,
            embedding: EmbeddingMetrics::new(&mut builder)?,
            index: IndexMetrics::new(&mut builder)?,
            built: builder.finish(),
        })
    }

    /// What all of them are, as a page of documentation.
    pub fn reference(&self) -> String {
        markdown(&self.built.entries)
    }

    /// Gives an index that is there a label of its own, while there are any. It keeps it until it is deleted.
    pub fn index_is_there(&self, name: &str) {
        self.index.labels().claim(name);
    }

    /// The label of an index: its name, or `other` when it has none of its own, or is gone by now. Hold one at a time, and briefly.
    pub fn index_label<'a>(&'a self, name: &'a str) -> IndexLabel<'a> {
        self.index.labels().of(name)
    }

    /// Frees the labels of the indexes that are not there, and drops their series.
    pub fn keep_indexes(&self, is_there: impl Fn(&str) -> bool) {
        self.index.labels().keep(is_there);
    }

    /// A search is done.
    pub fn searched(&self, elapsed: Duration) {
        self.server.search_duration_seconds.with_label_values::<&str>(&[]).observe(elapsed.as_secs_f64());
    }

    /// Whether the language model answers, when that is known.
    pub fn language_model_is(&self, is_up: Option<bool>) {
        match is_up {
            Some(is_up) => self.server.language_model_up.with_label_values::<&str>(&[]).set(i64::from(is_up)),
            None => self.server.language_model_up.reset(),
        }
    }

    /// A copy of indexes was made or read, or was not.
    pub fn copied(&self, operation: &str, outcome: &str) {
        self.server.copies_total.with_label_values(&[operation, outcome]).inc();
    }

    /// How many sources are being synchronised.
    pub fn source_syncs_run(&self, count: usize) {
        self.server.source_syncs_running.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// A question was longer than the embedding model reads at once.
    pub fn long_question(&self, asker: &str) {
        self.server.long_questions_total.with_label_values(&[asker]).inc();
    }

    /// The text that Prometheus reads, with the sizes of the indexes as they are now.
    ///
    /// # Errors
    ///
    /// When a metric cannot be written as text.
    pub fn render(&self, indexes: &[(String, IndexSize)]) -> Result<String, prometheus::Error> {
        self.index.sizes_are(indexes);
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.built.registry.gather(), &mut text)?;
        String::from_utf8(text).map_err(|error| prometheus::Error::Msg(error.to_string()))
    }
}

#[cfg(test)]
mod tests;
