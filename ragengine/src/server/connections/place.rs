use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tokio::sync::Notify;

use super::order::Id;
use super::{Closed, Connections};

/// The place of a connection. It is free when this is dropped.
pub struct Place(Arc<Occupant>);

/// Who has a place: what the connection, its stream and its requests tell.
pub struct Occupant {
    connections: Arc<Connections>,
    id: Id,
    close: Arc<Notify>,
    has_begun: AtomicBool,
    /// A reply has come to its end since everything was sent. It spares the lock where nothing has changed.
    has_unsent: AtomicBool,
}

impl Place {
    pub(super) fn new(connections: Arc<Connections>, id: Id, close: Arc<Notify>) -> Self {
        connections.metrics.opened();
        let (has_begun, has_unsent) = (AtomicBool::new(false), AtomicBool::new(false));
        Self(Arc::new(Occupant { connections, id, close, has_begun, has_unsent }))
    }

    /// Who has it.
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
    /// Done when the connection is to close.
    pub async fn is_to_close(&self) {
        self.close.notified().await;
    }

    /// Whether its first request has begun.
    pub fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    /// Whether it has a request.
    pub fn is_busy(&self) -> bool {
        self.connections.order.lock().is_busy(self.id)
    }

    /// Its first request did not come in time.
    pub fn gave_no_request(&self) {
        self.connections.metrics.closed(Closed::NoRequest);
    }

    /// A request begins. It lasts until both are dropped, and what the reply says has been sent.
    pub fn begin(self: &Arc<Self>) -> (Arc<Request>, Reply) {
        self.has_begun.store(true, Ordering::Relaxed);
        self.connections.change(|order| order.begin(self.id));
        let request = Arc::new(Request(Arc::clone(self)));
        (Arc::clone(&request), Reply(request))
    }

    /// All that there was to send has been handed to the system.
    pub fn has_sent(&self) {
        if self.has_unsent.swap(false, Ordering::Relaxed) {
            self.connections.change(|order| order.has_sent(self.id, Instant::now()));
        }
    }
}

/// A request that runs.
pub struct Request(Arc<Occupant>);

impl Drop for Request {
    fn drop(&mut self) {
        let Occupant { connections, id, .. } = &*self.0;
        connections.change(|order| order.end(*id, Instant::now()));
    }
}

/// The reply to a request, until its end is known.
pub struct Reply(Arc<Request>);

impl Drop for Reply {
    fn drop(&mut self) {
        let Occupant { connections, id, has_unsent, .. } = &*self.0.0;
        connections.change(|order| order.has_to_send(*id));
        has_unsent.store(true, Ordering::Relaxed);
    }
}
