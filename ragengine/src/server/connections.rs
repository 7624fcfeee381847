//! The connections of a listener. At the limit, new connections replace idle ones.

mod order;
mod place;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use order::{NoPlace, Order};
use parking_lot::Mutex;
pub use place::{Occupant, Place};
use tokio::sync::Notify;
use tracing::{debug, warn};

use super::Bounds;
use crate::telemetry::metrics::{Closed, ListenerMetrics};

/// Least time between two log lines about refused addresses.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// The connections of one listener.
pub struct Connections {
    order: Mutex<Order<Arc<Notify>>>,
    /// Notified when a connection ends or changes its phase.
    changed: Notify,
    last_logged: Mutex<Option<Instant>>,
    metrics: ListenerMetrics,
}

impl Connections {
    pub fn new(bounds: &Bounds, metrics: ListenerMetrics) -> Arc<Self> {
        Arc::new(Self {
            order: Mutex::new(Order::new(bounds.max_connections, bounds.max_connections_per_address)),
            changed: Notify::new(),
            last_logged: Mutex::default(),
            metrics,
        })
    }

    /// Waits for a place for a new connection. At the limit, the longest idle connection is closed; if all are busy,
    /// the first one that becomes idle. `None` if the address has reached its limit.
    pub async fn place(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let close = Arc::new(Notify::new());
        loop {
            match self.order.lock().open(address, Instant::now(), Arc::clone(&close)) {
                Ok(id) => return Some(Place::new(Arc::clone(self), id, close)),
                Err(NoPlace::OfThisAddress) => {
                    self.refused(address);
                    return None;
                }
                Err(NoPlace::AtAll) => {}
            }
            let longest_idle = self.order.lock().make_room();
            self.close_for_room(longest_idle);
            self.changed.notified().await;
        }
    }

    /// Closes the longest idle connection, if one is idle.
    pub fn close_longest_idle(&self) {
        let longest_idle = self.order.lock().close_longest_idle();
        self.close_for_room(longest_idle);
    }

    fn close_for_room(&self, connection: Option<Arc<Notify>>) {
        if let Some(close) = connection {
            self.metrics.closed(Closed::ForRoom);
            close.notify_one();
        }
    }

    /// Closes all connections, busy ones after their request, and waits until all have ended.
    pub async fn close_all(&self) {
        self.order.lock().handles().for_each(|close| close.notify_one());
        while !self.order.lock().is_empty() {
            self.changed.notified().await;
        }
    }

    fn refused(&self, address: IpAddr) {
        self.metrics.closed(Closed::PerAddress);
        let (mut last_logged, now) = (self.last_logged.lock(), Instant::now());
        if last_logged.is_some_and(|logged| now.duration_since(logged) < LOG_INTERVAL) {
            debug!(%address, "connection closed: limits.maxConnectionsPerAddress");
            return;
        }
        *last_logged = Some(now);
        warn!(
            %address,
            "connection closed: its address has reached limits.maxConnectionsPerAddress. This is logged at most once a \
             minute; ragengine_connections_closed_total counts all of them"
        );
    }

    /// Changes the order, and wakes the task that waits for a place or for the end.
    fn change(&self, change: impl FnOnce(&mut Order<Arc<Notify>>)) {
        change(&mut self.order.lock());
        self.changed.notify_one();
    }
}
