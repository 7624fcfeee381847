//! What Prometheus sees. Each server has a registry of its own, so that tests have too.

mod admission;
mod chat;
mod connections;
mod labels;
mod registry;

use std::collections::BTreeMap;
use std::time::Duration;

pub use admission::{AdmissionMetrics, Counted};
pub use chat::{ChatMetrics, Route, Stage};
pub use connections::{Closed, ConnectionMetrics, ListenerMetrics};
pub use labels::IndexLabel;
use labels::IndexLabels;
use prometheus::{Encoder as _, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Registry, TextEncoder};
use registry::{Builder, Built, DropSeries, Entry};

use crate::index::IndexSize;

/// From a millisecond to the longest default timeout, and past it.
const SECONDS: &[f64] =
    &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0];

/// Every metric. The name of a field is the name of the metric without its prefix.
pub struct Metrics {
    /// Who is let in.
    pub admission: AdmissionMetrics,
    /// Chats.
    pub chat: ChatMetrics,
    /// Connections.
    pub connections: ConnectionMetrics,
    registry: Registry,
    entries: Vec<Entry>,
    by_index: Vec<DropSeries>,
    labels: IndexLabels,
    http_requests_total: IntCounterVec,
    http_request_duration_seconds: HistogramVec,
    http_requests_in_flight: IntGauge,
    embedding_duration_seconds: HistogramVec,
    embedding_texts_total: IntCounterVec,
    embedding_errors_total: IntCounterVec,
    search_duration_seconds: HistogramVec,
    long_questions_total: IntCounterVec,
    language_model_up: IntGaugeVec,
    source_syncs_running: IntGauge,
    copies_total: IntCounterVec,
    index_snapshot_reads_total: IntCounterVec,
    index_snapshot_writes_total: IntCounterVec,
    index_documents: IntGaugeVec,
    index_chunks: IntGaugeVec,
    index_text_bytes: IntGaugeVec,
    generation_documents: IntGaugeVec,
    generation_total_documents: IntGaugeVec,
    generations_total: IntCounterVec,
}

