//! What Prometheus sees. Each server has a registry of its own, so that tests have too.

use std::collections::BTreeMap;
use std::time::Duration;

use prometheus::{
    Encoder as _, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
};

use crate::index::IndexSize;

/// From a millisecond to the longest timeout.
const SECONDS: &[f64] =
    &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0];

/// Indexes that have labels of their own. The rest are summed under `other`.
const MAX_LABELLED_INDEXES: usize = 100;

/// Every metric. The name of a field is the name of the metric without its prefix.
pub struct Metrics {
    registry: Registry,
    http_requests_total: IntCounterVec,
    http_request_duration_seconds: HistogramVec,
    http_requests_in_flight: IntGauge,
    embedding_duration_seconds: HistogramVec,
    embedding_texts_total: IntCounterVec,
    embedding_errors_total: IntCounterVec,
    search_duration_seconds: HistogramVec,
    index_documents: IntGaugeVec,
    index_chunks: IntGaugeVec,
    index_text_bytes: IntGaugeVec,
}

impl Metrics {
    /// All metrics, at zero.
    ///
    /// # Errors
    ///
    /// When two have the same name, which a test rules out.
    pub fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new_custom(Some("ragengine".to_owned()), None)?;
        let build = int_gauges(&registry, "build_info", "The version that runs; always 1.", &["version"])?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        let in_flight = IntGauge::new("http_requests_in_flight", "Requests whose reply has not begun.")?;
        registry.register(Box::new(in_flight.clone()))?;
        Ok(Self {
            http_requests_total: counters(
                &registry,
                "http_requests_total",
                "Requests, by status.",
                &["method", "route", "status"],
            )?,
            http_request_duration_seconds: seconds(
                &registry,
                "http_request_duration_seconds",
                "Time until a reply begins.",
                &["method", "route"],
            )?,
            http_requests_in_flight: in_flight,
            embedding_duration_seconds: seconds(
                &registry,
                "embedding_duration_seconds",
                "Time until the texts of one request have vectors, waiting included.",
                &["purpose"],
            )?,
            embedding_texts_total: counters(
                &registry,
                "embedding_texts_total",
                "Texts that were given vectors.",
                &["purpose"],
            )?,
            embedding_errors_total: counters(
                &registry,
                "embedding_errors_total",
                "Requests for vectors that failed.",
                &["kind"],
            )?,
            search_duration_seconds: seconds(
                &registry,
                "search_duration_seconds",
                "Time for one search and the reading of what it found, waiting included.",
                &[],
            )?,
            index_documents: int_gauges(&registry, "index_documents", "Documents of an index.", &["index"])?,
            index_chunks: int_gauges(&registry, "index_chunks", "Chunks of an index.", &["index"])?,
            index_text_bytes: int_gauges(
                &registry,
                "index_text_bytes",
                "Bytes of the texts of an index's documents.",
                &["index"],
            )?,
            registry,
        })
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

    fn show_sizes(&self, indexes: &[(String, IndexSize)]) {
        let mut labelled: BTreeMap<&str, IndexSize> = BTreeMap::new();
        for (position, (name, size)) in indexes.iter().enumerate() {
            let label = if position < MAX_LABELLED_INDEXES { name } else { "other" };
            let sum = labelled.entry(label).or_default();
            sum.documents += size.documents;
            sum.chunks += size.chunks;
            sum.text_bytes += size.text_bytes;
        }
        for gauges in [&self.index_documents, &self.index_chunks, &self.index_text_bytes] {
            gauges.reset();
        }
        for (label, size) in labelled {
            self.index_documents.with_label_values(&[label]).set(size.documents.cast_signed());
            self.index_chunks.with_label_values(&[label]).set(size.chunks.cast_signed());
            self.index_text_bytes.with_label_values(&[label]).set(size.text_bytes.cast_signed());
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

fn counters(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec, prometheus::Error> {
    let metric = IntCounterVec::new(Opts::new(name, help), labels)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

fn int_gauges(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> Result<IntGaugeVec, prometheus::Error> {
    let metric = IntGaugeVec::new(Opts::new(name, help), labels)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

fn seconds(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> Result<HistogramVec, prometheus::Error> {
    let metric = HistogramVec::new(HistogramOpts::new(name, help).buckets(SECONDS.to_vec()), labels)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(documents: u64) -> IndexSize {
        IndexSize { documents, chunks: documents * 2, text_bytes: documents * 100 }
    }

    #[test]
    fn what_happened_is_shown() {
        let metrics = Metrics::new().unwrap();
        let running = metrics.request_begins();
        metrics.replied("POST", "/retrieve", "200", Duration::from_millis(20));
        metrics.embedded("query", 1, Duration::from_millis(8), None);
        metrics.embedded("query", 1, Duration::from_millis(8), Some("overloaded"));
        metrics.searched(Duration::from_millis(1));
        let text = metrics.render(&[("docs".to_owned(), size(3))]).unwrap();
        for line in [
            "ragengine_http_requests_total{method=\"POST\",route=\"/retrieve\",status=\"200\"} 1",
            "ragengine_http_request_duration_seconds_bucket{method=\"POST\",route=\"/retrieve\",le=\"0.025\"} 1",
            "ragengine_http_requests_in_flight 1",
            "ragengine_embedding_texts_total{purpose=\"query\"} 1",
            "ragengine_embedding_errors_total{kind=\"overloaded\"} 1",
            "ragengine_embedding_duration_seconds_count{purpose=\"query\"} 2",
            "ragengine_search_duration_seconds_count 1",
            "ragengine_index_chunks{index=\"docs\"} 6",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        drop(running);
        assert!(metrics.render(&[]).unwrap().contains("ragengine_http_requests_in_flight 0"));
    }

    #[test]
    fn a_deleted_index_disappears_and_many_are_summed() {
        let metrics = Metrics::new().unwrap();
        let many: Vec<(String, IndexSize)> = (0..103).map(|number| (format!("i{number:03}"), size(1))).collect();
        let text = metrics.render(&many).unwrap();
        assert!(text.contains("ragengine_index_documents{index=\"i099\"} 1"));
        assert!(text.contains("ragengine_index_documents{index=\"other\"} 3"));
        assert!(!metrics.render(&[]).unwrap().contains("index=\"i000\""));
    }
}
