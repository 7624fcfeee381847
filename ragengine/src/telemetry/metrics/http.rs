use std::time::Duration;

use ragengine_metrics::metrics;

use super::Counted;

metrics! {
    /// What Prometheus sees of requests.
    pub struct HttpMetrics: "http_" {
        /// Requests, by status. 499: the client left before the reply.
        requests_total: Counters["method", "route", "status"],
        /// Time until a reply begins.
        request_duration_seconds: Durations["method", "route"],
        /// Requests whose reply has not begun.
        requests_in_flight: Gauge[],
    }
}

impl HttpMetrics {
    /// A request has begun. It is in flight until what this gives is dropped.
    pub fn request_begins(&self) -> Counted {
        Counted::in_gauge(self.requests_in_flight.clone())
    }

    /// A reply has begun.
    pub fn replied(&self, method: &str, route: &str, status: &str, elapsed: Duration) {
        self.requests_total.with_label_values(&[method, route, status]).inc();
        self.request_duration_seconds.with_label_values(&[method, route]).observe(elapsed.as_secs_f64());
    }
}
