//! The connections of one listener, and who has to go when there are as many as there may be.

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

/// How often it is said that connections of an address are closed: whoever opens too many opens many.
const SAY_AGAIN: Duration = Duration::from_secs(60);

/// The connections of one listener.
pub struct Connections {
    order: Mutex<Order<Arc<Notify>>>,
    /// One has ended, or does something else than before.
    changed: Notify,
    last_said: Mutex<Option<Instant>>,
    metrics: ListenerMetrics,
}

impl Connections {
    pub fn new(bounds: &Bounds, metrics: ListenerMetrics) -> Arc<Self> {
        Arc::new(Self {
            order: Mutex::new(Order::new(bounds.max_connections, bounds.max_connections_per_address)),
            changed: Notify::new(),
            last_said: Mutex::default(),
            metrics,
        })
    }

    /// A place for a new connection, as soon as there is one: when all are taken, the longest idle connection is closed for it, and when
    /// none is idle, the first that becomes so. None when the address has as many as it may have.
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

    /// Closes the connection that has waited longest for a request, if one does.
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

    /// Closes all of them, each when its request is done. Done when the last one has ended.
    pub async fn close_all(&self) {
        self.order.lock().handles().for_each(|close| close.notify_one());
        while !self.order.lock().is_empty() {
            self.changed.notified().await;
        }
    }

    fn refused(&self, address: IpAddr) {
        self.metrics.closed(Closed::PerAddress);
        let (mut last_said, now) = (self.last_said.lock(), Instant::now());
        if last_said.is_some_and(|said| now.duration_since(said) < SAY_AGAIN) {
            debug!(%address, "connection closed: limits.maxConnectionsPerAddress");
            return;
        }
        *last_said = Some(now);
        warn!(
            %address,
            "connections of this address are closed: it has as many as limits.maxConnectionsPerAddress allows. This is said once a \
             minute at most, and ragengine_connections_closed_total counts them"
        );
    }

    /// Does something with the order, and wakes whoever waits for a place or the end.
    fn change(&self, change: impl FnOnce(&mut Order<Arc<Notify>>)) {
        change(&mut self.order.lock());
        self.changed.notify_one();
    }
}