impl Metrics {
    /// All metrics, at zero. Durations have buckets up to the longest timeout.
    ///
    /// # Errors
    ///
    /// When two have the same name, which a test rules out.
    pub fn new(longest_timeout: Duration) -> Result<Self, prometheus::Error> {
        let mut builder = Builder::new()?;
        let seconds = up_to(longest_timeout);
        builder
            .gauges("build_info", "The version that runs; always 1.", &["version"])?
            .with_label_values(&[env!("CARGO_PKG_VERSION")])
            .set(1);
        let metrics = Self {
            http_requests_total: builder.counters(
                "http_requests_total",
                "Requests, by status. 499: the client left before the reply.",
                &["method", "route", "status"],
            )?,
            http_request_duration_seconds: builder.histograms(
                "http_request_duration_seconds",
                "Time until a reply begins.",
                &["method", "route"],
                &seconds,
            )?,
            http_requests_in_flight: builder
                .gauge("http_requests_in_flight", "Requests whose reply has not begun.")?,
            admission: AdmissionMetrics::new(&mut builder)?,
            chat: ChatMetrics::new(&mut builder, &seconds)?,
            connections: ConnectionMetrics::new(&mut builder)?,
            embedding_duration_seconds: builder.histograms(
                "embedding_duration_seconds",
                "Time until the texts of one request have vectors, waiting included. `purpose` is `query` or `passage`.",
                &["purpose"],
                &seconds,
            )?,
            embedding_texts_total: builder.counters(
                "embedding_texts_total",
                "Texts that were given vectors.",
                &["purpose"],
            )?,
            embedding_errors_total: builder.counters(
                "embedding_errors_total",
                "Requests for vectors that failed.",
                &["kind"],
            )?,
            search_duration_seconds: builder.histograms(
                "search_duration_seconds",
                "Time for one search and the reading of what it found, waiting included. Of `/retrieve`.",
                &[],
                &seconds,
            )?,
            long_questions_total: builder.counters(
                "long_questions_total",
                "Questions that were longer than the embedding model reads at once, and were searched with window by window. `asker` is \
                 `chat` or `retrieve`.",
                &["asker"],
            )?,
            language_model_up: builder.gauges(
                "language_model_up",
                "1 when the language model's endpoint answers, 0 when it does not or refuses the key. Not there when nothing is known, and \
                 without an endpoint.",
                &[],
            )?,
            source_syncs_running: builder
                .gauge("source_syncs_running", "Sources that are being synchronised, in all indexes.")?,
            copies_total: builder.counters(
                "copies_total",
                "Copies of indexes that were made or read. `operation` is `persist`, `load`, `backup` or `restore`; `outcome` is `ok` or what was wrong.",
                &["operation", "outcome"],
            )?,
            index_snapshot_reads_total: builder.counters(
                "index_snapshot_reads_total",
                "Snapshots of vectors that were looked for when an index was opened. `result` is `loaded`, `missing` (there should have been \
                 one), or why it was of no use: `damaged`, `foreign` (of another store), `newer` (of a newer format) or `disk`. Without one, \
                 searches are exact until the graph is built again from the stored vectors.",
                &["result"],
            )?,
            index_snapshot_writes_total: builder.counters(
                "index_snapshot_writes_total",
                "Snapshots of vectors that were to be written. `result` is `written`, or why not: `no_room` or `disk`.",
                &["result"],
            )?,
            index_documents: builder.gauges("index_documents", "Documents of an index.", &["index"])?,
            index_chunks: builder.gauges("index_chunks", "Chunks of an index.", &["index"])?,
            index_text_bytes: builder.gauges(
                "index_text_bytes",
                "Bytes of the texts of an index's documents.",
                &["index"],
            )?,
            generation_documents: builder.gauges(
                "generation_documents",
                "Documents that the next generation of an index has already. Not there when none is being built.",
                &["index"],
            )?,
            generation_total_documents: builder.gauges(
                "generation_total_documents",
                "Documents that the next generation of an index is to have. Not there when none is being built.",
                &["index"],
            )?,
            generations_total: builder.counters(
                "generations_total",
                "Next generations of indexes. `outcome` is `finished`, `abandoned`, or `failed`: an attempt that is made again.",
                &["outcome"],
            )?,
            labels: IndexLabels::default(),
            by_index: Vec::new(),
            registry: Registry::new(),
            entries: Vec::new(),
        };
        let Built { registry, entries, by_index } = builder.finish();
        Ok(Self { registry, entries, by_index, ..metrics })
    }

    /// What all of them are, as a page of documentation.
    pub fn reference(&self) -> String {
        registry::markdown(&self.entries)
    }

    /// Gives an index that is there a label of its own, while there are any. It keeps it until it is deleted.
    pub fn index_is_there(&self, name: &str) {
        self.labels.claim(name);
    }

    /// The label of an index: its name, or `other` when it has none of its own, or is gone by now. Hold one at a time, and briefly.
    pub fn index_label<'a>(&'a self, name: &'a str) -> IndexLabel<'a> {
        self.labels.of(name)
    }

    /// Frees the labels of the indexes that are not there, and drops their series.
    pub fn keep_indexes(&self, is_there: impl Fn(&str) -> bool) {
        self.labels.free(is_there, |name| self.by_index.iter().for_each(|drop_series| drop_series(name)));
    }

