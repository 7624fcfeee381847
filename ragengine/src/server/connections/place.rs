use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tokio::sync::Notify;

use super::order::Id;
use super::{Closed, Connections};

/// The place of a connection, freed on drop.
pub struct Place(Arc<Occupant>);

/// The state that a connection shares with its stream and its requests.
pub struct Occupant {
    connections: Arc<Connections>,
    id: Id,
    close: Arc<Notify>,
    has_begun: AtomicBool,
    /// Whether a reply has ended since the last flush. Avoids the lock if nothing has changed.
    has_unsent: AtomicBool,
}

impl Place {
    pub(super) fn new(connections: Arc<Connections>, id: Id, close: Arc<Notify>) -> Self {
        connections.metrics.opened();
        let (has_begun, has_unsent) = (AtomicBool::new(false), AtomicBool::new(false));
        Self(Arc::new(Occupant { connections, id, close, has_begun, has_unsent }))
    }

    /// The state of the connection.
    pub fn occupant(&self) -> &Arc<Occupant> {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Occupant { connections, id, .. } = &*self.0;
        connections.metrics.ended();
        connections.change(|order| order.remove(*id));
    }
}

impl Occupant {
    /// Waits until the connection is asked to close.
    pub async fn close_requested(&self) {
        self.close.notified().await;
    }

    /// Whether the first request has started.
    pub fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    /// Whether a request is running.
    pub fn is_busy(&self) -> bool {
        self.connections.order.lock().is_busy(self.id)
    }

    /// Counts a connection whose first request did not arrive in time.
    pub fn sent_no_request(&self) {
        self.connections.metrics.closed(Closed::NoRequest);
    }

    /// Counts a connection whose TLS handshake failed.
    pub fn failed_handshake(&self) {
        self.connections.metrics.closed(Closed::Handshake);
    }

    /// Starts a request. It ends when both values are dropped and the reply has been sent.
    pub fn begin(self: &Arc<Self>) -> (Arc<Request>, Reply) {
        self.has_begun.store(true, Ordering::Relaxed);
        self.connections.change(|order| order.begin(self.id));
        let request = Arc::new(Request(Arc::clone(self)));
        (Arc::clone(&request), Reply(request))
    }

    /// Marks that all data has been passed to the system.
    pub fn has_sent(&self) {
        if self.has_unsent.swap(false, Ordering::Relaxed) {
            self.connections.change(|order| order.has_sent(self.id, Instant::now()));
        }
    }
}

/// A running request.
pub struct Request(Arc<Occupant>);

impl Drop for Request {
    fn drop(&mut self) {
        let Occupant { connections, id, .. } = &*self.0;
        connections.change(|order| order.end(*id, Instant::now()));
    }
}

/// The reply to a request. Dropped when its last bytes have been produced.
pub struct Reply(Arc<Request>);

impl Drop for Reply {
    fn drop(&mut self) {
        let Occupant { connections, id, has_unsent, .. } = &*self.0.0;
        connections.change(|order| order.has_to_send(*id));
        has_unsent.store(true, Ordering::Relaxed);
    }
}
