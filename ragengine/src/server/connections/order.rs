//! The connections of a listener, and the order in which they became idle.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

/// Identifies a connection of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(u64);

/// Why there is no place for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPlace {
    /// The listener has reached its limit.
    AtAll,
    /// The address has reached its limit.
    OfThisAddress,
}

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It waits for a request.
    Idle { since: Instant },
    /// It has a request.
    Busy,
    /// It was idle, and has been asked to close.
    Closing,
}

struct Connection<T> {
    network: IpAddr,
    phase: Phase,
    /// Number of running requests.
    requests: usize,
    /// Whether the end of a reply is still unsent.
    has_to_send: bool,
    /// Asks the connection to close.
    handle: T,
}

/// The connections of a listener. `T` is the handle that asks a connection to close.
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
    /// Starts without connections. `max_per_address` 0 is no limit.
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

    /// Adds a connection, which is idle until its first request.
    ///
    /// # Errors
    ///
    /// [`NoPlace`] when a limit is reached.
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

    /// Starts a request. A connection that was asked to close becomes busy, and frees its place only after the request.
    pub fn begin(&mut self, id: Id) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.requests += 1;
        self.set(id, Phase::Busy);
    }

    /// Ends a request.
    pub fn end(&mut self, id: Id, now: Instant) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.requests -= 1;
        self.idle_if_done(id, now);
    }

    /// Marks that the end of a reply is unsent.
    pub fn has_to_send(&mut self, id: Id) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.has_to_send = true;
        }
    }

    /// Marks that all data has been sent.
    pub fn has_sent(&mut self, id: Id, now: Instant) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.has_to_send = false;
        self.idle_if_done(id, now);
    }

    /// Removes a closed connection.
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

    /// Returns the handle of the longest idle connection, to close it, unless a place is free or another connection is
    /// closing.
    pub fn make_room(&mut self) -> Option<T> {
        (self.connections.len() - self.closing >= self.max).then(|| self.close_longest_idle())?
    }

    /// Returns the handle of the longest idle connection, to close it.
    pub fn close_longest_idle(&mut self) -> Option<T> {
        let (_, id) = self.idle.first().copied()?;
        self.set(id, Phase::Closing);
        self.connections.get(&id).map(|connection| connection.handle.clone())
    }

    /// The handles of all connections.
    pub fn handles(&self) -> impl Iterator<Item = &T> {
        self.connections.values().map(|connection| &connection.handle)
    }

    /// Whether the connection has a request.
    pub fn is_busy(&self, id: Id) -> bool {
        self.connections.get(&id).is_some_and(|connection| connection.phase == Phase::Busy)
    }

    /// Whether there is no connection.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Makes a connection idle if it has no running request and nothing to send.
    fn idle_if_done(&mut self, id: Id, now: Instant) {
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

/// The unit of the limit per address: an IPv4 address, or a /64 network of IPv6, which one client usually controls.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests;
