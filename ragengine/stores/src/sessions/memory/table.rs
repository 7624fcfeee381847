use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::super::{Lifetime, SessionKey, Turn};
use super::limits::Limits;
use super::session::Session;

/// All sessions, and the order of their last uses.
#[derive(Debug, Default)]
pub(super) struct Table {
    sessions: HashMap<Arc<SessionKey>, Session>,
    /// The least recently used session first. As all have the same lifetime, it also expires first.
    by_use: BTreeMap<u64, Arc<SessionKey>>,
    /// The next place in the order.
    next_use: u64,
    /// The bytes of all sessions.
    bytes: usize,
}

impl Table {
    /// A session that has not expired.
    pub fn known(&self, key: &SessionKey, now_ms: i64) -> Option<&Session> {
        self.sessions.get(key).filter(|session| session.expires_at_ms > now_ms)
    }

    /// The session, as the one that was used last. It begins if it is unknown or has expired.
    pub fn used(&mut self, key: &SessionKey, lifetime: Lifetime) -> &mut Session {
        let (used, expires_at_ms) = (self.next_use, lifetime.expires_at_ms());
        self.next_use += 1;
        if self.known(key, lifetime.now_ms).is_none() {
            self.remove(key);
        }
        let key = match self.sessions.get(key).and_then(|session| self.by_use.remove(&session.used)) {
            Some(key) => key,
            None => Arc::new(key.clone()),
        };
        self.by_use.insert(used, Arc::clone(&key));
        let bytes = &mut self.bytes;
        let session = self.sessions.entry(key).or_insert_with_key(|key| {
            let session = Session::new(expires_at_ms, used);
            *bytes += session.bytes(key);
            session
        });
        (session.used, session.expires_at_ms) = (used, expires_at_ms);
        session
    }

    /// Adds a turn to a session that is there.
    pub fn add(&mut self, key: &SessionKey, turn: Turn, limits: Limits) {
        self.change(key, |session| session.add(turn, limits));
    }

    /// Clears a session that has not expired.
    pub fn clear(&mut self, key: &SessionKey, lifetime: Lifetime) {
        if self.known(key, lifetime.now_ms).is_some() {
            self.used(key, lifetime);
            self.change(key, Session::clear);
        }
    }

    /// Removes the least recently used sessions if there are too many.
    pub fn shrink(&mut self, limits: Limits) {
        while self.sessions.len() > limits.sessions || self.bytes > limits.bytes {
            let Some(oldest) = self.by_use.first_key_value().map(|(_, key)| Arc::clone(key)) else { return };
            self.remove(&oldest);
        }
    }

    /// Removes sessions that have expired, at most this many. Returns their number.
    pub fn sweep(&mut self, now_ms: i64, limit: usize) -> usize {
        let oldest = self.by_use.values().take(limit);
        let expired: Vec<_> = oldest.take_while(|key| self.known(key, now_ms).is_none()).cloned().collect();
        for key in &expired {
            self.remove(key);
        }
        expired.len()
    }

    fn change(&mut self, key: &SessionKey, change: impl FnOnce(&mut Session)) {
        if let Some(session) = self.sessions.get_mut(key) {
            self.bytes -= session.bytes(key);
            change(session);
            self.bytes += session.bytes(key);
        }
    }

    fn remove(&mut self, key: &SessionKey) {
        if let Some(session) = self.sessions.remove(key) {
            self.bytes -= session.bytes(key);
            self.by_use.remove(&session.used);
        }
    }

    /// The bytes of all sessions.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
