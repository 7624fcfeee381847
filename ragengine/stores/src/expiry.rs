//! When rows expire. A row expires at the end of its lifetime, and is then neither returned nor voted on.

use std::time::Duration;

use crate::clock::representable;

/// A day in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The lifetime of an answer without votes, in milliseconds.
const ANSWER_MS: i64 = 30 * DAY_MS;

/// The lifetime of an answer and its votes after the latest vote, in milliseconds.
const VOTE_MS: i64 = 365 * DAY_MS;

/// The lifetime of an interaction, in milliseconds.
const INTERACTION_MS: i64 = 90 * DAY_MS;

/// The longest lifetime: 100 years. Every backend can add it to the time now.
const MAX_EXPIRY_MS: i64 = 100 * 365 * DAY_MS;

/// The rows per transaction of a sweep, so that other writers do not wait for long.
pub(crate) const SWEEP_ROWS: usize = 500;

/// Rows created at or before these times have expired. In milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cutoffs {
    /// Answers without votes.
    pub answer_ms: i64,
    /// Latest votes.
    pub vote_ms: i64,
    /// Interactions.
    pub interaction_ms: i64,
}

impl Cutoffs {
    /// The cutoffs at a time.
    pub fn at(now_ms: i64) -> Self {
        let before = |lifetime_ms| representable(now_ms.saturating_sub(lifetime_ms));
        Self { answer_ms: before(ANSWER_MS), vote_ms: before(VOTE_MS), interaction_ms: before(INTERACTION_MS) }
    }
}

/// When an answer expires, in milliseconds since 1970.
pub(crate) fn of_answer_ms(created_at_ms: i64, latest_vote_ms: Option<i64>) -> i64 {
    match latest_vote_ms {
        Some(voted_at_ms) => voted_at_ms.saturating_add(VOTE_MS),
        None => created_at_ms.saturating_add(ANSWER_MS),
    }
}

/// The time of a use, and how long what is used lives after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lifetime {
    /// In milliseconds since 1970.
    pub now_ms: i64,
    /// In milliseconds.
    pub expiry_ms: i64,
}

impl Lifetime {
    /// A lifetime that every backend accepts, in milliseconds. Redis does not accept zero.
    pub fn clamped_ms(expiry: Duration) -> i64 {
        i64::try_from(expiry.as_millis()).map_or(MAX_EXPIRY_MS, |ms| ms.clamp(1, MAX_EXPIRY_MS))
    }

    /// When it ends, in milliseconds since 1970.
    pub fn expires_at_ms(self) -> i64 {
        representable(self.now_ms.saturating_add(self.expiry_ms))
    }

    /// The first number of a session that begins now: the time in microseconds. Every use raises the number by one, so
    /// that it is higher than all of an earlier session with the same key.
    pub fn first_number(self) -> u64 {
        representable(self.now_ms).unsigned_abs().saturating_mul(1_000).max(1)
    }
}
