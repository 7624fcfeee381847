use ragengine_metrics::metrics;

metrics! {
    /// Connections by listener.
    pub struct ConnectionMetrics: "connections_" {
        /// Open connections. `listener` is the setting of its address: `listen` or `adminListen`.
        open: Gauges["listener"],
        /// Connections that the server closed. `reason` is `room` (the longest idle connection, closed for a new one at
        /// `limits.maxConnections`), `no_request` (no request head within 10 seconds), `per_address` (the address has
        /// reached `limits.maxConnectionsPerAddress`) or `handshake` (TLS was not agreed on).
        closed_total: Counters["listener", "reason"],
    }
}

/// Why the server closed a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// It was the longest idle connection when a new one needed a place.
    ForRoom,
    /// The first request did not arrive in time.
    NoRequest,
    /// The address had reached its limit.
    PerAddress,
    /// TLS was not agreed on.
    Handshake,
}

impl Closed {
    fn label(self) -> &'static str {
        match self {
            Self::ForRoom => "room",
            Self::NoRequest => "no_request",
            Self::PerAddress => "per_address",
            Self::Handshake => "handshake",
        }
    }
}

/// The connections of one listener.
pub struct ListenerMetrics {
    metrics: ConnectionMetrics,
    listener: &'static str,
}

impl ConnectionMetrics {
    /// Returns the metrics of one listener.
    pub fn of(&self, listener: &'static str) -> ListenerMetrics {
        ListenerMetrics { metrics: self.clone(), listener }
    }
}

impl ListenerMetrics {
    /// Counts an open connection.
    pub fn opened(&self) {
        self.metrics.open.with_label_values(&[self.listener]).inc();
    }

    /// Counts the end of a connection.
    pub fn ended(&self) {
        self.metrics.open.with_label_values(&[self.listener]).dec();
    }

    /// Counts a connection that the server closes.
    pub fn closed(&self, why: Closed) {
        self.metrics.closed_total.with_label_values(&[self.listener, why.label()]).inc();
    }
}