    /// A request has begun. The guard ends it, however it ends.
    pub fn request_begins(&self) -> InFlight<'_> {
        self.http_requests_in_flight.inc();
        InFlight(&self.http_requests_in_flight)
    }

    /// A reply has begun.
    pub fn replied(&self, method: &str, route: &str, status: &str, elapsed: Duration) {
        self.http_requests_total.with_label_values(&[method, route, status]).inc();
        self.http_request_duration_seconds.with_label_values(&[method, route]).observe(elapsed.as_secs_f64());
    }

    /// Texts were embedded, or were not.
    pub fn embedded(&self, purpose: &str, texts: usize, elapsed: Duration, failure: Option<&str>) {
        self.embedding_duration_seconds.with_label_values(&[purpose]).observe(elapsed.as_secs_f64());
        match failure {
            Some(kind) => self.embedding_errors_total.with_label_values(&[kind]).inc(),
            None => self.embedding_texts_total.with_label_values(&[purpose]).inc_by(texts as u64),
        }
    }

    /// A search is done.
    pub fn searched(&self, elapsed: Duration) {
        self.search_duration_seconds.with_label_values::<&str>(&[]).observe(elapsed.as_secs_f64());
    }

    /// A snapshot of vectors was looked for.
    pub fn snapshot_read(&self, result: &str) {
        self.index_snapshot_reads_total.with_label_values(&[result]).inc();
    }

    /// A snapshot of vectors was written, or was not.
    pub fn snapshot_written(&self, result: &str) {
        self.index_snapshot_writes_total.with_label_values(&[result]).inc();
    }

    /// Whether the language model answers, when that is known.
    pub fn language_model_is(&self, is_up: Option<bool>) {
        match is_up {
            Some(is_up) => self.language_model_up.with_label_values::<&str>(&[]).set(i64::from(is_up)),
            None => self.language_model_up.reset(),
        }
    }

    /// A copy of indexes was made or read, or was not.
    pub fn copied(&self, operation: &str, outcome: &str) {
        self.copies_total.with_label_values(&[operation, outcome]).inc();
    }

    /// How many sources are being synchronised.
    pub fn source_syncs_run(&self, count: usize) {
        self.source_syncs_running.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// The building of a generation has ended so.
    pub fn generation_ended(&self, outcome: &str) {
        self.generations_total.with_label_values(&[outcome]).inc();
    }

    /// A question was longer than the embedding model reads at once.
    pub fn long_question(&self, asker: &str) {
        self.long_questions_total.with_label_values(&[asker]).inc();
    }

    /// How far the next generations of indexes are: documents, and how many there are to be.
    pub fn generations_grow(&self, generations: &[(String, u64, u64)]) {
        let mut labelled: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for (name, documents, total) in generations {
            let sum = labelled.entry(self.label_of_one_there(name)).or_default();
            *sum = (sum.0 + documents, sum.1 + total);
        }
        self.generation_documents.reset();
        self.generation_total_documents.reset();
        for (label, (documents, total)) in labelled {
            self.generation_documents.with_label_values(&[&label]).set(documents.cast_signed());
            self.generation_total_documents.with_label_values(&[&label]).set(total.cast_signed());
        }
    }

    /// The text that Prometheus reads, with the sizes of the indexes as they are now.
    ///
    /// # Errors
    ///
    /// When a metric cannot be written as text.
    pub fn render(&self, indexes: &[(String, IndexSize)]) -> Result<String, prometheus::Error> {
        self.show_sizes(indexes);
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        String::from_utf8(text).map_err(|error| prometheus::Error::Msg(error.to_string()))
    }

    fn label_of_one_there(&self, name: &str) -> String {
        self.index_is_there(name);
        self.index_label(name).as_str().to_owned()
    }

    fn show_sizes(&self, indexes: &[(String, IndexSize)]) {
        let mut labelled: BTreeMap<String, IndexSize> = BTreeMap::new();
        for (name, size) in indexes {
            let sum = labelled.entry(self.label_of_one_there(name)).or_default();
            sum.documents += size.documents;
            sum.chunks += size.chunks;
            sum.text_bytes += size.text_bytes;
        }
        for gauges in [&self.index_documents, &self.index_chunks, &self.index_text_bytes] {
            gauges.reset();
        }
        for (label, size) in labelled {
            self.index_documents.with_label_values(&[&label]).set(size.documents.cast_signed());
            self.index_chunks.with_label_values(&[&label]).set(size.chunks.cast_signed());
            self.index_text_bytes.with_label_values(&[&label]).set(size.text_bytes.cast_signed());
        }
    }
}

