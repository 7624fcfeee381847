use prometheus::IntGauge;
use ragengine_metrics::metrics;

metrics! {
    /// Admission control.
    pub struct AdmissionMetrics: "" {
        /// Requests in a queue. `work` is `read`, `chat`, `write`, `language_model` (prepared chats that wait for the
        /// language model) or `models` (requests that wait for the language model's first list of models).
        requests_waiting: Gauges["work"],
        /// Running requests. A chat counts as `chat` while it is prepared, then as `language_model` until its answer
        /// has ended.
        requests_running: Gauges["work"],
        /// Requests that were refused because the server is busy. `reason` is `queue_full`, `bodies_full`,
        /// `waited_too_long` or `late` (started, but not finished in time).
        requests_refused_total: Counters["work", "reason"],
        /// Bytes of request bodies that count towards `limits.maxBodiesBytes`. The first 64 KiB of a body do not count.
        pub request_bodies_bytes: Gauge[],
        /// Connections that were closed because the client did not read its reply.
        connections_cut_total: Counters[],
    }
}

/// Increments a gauge until it is dropped.
pub struct Counted(IntGauge);

impl Counted {
    pub(super) fn in_gauge(gauge: IntGauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl AdmissionMetrics {
    /// Counts a waiting request.
    pub fn waits(&self, work: &str) -> Counted {
        Counted::in_gauge(self.requests_waiting.with_label_values(&[work]))
    }

    /// Counts a running request.
    pub fn runs(&self, work: &str) -> Counted {
        Counted::in_gauge(self.requests_running.with_label_values(&[work]))
    }

    /// Counts a refused request.
    pub fn refused(&self, work: &str, reason: &str) {
        self.requests_refused_total.with_label_values(&[work, reason]).inc();
    }

    /// Counts a connection whose client did not read its reply.
    pub fn connection_was_cut(&self) {
        self.connections_cut_total.with_label_values::<&str>(&[]).inc();
    }
}
