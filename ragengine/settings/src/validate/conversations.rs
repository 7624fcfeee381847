//! The settings of `/query` and its conversations.

use super::stores::has_no_password;
use super::{Invalid, is_short};
use crate::{SessionStore, Settings};

/// The most chunks of one question.
const MAX_TOP_K: u32 = 300;

/// One year.
const MAX_EXPIRY_SECONDS: u64 = 366 * 86_400;

/// What is wrong with `defaultIndex`, `redis`, `sessions` and `endpoints.query`.
pub(super) fn check(settings: &Settings) -> impl Iterator<Item = Invalid> {
    let (redis, sessions, query) = (&settings.redis, &settings.sessions, &settings.endpoints.query);
    let url = redis.url.as_deref();
    let is_share = |ratio: f64| (0.05..=0.8).contains(&ratio);
    let checks = [
        (settings.default_index.as_deref().is_none_or(is_short), "defaultIndex", "must be the name of an index"),
        (
            url.is_none_or(|url| url.starts_with("redis://") || url.starts_with("rediss://")),
            "redis.url",
            "must begin with redis:// or rediss://, such as redis://HOST:6379",
        ),
        (
            url.is_none_or(has_no_password),
            "redis.url",
            "must not contain a password: write its location in redis.password",
        ),
        (
            redis.password.is_none() || url.is_some(),
            "redis.password",
            "needs redis.url: write that too, or remove the password",
        ),
        (
            sessions.store != SessionStore::Redis || url.is_some(),
            "sessions.store",
            "redis needs redis.url: write the server's address there, or store: memory",
        ),
        (
            sessions.store != SessionStore::Postgres || settings.postgres.url.is_some(),
            "sessions.store",
            "postgres needs postgres.url: write the database's address there, or store: memory",
        ),
        (
            (60..=MAX_EXPIRY_SECONDS).contains(&sessions.expiry_seconds),
            "sessions.expirySeconds",
            "must be between 60 and 31622400 (a year)",
        ),
        ((0.0..=0.8).contains(&sessions.history_ratio), "sessions.historyRatio", "must be between 0 and 0.8"),
        ((1..=MAX_TOP_K).contains(&query.top_k), "endpoints.query.topK", "must be between 1 and 300"),
        (
            is_share(query.context_ratio) && is_share(query.answer_ratio),
            "endpoints.query",
            "contextRatio and answerRatio must be between 0.05 and 0.8",
        ),
    ];
    let wrong = checks.into_iter().filter(|(holds, ..)| !holds);
    wrong.map(|(_, setting, message)| Invalid { setting: setting.to_owned(), message: message.to_owned() })
}