/// A request that has not been replied to.
pub struct InFlight<'a>(&'a IntGauge);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The buckets of durations, with one more when a timeout is longer than all of them.
fn up_to(longest: Duration) -> Vec<f64> {
    let longest = longest.as_secs_f64();
    let last = SECONDS.last().copied().filter(|last| *last < longest).map(|_| longest);
    SECONDS.iter().copied().chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(documents: u64) -> IndexSize {
        IndexSize { documents, chunks: documents * 2, text_bytes: documents * 100 }
    }

    #[test]
    fn what_happened_is_shown() {
        let metrics = Metrics::new(Duration::from_secs(300)).unwrap();
        let running = metrics.request_begins();
        metrics.replied("POST", "/retrieve", "200", Duration::from_millis(20));
        metrics.embedded("query", 1, Duration::from_millis(8), None);
        metrics.embedded("query", 1, Duration::from_millis(8), Some("overloaded"));
        metrics.searched(Duration::from_millis(1));
        metrics.copied("backup", "ok");
        let text = metrics.render(&[("docs".to_owned(), size(3))]).unwrap();
        for line in [
            "ragengine_http_requests_total{method=\"POST\",route=\"/retrieve\",status=\"200\"} 1",
            "ragengine_http_request_duration_seconds_bucket{method=\"POST\",route=\"/retrieve\",le=\"0.025\"} 1",
            "ragengine_http_requests_in_flight 1",
            "ragengine_embedding_texts_total{purpose=\"query\"} 1",
            "ragengine_embedding_errors_total{kind=\"overloaded\"} 1",
            "ragengine_embedding_duration_seconds_count{purpose=\"query\"} 2",
            "ragengine_search_duration_seconds_count 1",
            "ragengine_copies_total{operation=\"backup\",outcome=\"ok\"} 1",
            "ragengine_index_chunks{index=\"docs\"} 6",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        drop(running);
        assert!(metrics.render(&[]).unwrap().contains("ragengine_http_requests_in_flight 0"));
        let language_model = |is_up: Option<bool>| {
            metrics.language_model_is(is_up);
            let text = metrics.render(&[]).unwrap();
            text.lines().find(|line| line.starts_with("ragengine_language_model_up")).map(str::to_owned)
        };
        assert_eq!(language_model(Some(true)).as_deref(), Some("ragengine_language_model_up 1"));
        assert_eq!(language_model(Some(false)).as_deref(), Some("ragengine_language_model_up 0"));
        assert_eq!(language_model(None), None);
    }

    #[test]
    fn buckets_reach_the_timeout() {
        assert_eq!(up_to(Duration::from_secs(300)), SECONDS);
        assert_eq!(up_to(Duration::from_secs(3600)).last(), Some(&3600.0));
    }

    #[test]
    fn a_deleted_index_disappears_and_many_are_summed() {
        let metrics = Metrics::new(Duration::from_secs(300)).unwrap();
        let many: Vec<(String, IndexSize)> = (0..103).map(|number| (format!("i{number:03}"), size(1))).collect();
        let text = metrics.render(&many).unwrap();
        assert!(text.contains("ragengine_index_documents{index=\"i099\"} 1"));
        assert!(text.contains("ragengine_index_documents{index=\"other\"} 3"));
        assert!(!metrics.render(&[]).unwrap().contains("index=\"i000\""));
    }

    #[test]
    fn a_deleted_index_takes_its_series_with_it_and_leaves_its_label() {
        let metrics = Metrics::new(Duration::from_secs(300)).unwrap();
        let chats = |name: &str| {
            let label = metrics.index_label(name);
            let route = Route { index: label.as_str(), path: "rag", reason: "", outcome: "ok" };
            metrics.chat.ended(route, Duration::from_secs(1));
            metrics.chat.context(label.as_str(), 10, 5);
            metrics.chat.tokens(label.as_str(), 1, 1);
        };
        for number in 0..=100 {
            let name = format!("i{number:03}");
            metrics.index_is_there(&name);
            chats(&name);
        }
        let counted = |label: &str| {
            let text = metrics.render(&[]).unwrap();
            text.lines().filter(|line| line.contains(&format!("index=\"{label}\""))).count()
        };
        assert!(counted("i000") > 0 && counted("i100") == 0 && counted("other") > 0);
        metrics.keep_indexes(|name| name != "i000");
        assert_eq!(counted("i000"), 0);
        assert!(counted("i001") > 0 && counted("other") > 0);
        // A chat that ends after its index was deleted does not bring it back.
        chats("i000");
        assert_eq!(counted("i000"), 0);
        metrics.index_is_there("i100");
        chats("i100");
        assert!(counted("i100") > 0);
    }
}
