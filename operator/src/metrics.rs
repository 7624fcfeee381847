//! The Prometheus metrics of the operator.

use std::time::{Duration, Instant};

use prometheus::{Encoder as _, TextEncoder};
use ragengine_metrics::{Builder, Built, Entry, metrics};
use ragengine_operator_api::SyncResult;

use crate::requests::{ApiRequest, RequestObserver};

/// Buckets in seconds: from a reconcile without changes to one that waits for a slow API server.
const BUCKETS: &[f64] = &[0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];

metrics! {
    /// The metrics of the operator.
    struct Series: "operator_" {
        /// Reconciles that have ended, by kind of resource and result (`ok`, `error`, `cancelled`).
        reconciles_total: Counters["kind", "result"],
        /// How long a reconcile took.
        reconcile_duration_seconds: Histograms["kind"] in BUCKETS,
        /// Reconciles that run now.
        reconciles_running: Gauge[],
        /// Resources with changes that wait for a reconcile.
        queue_length: Gauge[],
        /// Reconciles that failed, by what failed: `api`, `api_conflict`, `api_refused`, `api_throttled`, `no_answer`,
        /// `build`, `randomness`.
        errors_total: Counters["kind"],
        /// Requests to the API server, by RBAC verb, group and resource, and status of the reply (`none`: there was no
        /// reply).
        kubernetes_requests_total: Counters["verb", "group", "resource", "status"],
        /// Watches that were restarted after a failure.
        watch_failures_total: Counters["resource"],
        /// Requests for the status of servers, by result (`ok`, `error`).
        engine_questions_total: Counters["result"],
        /// Objects that the operator has created, by kind.
        objects: Gauges["kind"],
        /// RAGEngines, by whether they are ready (`true`, `false`, `unknown`).
        ragengines: Gauges["ready"],
        /// RAGEngines that are ready and whose condition Degraded is True.
        ragengines_degraded: Gauge[],
        /// Scheduled backups of a RAGEngine that were missed since its last good one. One is missed at the time of the
        /// next, or after seven hours. Absent without `backup` and while backups are suspended.
        backups_missed: Gauges["namespace", "engine"],
        /// 1 if this process holds the lease, else 0.
        is_leader: Gauge[],
        /// Synchronisations of Indexes that have ended, by result (`succeeded`, `failed`, `held_back`).
        index_syncs_total: Counters["result"],
        /// Synchronisations of Indexes that run now.
        index_syncs_running: Gauge[],
        /// Documents of an Index.
        index_documents: Gauges["namespace", "index"],
        /// Files of an Index's sources that could not be indexed.
        index_file_errors: Gauges["namespace", "index"],
        /// Seconds since the last successful synchronisation of an Index, or since its creation if there is none.
        index_seconds_since_success: Gauges["namespace", "index"],
    }
}

/// The results of synchronisations.
const SYNC_RESULTS: [SyncResult; 3] = [SyncResult::Succeeded, SyncResult::Failed, SyncResult::HeldBack];

/// The metrics in a separate registry.
pub struct Metrics {
    series: Series,
    built: Built,
}

impl Metrics {
    /// Creates the registry.
    ///
    /// # Errors
    ///
    /// When two metrics have the same name, which a test would detect.
    pub fn new() -> Result<Self, prometheus::Error> {
        let mut builder = Builder::new(Duration::ZERO)?;
        let series = Series::new(&mut builder)?;
        // An alert compares them with what they were before, so it would miss the first failure of a new series.
        for result in SYNC_RESULTS {
            series.index_syncs_total.with_label_values(&[label(result)]).inc_by(0);
        }
        Ok(Self { series, built: builder.finish() })
    }

    /// All metrics in Prometheus' text format.
    pub fn text(&self) -> String {
        let mut text = Vec::new();
        // Writing to memory does not fail, and the names were checked at registration.
        drop(TextEncoder::new().encode(&self.built.registry.gather(), &mut text));
        String::from_utf8_lossy(&text).into_owned()
    }

    /// A table of all metrics, for the documentation.
    pub fn markdown(&self) -> String {
        let row = |metric: &Entry| {
            let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
            format!("| `ragengine_{}` | {} | {} |\n", metric.name, labels.join(", "), metric.help)
        };
        self.built.entries.iter().map(row).collect()
    }

