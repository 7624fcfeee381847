//! The Prometheus metrics of events.

use ragengine_metrics::metrics;

metrics! {
    /// The Prometheus metrics of events.
    pub struct EventMetrics: "events_" {
        /// Events that are done with. `type` is `query_submitted` or `response_generated`. `outcome` is `confirmed`,
        /// `unrouted` (confirmed, but no queue wants it), `dropped` (too much waited, it was too large, or the server
        /// ended) or `refused` (RabbitMQ refused it several times).
        total: Counters["type", "outcome"],
        /// How often events were sent again, because RabbitMQ refused them or the connection was lost.
        sent_again_total: Counters["type"],
        /// Events that wait for a confirmation by RabbitMQ.
        waiting: Gauge[],
        /// 1 when RabbitMQ is connected, else 0. Absent without `events.url`.
        connected: Gauges[],
    }
}

/// The names of events.
const NAMES: [&str; 2] = ["query_submitted", "response_generated"];

/// The outcomes of events.
const OUTCOMES: [&str; 4] = ["confirmed", "unrouted", "dropped", "refused"];

impl EventMetrics {
    /// Makes all series, at zero. A server without events has no `connected`: an alert takes its zero for an outage.
    pub(crate) fn begin(&self) {
        self.set_connected(false);
        for name in NAMES {
            self.sent_again_total.with_label_values(&[name]).inc_by(0);
            for outcome in OUTCOMES {
                self.total.with_label_values(&[name, outcome]).inc_by(0);
            }
        }
    }

    /// Counts an event that is done with.
    pub(crate) fn count(&self, name: &str, outcome: &str) {
        self.total.with_label_values(&[name, outcome]).inc();
    }

    pub(crate) fn set_waiting(&self, events: usize) {
        self.waiting.set(i64::try_from(events).unwrap_or(i64::MAX));
    }

    pub(crate) fn set_connected(&self, is_connected: bool) {
        self.connected.with_label_values::<&str>(&[]).set(i64::from(is_connected));
    }

    /// Counts an event that will be sent again.
    pub(crate) fn count_again(&self, name: &str) {
        self.sent_again_total.with_label_values(&[name]).inc();
    }
}
