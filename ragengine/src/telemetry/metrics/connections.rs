use ragengine_metrics::metrics;

metrics! {
    /// The connections of each listener.
    pub struct ConnectionMetrics: "connections_" {
        /// Connections that are open. `listener` is the setting that has its address: `listen` or `adminListen`.
        open: Gauges["listener"],
        /// Connections that the server closed. `reason` is `room` (the one that was idle longest, for a new one, when there were
        /// limits.maxConnections), `no_request` (no head of a request within 10 seconds) or `per_address` (its address had
        /// limits.maxConnectionsPerAddress already).
        closed_total: Counters["listener", "reason"],
    }
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
    /// Those of one listener.
    pub fn of(&self, listener: &'static str) -> ListenerMetrics {
        ListenerMetrics { metrics: self.clone(), listener }
    }
}

impl ListenerMetrics {
    /// One has a place.
    pub fn opened(&self) {
        self.metrics.open.with_label_values(&[self.listener]).inc();
    }

    /// One has ended.
    pub fn ended(&self) {
        self.metrics.open.with_label_values(&[self.listener]).dec();
    }

    /// The server closes one.
    pub fn closed(&self, why: Closed) {
        self.metrics.closed_total.with_label_values(&[self.listener, why.label()]).inc();
    }
}
