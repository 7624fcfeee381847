//! Sessions: the turns of chats. A session expires when it was not used for a while. It has at most 10,000 turns, of
//! which the oldest go.
//!
//! A turn takes its number when its question arrives ([`SessionStore::join`]), and is added when its answer is there
//! ([`SessionStore::add`]). So turns are in the order of their questions, in whatever order their answers are ready.
//!
//! The numbers of a session begin with the time in microseconds. So those of a session that has expired do not come
//! again, and an answer that took longer than that replaces no turn of the next session.

mod memory;
mod postgres;
mod redis;
mod types;

use std::sync::Arc;
use std::time::Duration;

use self::memory::MemorySessions;
use self::postgres::PostgresSessions;
use self::redis::RedisSessions;
pub use self::types::{Joined, Newest, SessionKey, Turn};
use crate::clock::now_ms;
use crate::expiry::Lifetime;
use crate::operation::Operations;
use crate::redis::Redis;
use crate::{Postgres, StoreError, StoreMetrics};

/// Turns of each session at most. If there are more, the oldest go.
const MAX_TURNS: usize = 10_000;

/// Numbers that are left out after the turn with which an expired session begins again, because other questions may have
/// taken them before.
const TAKEN: u64 = 1_000;

/// Keeps sessions. Each method returns an error of [`StoreError`] when the backend fails, and after
/// [`OPERATION_TIMEOUT`](crate::OPERATION_TIMEOUT).
pub struct SessionStore {
    backend: Backend,
    operations: Operations,
    /// The lifetime of a session after its last use, in milliseconds.
    expiry_ms: i64,
}

enum Backend {
    Memory(MemorySessions),
    Redis(RedisSessions),
    Postgres(PostgresSessions),
}

/// Calls a method of the backend as one operation.
macro_rules! run {
    ($self:ident.$method:ident($($argument:expr),*)) => {
        $self.operations.run(async {
            match &$self.backend {
                Backend::Memory(backend) => Ok(backend.$method($($argument),*)),
                Backend::Redis(backend) => backend.$method($($argument),*).await,
                Backend::Postgres(backend) => backend.$method($($argument),*).await,
            }
        }).await
    };
}

impl SessionStore {
    /// A store in the memory of this process. A session has at most 8 MiB. If there are more than 10,000 sessions or
    /// 128 MiB, the least recently used sessions go. `expiry` is the lifetime of a session after its last use.
    pub fn memory(expiry: Duration, metrics: StoreMetrics) -> Self {
        Self::new(Backend::Memory(MemorySessions::default()), expiry, metrics)
    }

    /// A store in Redis, which several servers may share.
    pub fn redis(redis: Arc<Redis>, expiry: Duration, metrics: StoreMetrics) -> Self {
        Self::new(Backend::Redis(RedisSessions::new(redis)), expiry, metrics)
    }

    /// A store in a database, which several servers may share.
    pub fn postgres(postgres: Arc<Postgres>, expiry: Duration, metrics: StoreMetrics) -> Self {
        Self::new(Backend::Postgres(PostgresSessions::new(postgres)), expiry, metrics)
    }

    fn new(backend: Backend, expiry: Duration, metrics: StoreMetrics) -> Self {
        let expiry_ms = Lifetime::clamped_ms(expiry);
        Self { backend, operations: Operations::new(metrics, "sessions"), expiry_ms }
    }

    /// Takes the next number of the session, which begins with it if it is unknown or has expired, and reads its newest
    /// turns. Questions and answers count for the limit on bytes. The session is used.
    ///
    /// # Errors
    ///
    /// Those of the store. A number that was taken then stays unused.
    pub async fn join(&self, key: &SessionKey, newest: Newest) -> Result<Joined, StoreError> {
        run!(self.join(key, newest, self.lifetime()))
    }

    /// Adds a turn under the number of its join. A turn that is there under this number is replaced. Returns whether it
    /// is kept: false if the session was cleared since the join. A session that has expired since the join begins again
    /// with this turn. The session is used.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn add(&self, key: &SessionKey, turn: Turn) -> Result<bool, StoreError> {
        run!(self.add(key, turn, self.lifetime()))
    }

    /// The newest turns of the session with their sources, by number. A session that is unknown or has expired has
    /// none. All texts count for the limit on bytes.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn history(&self, key: &SessionKey, newest: Newest) -> Result<Vec<Turn>, StoreError> {
        run!(self.history(key, newest, now_ms()))
    }

    /// Deletes all turns of the session, also those that were joined and are not added yet. A session that is unknown
    /// stays so.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn clear(&self, key: &SessionKey) -> Result<(), StoreError> {
        run!(self.clear(key, self.lifetime()))
    }

    /// Deletes sessions that have expired at this time (in milliseconds since 1970). Returns their number. It works in
    /// small steps, each of which is one operation. Redis does the same by itself.
    ///
    /// # Errors
    ///
    /// Those of the store. Earlier steps stay done.
    pub async fn sweep(&self, now_ms: i64) -> Result<u64, StoreError> {
        let mut deleted = 0;
        loop {
            let (step, is_last) = run!(self.sweep(now_ms))?;
            deleted += step;
            if is_last {
                return Ok(deleted);
            }
        }
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime { now_ms: now_ms(), expiry_ms: self.expiry_ms }
    }
}
