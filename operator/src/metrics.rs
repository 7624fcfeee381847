//! What Prometheus sees of the operator.

use std::time::{Duration, Instant};

use prometheus::core::Collector;
use prometheus::{
    Encoder as _, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
};
use ragengine_operator_api::SyncResult;

use crate::requests::{Asked, Witness};

/// Seconds: from a look that finds nothing to a reconcile that waits for a slow API server.
const BUCKETS: [f64; 10] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];

/// The metrics, each with its help.
pub struct Metrics {
    registry: Registry,
    reconciles: IntCounterVec,
    reconcile_seconds: HistogramVec,
    running: IntGauge,
    queue: IntGauge,
    errors: IntCounterVec,
    requests: IntCounterVec,
    watch_failures: IntCounterVec,
    engine_questions: IntCounterVec,
    objects: IntGaugeVec,
    rag_engines: IntGaugeVec,
    is_leader: IntGauge,
    syncs: IntCounterVec,
    syncs_running: IntGauge,
    index_documents: IntGaugeVec,
    index_file_errors: IntGaugeVec,
    index_age_seconds: IntGaugeVec,
    described: Vec<Described>,
}

/// A metric, for the documentation.
struct Described {
    name: String,
    help: String,
    labels: String,
}

/// Makes and registers metrics.
struct Builder {
    registry: Registry,
    described: Vec<Described>,
}

impl Builder {
    fn add<M: Collector + Clone + 'static>(&mut self, metric: M) -> Result<M, prometheus::Error> {
        self.described.extend(metric.desc().into_iter().map(|description| Described {
            name: description.fq_name.clone(),
            help: description.help.clone(),
            labels: description.variable_labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", "),
        }));
        self.registry.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    fn counters(&mut self, name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec, prometheus::Error> {
        self.add(IntCounterVec::new(Opts::new(prefixed(name), help), labels)?)
    }

    fn gauges(&mut self, name: &str, help: &str, labels: &[&str]) -> Result<IntGaugeVec, prometheus::Error> {
        self.add(IntGaugeVec::new(Opts::new(prefixed(name), help), labels)?)
    }

    fn gauge(&mut self, name: &str, help: &str) -> Result<IntGauge, prometheus::Error> {
        self.add(IntGauge::new(prefixed(name), help)?)
    }
}

fn prefixed(name: &str) -> String {
    format!("ragengine_operator_{name}")
}

impl Metrics {
    /// A registry of its own.
    ///
    /// # Errors
    ///
    /// When two metrics have one name, which a test would see.
    pub fn new() -> Result<Self, prometheus::Error> {
        let mut builder = Builder { registry: Registry::new(), described: Vec::new() };
        let durations = HistogramOpts::new(prefixed("reconcile_duration_seconds"), "How long a reconcile took.");
        Ok(Self {
            reconciles: builder.counters("reconciles_total", "Reconciles that have ended, by kind of resource and result (`ok`, `error`, `cancelled`).", &["kind", "result"])?,
            reconcile_seconds: builder.add(HistogramVec::new(durations.buckets(BUCKETS.to_vec()), &["kind"])?)?,
            running: builder.gauge("reconciles_running", "Reconciles that run now.")?,
            queue: builder.gauge("queue_length", "Resources that something has happened to and that are not being reconciled yet.")?,
            errors: builder.counters("errors_total", "Reconciles that failed, by what failed: `api`, `api_conflict`, `api_refused`, `api_throttled`, `no_answer`, `build`, `randomness`.", &["kind"])?,
            requests: builder.counters("kubernetes_requests_total", "Requests to the API server, by RBAC verb, group and resource, and status of the reply (`none`: there was no reply).", &["verb", "group", "resource", "status"])?,
            watch_failures: builder.counters("watch_failures_total", "Watches that had to be begun anew after a failure.", &["resource"])?,
            engine_questions: builder.counters("engine_questions_total", "How often servers were asked how they are, by result (`ok`, `error`).", &["result"])?,
            objects: builder.gauges("objects", "Objects that the operator has made, by kind.", &["kind"])?,
            rag_engines: builder.gauges("ragengines", "RAGEngines, by whether they are ready (`true`, `false`, `unknown`).", &["ready"])?,
            is_leader: builder.gauge("is_leader", "1 where this process holds the lease, else 0.")?,
            syncs: builder.counters("index_syncs_total", "Synchronisations of Indexes that have ended, by result (`succeeded`, `failed`, `held_back`).", &["result"])?,
            syncs_running: builder.gauge("index_syncs_running", "Synchronisations of Indexes that run now.")?,
            index_documents: builder.gauges("index_documents", "Documents of an Index.", &["namespace", "index"])?,
            index_file_errors: builder.gauges("index_file_errors", "Files of an Index's sources that could not be taken.", &["namespace", "index"])?,
            index_age_seconds: builder.gauges("index_seconds_since_success", "Seconds since the last synchronisation of an Index that was complete; since it was made, where there is none.", &["namespace", "index"])?,
            registry: builder.registry,
            described: builder.described,
        })
    }

