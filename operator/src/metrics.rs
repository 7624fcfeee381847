//! What Prometheus sees of the operator.

use std::time::{Duration, Instant};

use prometheus::core::Collector;
use prometheus::{
    Encoder as _, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
};

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

    /// This process holds the lease.
    pub fn leads(&self) {
        self.is_leader.set(1);
    }
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
