use prometheus::IntGauge;
use ragengine_metrics::metrics;

metrics! {
    /// Who is let in, and who is not.
    pub struct AdmissionMetrics: "" {
        /// Requests that wait for their turn. `work` is `read`, `chat`, `write`, `language_model` (chats that are ready, before the language
        /// model is asked) or `models` (the first list of its models).
        requests_waiting: Gauges["work"],
        /// Requests that have their turn. A chat has that of `chat` until the language model is asked, then that of `language_model` until its
        /// answer has ended.
        requests_running: Gauges["work"],
        /// Requests that were refused because the server is busy. `reason` is `queue_full`, `bodies_full`, `waited_too_long` or
        /// `late`: begun, and not done in time.
        requests_refused_total: Counters["work", "reason"],
        /// What of the bodies of requests counts to `limits.maxBodiesBytes`: of each what is over 64 KiB.
        pub request_bodies_bytes: Gauge[],
        /// Connections that were closed because the client took nothing of what was sent to it.
        connections_cut_total: Counters[],
    }
}

/// One that is counted, until it is dropped.
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
    /// One waits.
    pub fn waits(&self, work: &str) -> Counted {
        Counted::in_gauge(self.requests_waiting.with_label_values(&[work]))
    }

    /// One runs.
    pub fn runs(&self, work: &str) -> Counted {
        Counted::in_gauge(self.requests_running.with_label_values(&[work]))
    }

    /// One was refused.
    pub fn refused(&self, work: &str, reason: &str) {
        self.requests_refused_total.with_label_values(&[work, reason]).inc();
    }

    /// A client's connection was closed.
    pub fn connection_was_cut(&self) {
        self.connections_cut_total.with_label_values::<&str>(&[]).inc();
    }
}
