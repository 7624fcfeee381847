use prometheus::{Error, IntCounterVec, IntGauge, IntGaugeVec};

use super::registry::Builder;

/// Who is let in, and who is not. The name of a field is the name of the metric without its prefix.
#[derive(Clone)]
pub struct AdmissionMetrics {
    requests_waiting: IntGaugeVec,
    requests_running: IntGaugeVec,
    requests_refused_total: IntCounterVec,
    /// Changed by whoever holds the room.
    pub request_bodies_bytes: IntGauge,
    connections_cut_total: IntCounterVec,
}

/// One that is counted, until it is dropped.
pub struct Counted(IntGauge);

impl Counted {
    fn in_gauge(gauge: IntGauge) -> Self {
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
    pub(super) fn new(builder: &mut Builder) -> Result<Self, Error> {
        Ok(Self {
            requests_waiting: builder.gauges(
                "requests_waiting",
                "Requests that wait for their turn. `work` is `read`, `chat`, `write`, `language_model` (chats that are ready, before the language \
                 model is asked) or `models` (the first list of its models).",
                &["work"],
            )?,
            requests_running: builder.gauges(
                "requests_running",
                "Requests that have their turn. A chat has that of `chat` until the language model is asked, then that of `language_model` until its \
                 answer has ended.",
                &["work"],
            )?,
            requests_refused_total: builder.counters(
                "requests_refused_total",
                "Requests that were refused because the server is busy. `reason` is `queue_full`, `bodies_full`, `waited_too_long` or \
                 `late`: begun, and not done in time.",
                &["work", "reason"],
            )?,
            request_bodies_bytes: builder.gauge(
                "request_bodies_bytes",
                "What of the bodies of requests counts to `limits.maxBodiesBytes`: of each what is over 64 KiB.",
            )?,
            connections_cut_total: builder.counters(
                "connections_cut_total",
                "Connections that were closed because the client took nothing of what was sent to it.",
                &[],
            )?,
        })
    }

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
