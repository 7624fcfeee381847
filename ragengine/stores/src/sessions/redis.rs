mod member;
mod scripts;

use std::sync::Arc;

use ::redis::{Cmd, cmd};
use sha2::{Digest as _, Sha256};
use tracing::warn;

use super::{Joined, Lifetime, MAX_TURNS, Newest, SessionKey, TAKEN, Turn};
use crate::StoreError;
use crate::redis::Redis;

/// The bytes of an owner's hash in keys.
const OWNER_BYTES: usize = 16;

/// More bytes are read on another thread.
const READ_AT_ONCE_BYTES: usize = 64 << 10;

/// Sessions in Redis: a hash with the latest number and the latest cleared one, a sorted set of turns, and a hash of
/// their sources, which only a history needs. Redis deletes them when they expire.
pub(super) struct RedisSessions {
    redis: Arc<Redis>,
}

impl RedisSessions {
    pub fn new(redis: Arc<Redis>) -> Self {
        Self { redis }
    }

    pub async fn join(&self, key: &SessionKey, newest: Newest, lifetime: Lifetime) -> Result<Joined, StoreError> {
        let mut join = self.script(scripts::JOIN, key);
        join.arg(lifetime.expiry_ms).arg(newest.turns).arg(newest.bytes).arg(lifetime.first_number());
        let (seq, is_new, members): (u64, bool, Vec<Vec<u8>>) = self.redis.run(&join).await?;
        let members = members.into_iter().map(|line| (line, None)).collect();
        Ok(Joined { seq, turns: read(members).await?, is_new })
    }

    pub async fn add(&self, key: &SessionKey, turn: Turn, lifetime: Lifetime) -> Result<bool, StoreError> {
        let mut add = self.script(scripts::ADD, key);
        let latest = turn.seq.saturating_add(TAKEN);
        add.arg(lifetime.expiry_ms)
            .arg(turn.seq)
            .arg(member::encode(&turn)?)
            .arg(turn.sources)
            .arg(MAX_TURNS)
            .arg(latest);
        self.redis.run(&add).await
    }

    pub async fn history(&self, key: &SessionKey, newest: Newest, _now_ms: i64) -> Result<Vec<Turn>, StoreError> {
        let mut history = self.script(scripts::HISTORY, key);
        history.arg(newest.turns).arg(newest.bytes);
        read(self.redis.run(&history).await?).await
    }

    pub async fn clear(&self, key: &SessionKey, lifetime: Lifetime) -> Result<(), StoreError> {
        let mut clear = self.script(scripts::CLEAR, key);
        clear.arg(lifetime.expiry_ms);
        self.redis.run(&clear).await
    }

    /// Redis deletes expired sessions by itself.
    #[expect(clippy::unused_async, reason = "the backends have the same methods")]
    pub async fn sweep(&self, _now_ms: i64) -> Result<(u64, bool), StoreError> {
        Ok((0, true))
    }

    /// A script with the keys of a session. Redis caches it by its text, so its hash would save only the transfer, and
    /// cost a second round trip after each restart.
    fn script(&self, script: &str, SessionKey { owner, id }: &SessionKey) -> Cmd {
        let owner = hex::encode(&Sha256::digest(owner)[..OWNER_BYTES]);
        // Redis Cluster keeps keys with the same text in braces on one server.
        let session = format!("{}:{{{owner}:{id}}}", self.redis.prefix());
        let mut command = cmd("EVAL");
        command.arg(script).arg(3);
        for key in ["meta", "turns", "sources"] {
            command.arg(format!("{session}:{key}"));
        }
        command
    }
}

/// A turn as Redis sends it, and its sources if they were asked for and are there.
type Sent = (Vec<u8>, Option<Vec<u8>>);

/// The turns that can be read, oldest first. Many are read on another thread.
///
/// # Errors
///
/// When the server is shutting down.
async fn read(members: Vec<Sent>) -> Result<Vec<Turn>, StoreError> {
    let bytes: usize = members.iter().map(|(line, sources)| line.len() + sources.as_ref().map_or(0, Vec::len)).sum();
    if bytes <= READ_AT_ONCE_BYTES {
        return Ok(readable(&members));
    }
    let reading = tokio::task::spawn_blocking(move || readable(&members));
    reading.await.map_err(|error| StoreError::Unavailable(error.to_string()))
}

/// The turns that can be read. The others stay where they are: a newer version may have written them.
fn readable(members: &[Sent]) -> Vec<Turn> {
    let number = members.len();
    // Members are sent the newest first.
    let turns: Vec<Turn> =
        members.iter().rev().filter_map(|(line, sources)| member::decode(line, sources.as_deref())).collect();
    let skipped = number - turns.len();
    if skipped > 0 {
        warn!(skipped, "turns of a session in Redis cannot be read: a newer version wrote them, or they are damaged");
    }
    turns
}
