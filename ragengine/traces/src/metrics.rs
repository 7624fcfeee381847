//! The Prometheus metrics of traces.

use ragengine_metrics::metrics;

metrics! {
    /// The Prometheus metrics of traces.
    pub struct TraceMetrics: "traces_" {
        /// Spans that have ended. `outcome` is `sent`, `failed` (the collector did not accept them) or `dropped` (too
        /// many wait to be sent).
        spans_total: Counters["outcome"],
    }
}

/// The outcomes of spans.
const OUTCOMES: [&str; 3] = ["sent", "failed", "dropped"];

impl TraceMetrics {
    /// Makes all series, at zero.
    pub(crate) fn begin(&self) {
        OUTCOMES.iter().for_each(|outcome| self.count(outcome, 0));
    }

    /// The spans with an outcome.
    #[cfg(test)]
    pub(crate) fn spans(&self, outcome: &str) -> u64 {
        self.spans_total.with_label_values(&[outcome]).get()
    }

    pub(crate) fn count(&self, outcome: &str, spans: usize) {
        self.spans_total.with_label_values(&[outcome]).inc_by(spans as u64);
    }
}