    /// All metrics in Prometheus' text format.
    pub fn text(&self) -> String {
        let mut text = Vec::new();
        // Writing to memory does not fail, and what the metrics are named has been checked when they were made.
        drop(TextEncoder::new().encode(&self.registry.gather(), &mut text));
        String::from_utf8_lossy(&text).into_owned()
    }

    /// A table of all metrics, for the documentation.
    pub fn markdown(&self) -> String {
        let row = |metric: &Described| format!("| `{}` | {} | {} |\n", metric.name, metric.labels, metric.help);
        self.described.iter().map(row).collect()
    }

    /// A reconcile begins. It is counted when what this gives is dropped: also after a panic, or when it is given up.
    pub fn reconcile_begins(&self, kind: &'static str) -> Measured<'_> {
        self.running.inc();
        Measured { metrics: self, kind, started: Instant::now(), result: "cancelled" }
    }

    /// A reconcile failed.
    pub fn failed(&self, error_kind: &str) {
        self.errors.with_label_values(&[error_kind]).inc();
    }

    /// A watch failed.
    pub fn watch_failed(&self, resource: &str) {
        self.watch_failures.with_label_values(&[resource]).inc();
    }

    /// A server was asked.
    pub fn engine_asked(&self, is_answered: bool) {
        self.engine_questions.with_label_values(&[if is_answered { "ok" } else { "error" }]).inc();
    }

    /// So many wait.
    pub fn queue_is(&self, length: usize) {
        self.queue.set(i64::try_from(length).unwrap_or(i64::MAX));
    }

    /// There are so many objects of a kind.
    pub fn objects_are(&self, kind: &str, count: usize) {
        self.objects.with_label_values(&[kind]).set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// So many RAGEngines are ready, or not.
    pub fn rag_engines_are(&self, ready: &str, count: usize) {
        self.rag_engines.with_label_values(&[ready]).set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// A synchronisation has ended.
    pub fn sync_ended(&self, result: SyncResult) {
        let result = match result {
            SyncResult::Succeeded => "succeeded",
            SyncResult::Failed => "failed",
            SyncResult::HeldBack => "held_back",
        };
        self.syncs.with_label_values(&[result]).inc();
    }

    /// These are all Indexes. What was said of others is forgotten.
    pub fn indexes_are(&self, indexes: &[IndexFigures]) {
        for gauges in [&self.index_documents, &self.index_file_errors, &self.index_age_seconds] {
            gauges.reset();
        }
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        for index in indexes {
            let labels = [index.namespace.as_str(), &index.name];
            self.index_documents.with_label_values(&labels).set(number(index.documents));
            self.index_file_errors.with_label_values(&labels).set(number(index.file_errors));
            self.index_age_seconds.with_label_values(&labels).set(index.seconds_since_success);
        }
        self.syncs_running.set(number(indexes.iter().filter(|index| index.is_running).count() as u64));
    }

    /// This process holds the lease.
    pub fn leads(&self) {
        self.is_leader.set(1);
    }
}

/// What is counted of an Index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexFigures {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its documents.
    pub documents: u64,
    /// Files that could not be taken.
    pub file_errors: u64,
    /// Seconds since the last synchronisation that was complete, or since it was made.
    pub seconds_since_success: i64,
    /// Whether a synchronisation runs.
    pub is_running: bool,
}

impl Witness for Metrics {
    fn asked(&self, asked: &Asked, status: Option<u16>) {
        let status = status.map_or_else(|| "none".to_owned(), |status| status.to_string());
        self.requests.with_label_values(&[asked.verb, &asked.group, &asked.resource, &status]).inc();
    }
}

/// A reconcile that runs.
pub struct Measured<'a> {
    metrics: &'a Metrics,
    kind: &'static str,
    started: Instant,
    result: &'static str,
}

impl Measured<'_> {
    /// It has ended by itself.
    pub fn ended(&mut self, is_ok: bool) {
        self.result = if is_ok { "ok" } else { "error" };
    }

    /// How long it has run.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Drop for Measured<'_> {
    fn drop(&mut self) {
        self.metrics.running.dec();
        self.metrics.reconciles.with_label_values(&[self.kind, self.result]).inc();
        self.metrics.reconcile_seconds.with_label_values(&[self.kind]).observe(self.elapsed().as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::Metrics;

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
}
