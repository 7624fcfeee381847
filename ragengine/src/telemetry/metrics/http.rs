use std::time::Duration;

use ragengine_metrics::metrics;

use super::Counted;

metrics! {
    /// Metrics of HTTP requests.
    pub struct HttpMetrics: "http_" {
        /// Requests, by status. 499: the client disconnected before the reply.
        requests_total: Counters["method", "route", "status"],
        /// Time until the reply starts.
        request_duration_seconds: Durations["method", "route"],
        /// Requests whose reply has not started.
        requests_in_flight: Gauge[],
    }
}

impl HttpMetrics {
    /// Counts a request as in flight until the result is dropped.
    pub fn request_begins(&self) -> Counted {
        Counted::in_gauge(self.requests_in_flight.clone())
    }

    /// Records a reply that has started.
    pub fn replied(&self, method: &str, route: &str, status: &str, elapsed: Duration) {
        self.requests_total.with_label_values(&[method, route, status]).inc();
        self.request_duration_seconds.with_label_values(&[method, route]).observe(elapsed.as_secs_f64());
    }
}
