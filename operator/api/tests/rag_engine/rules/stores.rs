//! The rules of the stores and of the servers that they use.

use super::Rule;

pub const RULES: &[Rule] = &[
    ("postgres.accessSecret needs postgres.url", "postgres: {}", "postgres: {accessSecret: s}"),
    (
        "postgres.url must be",
        "postgres: {url: 'postgres://rag@postgres.db.svc/rag', accessSecret: s}",
        "postgres: {url: 'postgres://rag:password@postgres.db.svc/rag', accessSecret: s}",
    ),
    (
        "postgres.url must be",
        "postgres: {url: 'postgresql://ann%40x@db:5432/rag?sslmode=verify-full&sslrootcert=/ca/ca.crt'}",
        "postgres: {url: 'postgres://rag@db/rag?sslmode=disable&password=secret'}",
    ),
    ("postgres.url must be", "postgres: {url: 'postgres://[::1]:5432'}", "postgres: {url: 'http://rag@db/rag'}"),
    (
        "postgres.url must be",
        "postgres: {url: 'postgres://db/rag?'}",
        "postgres: {url: 'postgres://rag@db/rag?host=evil'}",
    ),
    ("postgres.url must be", "postgres: {url: 'postgres://db'}", "postgres: {url: 'postgres://db,evil/rag'}"),
    (
        "postgres.url must be",
        "postgres: {url: 'postgres://db/'}",
        "postgres: {url: 'postgres://rag@db/rag?sslmode=on'}",
    ),
    (
        "feedback.store: postgres needs postgres.url",
        "{feedback: {store: postgres}, postgres: {url: 'postgres://db/rag'}}",
        "feedback: {store: postgres}",
    ),
    (
        "feedback.store: postgres needs postgres.url",
        "feedback: {store: redb}",
        "{feedback: {store: postgres}, postgres: {}}",
    ),
    (
        "interactions.store: postgres needs postgres.url",
        "{interactions: {store: postgres}, postgres: {url: 'postgres://db/rag'}}",
        "interactions: {enabled: false, store: postgres}",
    ),
    (
        "interactions.store: postgres needs postgres.url",
        "interactions: {}",
        "{interactions: {store: postgres}, postgres: {}}",
    ),
    ("redis.accessSecret needs redis.url", "redis: {}", "redis: {accessSecret: s}"),
    (
        "redis.accessSecret needs redis.url",
        "redis: {url: 'redis://redis.cache.svc:6379', accessSecret: s}",
        "{redis: {accessSecret: s}, postgres: {url: 'postgres://db/rag'}}",
    ),
    (
        "redis.url must be",
        "redis: {url: 'rediss://rag@redis.cache.svc:6379/1', accessSecret: s}",
        "redis: {url: 'redis://rag:password@redis.cache.svc:6379', accessSecret: s}",
    ),
    ("redis.url must be", "redis: {url: 'redis://cache'}", "redis: {url: 'redis://:password@cache'}"),
    ("redis.url must be", "redis: {url: 'redis://ann%40x@cache/0'}", "redis: {url: 'redis://user:@cache'}"),
    ("redis.url must be", "redis: {url: 'redis://cache/'}", "redis: {url: 'http://cache:6379'}"),
    ("redis.url must be", "redis: {url: 'rediss://[::1]:6379'}", "redis: {url: 'rediss://cache:6379/#insecure'}"),
    ("redis.url must be", "redis: {url: 'redis://10.0.0.1:7000'}", "redis: {url: 'redis://cache/rag'}"),
    ("redis.url must be", "redis: {url: 'redis://my_cache-1.svc'}", "redis: {url: 'redis://cache,evil:6379'}"),
    ("redis.url must be", "redis: {url: 'redis://rag@cache'}", "redis: {url: 'redis://cache?password=p'}"),
    ("redis.url must be", "redis: {url: 'redis://cache/15'}", "redis: {url: 'redis://'}"),
    (
        "sessions.store: redis needs redis.url",
        "{sessions: {store: redis}, redis: {url: 'redis://cache'}}",
        "sessions: {store: redis}",
    ),
    (
        "sessions.store: redis needs redis.url",
        "sessions: {store: memory}",
        "{sessions: {store: redis}, redis: {}, postgres: {url: 'postgres://db/rag'}}",
    ),
    (
        "sessions.store: postgres needs postgres.url",
        "{sessions: {store: postgres}, postgres: {url: 'postgres://db/rag'}}",
        "sessions: {store: postgres}",
    ),
    (
        "sessions.store: postgres needs postgres.url",
        "sessions: {expirySeconds: 60}",
        "{sessions: {store: postgres}, postgres: {}, redis: {url: 'redis://cache'}}",
    ),
];
