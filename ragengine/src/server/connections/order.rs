//! Which connections there are, and in which order they became idle.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

/// A connection, among those of its listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(u64);

/// Why there is no place for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPlace {
    /// All are taken.
    AtAll,
    /// Its address has as many as it may have.
    OfThisAddress,
}

/// Whether a connection may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It waits for a request, the first or another one.
    Idle { since: Instant },
    /// It has a request.
    Busy,
    /// It was idle, and has been told to close.
    Closing,
}

struct Connection<T> {
    network: IpAddr,
    phase: Phase,
    /// Requests that run.
    requests: usize,
    /// The end of a reply has not been sent yet.
    has_to_send: bool,
    /// By what it is told to close.
    handle: T,
}

/// The connections of a listener. `T` is by what one is told to close.
pub struct Order<T> {
    max: usize,
    max_per_address: usize,
    next: u64,
    connections: HashMap<Id, Connection<T>>,
    idle: BTreeSet<(Instant, Id)>,
    closing: usize,
    networks: HashMap<IpAddr, usize>,
}

impl<T: Clone> Order<T> {
    /// No connection yet. `max_per_address` is 0 for as many as there may be.
    pub fn new(max: usize, max_per_address: usize) -> Self {
        Self {
            max,
            max_per_address,
            next: 0,
            connections: HashMap::new(),
            idle: BTreeSet::new(),
            closing: 0,
            networks: HashMap::new(),
        }
    }

    /// A new connection, which is idle until its first request.
    ///
    /// # Errors
    ///
    /// When there is no place for it.
    pub fn open(&mut self, address: IpAddr, now: Instant, handle: T) -> Result<Id, NoPlace> {
        let network = network(address);
        let same = self.networks.get(&network).copied().unwrap_or_default();
        if self.max_per_address > 0 && same >= self.max_per_address {
            return Err(NoPlace::OfThisAddress);
        }
        if self.connections.len() >= self.max {
            return Err(NoPlace::AtAll);
        }
        let id = Id(self.next);
        self.next += 1;
        self.networks.insert(network, same + 1);
        self.idle.insert((now, id));
        let phase = Phase::Idle { since: now };
        self.connections.insert(id, Connection { network, phase, requests: 0, has_to_send: false, handle });
        Ok(id)
    }

    /// A request of it begins. One that was told to close serves it first, and its place is not free so soon.
    pub fn begin(&mut self, id: Id) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.requests += 1;
        self.set(id, Phase::Busy);
    }

    /// A request of it is done.
    pub fn end(&mut self, id: Id, now: Instant) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.requests -= 1;
        self.rest(id, now);
    }

    /// The end of a reply is still to be sent.
    pub fn has_to_send(&mut self, id: Id) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.has_to_send = true;
        }
    }

    /// All that there was to send has been sent.
    pub fn has_sent(&mut self, id: Id, now: Instant) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.has_to_send = false;
        self.rest(id, now);
    }

    /// It is closed.
    pub fn remove(&mut self, id: Id) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.leave(id, connection.phase);
        if let Some(same) = self.networks.get_mut(&connection.network) {
            *same -= 1;
            if *same == 0 {
                self.networks.remove(&connection.network);
            }
        }
    }

    /// The longest idle one, which is to close, when all places are taken and none will be free soon.
    pub fn make_room(&mut self) -> Option<T> {
        (self.connections.len() - self.closing >= self.max).then(|| self.close_longest_idle())?
    }

    /// The longest idle one, which is to close.
    pub fn close_longest_idle(&mut self) -> Option<T> {
        let (_, id) = self.idle.first().copied()?;
        self.set(id, Phase::Closing);
        self.connections.get(&id).map(|connection| connection.handle.clone())
    }

    /// By what all of them are told to close.
    pub fn handles(&self) -> impl Iterator<Item = &T> {
        self.connections.values().map(|connection| &connection.handle)
    }

    /// Whether it has a request.
    pub fn is_busy(&self, id: Id) -> bool {
        self.connections.get(&id).is_some_and(|connection| connection.phase == Phase::Busy)
    }

    /// Whether there is no connection.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// It is idle from now on, when it has nothing to do any more.
    fn rest(&mut self, id: Id, now: Instant) {
        let Some(connection) = self.connections.get(&id) else { return };
        if connection.phase == Phase::Busy && connection.requests == 0 && !connection.has_to_send {
            self.set(id, Phase::Idle { since: now });
        }
    }

    fn set(&mut self, id: Id, phase: Phase) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let before = std::mem::replace(&mut connection.phase, phase);
        self.leave(id, before);
        match phase {
            Phase::Idle { since } => drop(self.idle.insert((since, id))),
            Phase::Closing => self.closing += 1,
            Phase::Busy => {}
        }
    }

    fn leave(&mut self, id: Id, phase: Phase) {
        match phase {
            Phase::Idle { since } => drop(self.idle.remove(&(since, id))),
            Phase::Closing => self.closing -= 1,
            Phase::Busy => {}
        }
    }
}

/// What counts as one address: of IPv6 the first 64 bits, because whoever has one address there has all that begin so.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests;
