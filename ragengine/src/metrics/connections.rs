use prometheus::{Error, IntCounterVec, IntGaugeVec};

use super::registry::Builder;

/// The connections of each listener. The name of a field is the name of the metric without its prefix.
#[derive(Clone)]
pub struct ConnectionMetrics {
    connections_open: IntGaugeVec,
    connections_closed_total: IntCounterVec,
}

/// Why the server closed a connection that did it no harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// It was idle longest when there was no room for another one.
    ForRoom,
    /// Its first request did not come in time.
    NoRequest,
    /// Its address had as many as it may have.
    PerAddress,
}

impl Closed {
    fn label(self) -> &'static str {
        match self {
            Self::ForRoom => "room",
            Self::NoRequest => "no_request",
            Self::PerAddress => "per_address",
        }
    }
}

/// The connections of one listener.
pub struct ListenerMetrics {
    metrics: ConnectionMetrics,
    listener: &'static str,
}

impl ConnectionMetrics {
    pub(super) fn new(builder: &mut Builder) -> Result<Self, Error> {
        Ok(Self {
            connections_open: builder.gauges(
                "connections_open",
                "Connections that are open. `listener` is the setting that has its address: `listen` or `adminListen`.",
                &["listener"],
            )?,
            connections_closed_total: builder.counters(
                "connections_closed_total",
                "Connections that the server closed. `reason` is `room` (the one that was idle longest, for a new one, when there were \
                 limits.maxConnections), `no_request` (no head of a request within 10 seconds) or `per_address` (its address had \
                 limits.maxConnectionsPerAddress already).",
                &["listener", "reason"],
            )?,
        })
    }

    /// Those of one listener.
    pub fn of(&self, listener: &'static str) -> ListenerMetrics {
        ListenerMetrics { metrics: self.clone(), listener }
    }
}

impl ListenerMetrics {
    /// One has a place.
    pub fn opened(&self) {
        self.metrics.connections_open.with_label_values(&[self.listener]).inc();
    }

    /// One has ended.
    pub fn ended(&self) {
        self.metrics.connections_open.with_label_values(&[self.listener]).dec();
    }

    /// The server closes one.
    pub fn closed(&self, why: Closed) {
        self.metrics.connections_closed_total.with_label_values(&[self.listener, why.label()]).inc();
    }
}