    /// Records the start of a reconcile. Dropping the guard records its end, also after a panic or a cancellation.
    pub fn reconcile_begins(&self, kind: &'static str) -> Measured<'_> {
        self.series.reconciles_running.inc();
        Measured { metrics: self, kind, started: Instant::now(), result: "cancelled" }
    }

    /// Counts a failed reconcile.
    pub fn failed(&self, error_kind: &str) {
        self.series.errors_total.with_label_values(&[error_kind]).inc();
    }

    /// Counts a failed watch.
    pub fn watch_failed(&self, resource: &str) {
        self.series.watch_failures_total.with_label_values(&[resource]).inc();
    }

    /// Counts a request to a server.
    pub fn engine_asked(&self, is_answered: bool) {
        self.series.engine_questions_total.with_label_values(&[if is_answered { "ok" } else { "error" }]).inc();
    }

    /// Sets the length of the queue.
    pub fn queue_is(&self, length: usize) {
        self.series.queue_length.set(i64::try_from(length).unwrap_or(i64::MAX));
    }

    /// Sets the number of objects of a kind.
    pub fn objects_are(&self, kind: &str, count: usize) {
        self.series.objects.with_label_values(&[kind]).set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Sets the number of RAGEngines with this readiness.
    pub fn rag_engines_are(&self, ready: &str, count: usize) {
        self.series.ragengines.with_label_values(&[ready]).set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Sets the number of RAGEngines that are ready and have a problem.
    pub fn degraded_rag_engines_are(&self, count: usize) {
        self.series.ragengines_degraded.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Sets the missed backups of all RAGEngines and drops those of deleted ones.
    pub fn missed_backups_are(&self, engines: &[MissedBackups]) {
        self.series.backups_missed.reset();
        for engine in engines {
            let labels = [engine.namespace.as_str(), &engine.name];
            self.series.backups_missed.with_label_values(&labels).set(i64::try_from(engine.count).unwrap_or(i64::MAX));
        }
    }

    /// Counts a synchronisation that has ended.
    pub fn sync_ended(&self, result: SyncResult) {
        self.series.index_syncs_total.with_label_values(&[label(result)]).inc();
    }

    /// Sets the figures of all Indexes and drops those of deleted ones.
    pub fn indexes_are(&self, indexes: &[IndexFigures]) {
        for gauges in
            [&self.series.index_documents, &self.series.index_file_errors, &self.series.index_seconds_since_success]
        {
            gauges.reset();
        }
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        for index in indexes {
            let labels = [index.namespace.as_str(), &index.name];
            self.series.index_documents.with_label_values(&labels).set(number(index.documents));
            self.series.index_file_errors.with_label_values(&labels).set(number(index.file_errors));
            self.series.index_seconds_since_success.with_label_values(&labels).set(index.seconds_since_success);
        }
        self.series.index_syncs_running.set(number(indexes.iter().filter(|index| index.is_running).count() as u64));
    }

    /// Records that this process holds the lease.
    pub fn leads(&self) {
        self.series.is_leader.set(1);
    }
}

/// The label of a result.
fn label(result: SyncResult) -> &'static str {
    match result {
        SyncResult::Succeeded => "succeeded",
        SyncResult::Failed => "failed",
        SyncResult::HeldBack => "held_back",
    }
}

/// The missed backups of a RAGEngine that makes backups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissedBackups {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Their number.
    pub count: u64,
}

/// The figures of an Index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexFigures {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The number of its documents.
    pub documents: u64,
    /// The number of files that could not be indexed.
    pub file_errors: u64,
    /// Seconds since the last successful synchronisation, or since the creation of the Index.
    pub seconds_since_success: i64,
    /// Whether a synchronisation is running.
    pub is_running: bool,
}

impl RequestObserver for Metrics {
    fn asked(&self, asked: &ApiRequest, status: Option<u16>) {
        let status = status.map_or_else(|| "none".to_owned(), |status| status.to_string());
        self.series
            .kubernetes_requests_total
            .with_label_values(&[asked.verb, &asked.group, &asked.resource, &status])
            .inc();
    }
}

/// A running reconcile.
pub struct Measured<'a> {
    metrics: &'a Metrics,
    kind: &'static str,
    started: Instant,
    result: &'static str,
}

impl Measured<'_> {
    /// Records the result of a reconcile that was not cancelled.
    pub fn ended(&mut self, is_ok: bool) {
        self.result = if is_ok { "ok" } else { "error" };
    }

    /// How long the reconcile has been running.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Drop for Measured<'_> {
    fn drop(&mut self) {
        self.metrics.series.reconciles_running.dec();
        self.metrics.series.reconciles_total.with_label_values(&[self.kind, self.result]).inc();
        self.metrics
            .series
            .reconcile_duration_seconds
            .with_label_values(&[self.kind])
            .observe(self.elapsed().as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use ragengine_operator_api::SyncResult;

    use super::{Metrics, MissedBackups};

    #[test]
    fn a_reconcile_is_counted_however_it_ends() {
        let metrics = Metrics::new().unwrap();
        metrics.reconcile_begins("RAGEngine").ended(true);
        drop(metrics.reconcile_begins("RAGEngine"));
        let text = metrics.text();
        for line in [
            r#"ragengine_operator_reconciles_total{kind="RAGEngine",result="ok"} 1"#,
            r#"ragengine_operator_reconciles_total{kind="RAGEngine",result="cancelled"} 1"#,
            "ragengine_operator_reconciles_running 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn synchronisations_are_counted_from_zero() {
        let metrics = Metrics::new().unwrap();
        metrics.sync_ended(SyncResult::Failed);
        let text = metrics.text();
        for (result, count) in [("succeeded", 0), ("failed", 1), ("held_back", 0)] {
            let line = format!(r#"ragengine_operator_index_syncs_total{{result="{result}"}} {count}"#);
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn an_engine_without_backups_has_no_series() {
        let metrics = Metrics::new().unwrap();
        metrics.missed_backups_are(&[MissedBackups { namespace: "n".into(), name: "docs".into(), count: 2 }]);
        let line = r#"ragengine_operator_backups_missed{engine="docs",namespace="n"} 2"#;
        assert!(metrics.text().lines().any(|found| found == line), "{}", metrics.text());
        metrics.missed_backups_are(&[]);
        assert!(!metrics.text().contains("backups_missed{"), "{}", metrics.text());
    }
}
