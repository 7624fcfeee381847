//! The response cache while a server is out of reach.

use std::time::{Duration, Instant};

use ragengine_stores::{LOOK_UP_TIMEOUT, LookUp, ResponseCache};

use crate::cache::{answer, key, missed, put};
use crate::cache_backends::Backend;
use crate::test_postgres::TestPostgres;
use crate::test_redis::TestRedis;

/// An outage ends within this time after the server is back. The longest wait between two attempts is 30 s.
const LIMIT: Duration = Duration::from_secs(60);

/// A busy machine may continue a look-up this late. Other operations take up to 2 s.
const BUSY: Duration = Duration::from_secs(1);

/// Looks up an answer. That does not take long.
async fn look_up(cache: &ResponseCache, question: &str) -> LookUp {
    let began = Instant::now();
    let look_up = cache.look_up(&key("docs", question)).await;
    assert!(began.elapsed() < LOOK_UP_TIMEOUT + BUSY, "{:?}", began.elapsed());
    look_up
}

/// Repeats a look-up until it gives this answer.
async fn recovered(cache: &ResponseCache, question: &str, expected: &str) {
    let until = Instant::now() + LIMIT;
    loop {
        match look_up(cache, question).await {
            LookUp::Hit(value) if *value == *expected.as_bytes() => return,
            other => assert!(Instant::now() < until, "{other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn while_redis_is_down_every_look_up_fails_fast_and_then_answers_are_there_again() {
    let mut server = TestRedis::start();
    let cache = Backend::redis(&server, "docs").await.lasting();
    put(&cache.cache, &key("docs", "why"), "So.").await;
    let epoch = missed(&cache.cache, &key("docs", "how")).await;
    server.kill();
    for question in ["why", "how", "why"] {
        assert_eq!(look_up(&cache.cache, question).await, LookUp::Failed);
    }
    assert!(cache.counted("look_ups_total", "failed") >= 3);
    assert!(cache.cache.store(&key("docs", "how"), epoch, &answer("x")).await.is_err());
    assert!(cache.cache.remove(&key("docs", "why")).await.is_err());
    assert!(cache.cache.purge("docs").await.is_err());
    server.restart();
    recovered(&cache.cache, "why", "So.").await;
    assert_eq!(cache.counted("changes_total", "stored"), 1);
}

#[tokio::test]
async fn a_redis_that_does_not_answer_fails_in_time() {
    let server = TestRedis::start();
    let cache = Backend::redis(&server, "docs").await.lasting().cache;
    put(&cache, &key("docs", "why"), "So.").await;
    server.freeze(true);
    for _ in 0..3 {
        assert_eq!(look_up(&cache, "why").await, LookUp::Failed);
    }
    server.freeze(false);
    recovered(&cache, "why", "So.").await;
}

#[tokio::test]
async fn while_postgresql_is_down_every_look_up_fails_fast_and_then_answers_are_there_again() {
    let mut server = TestPostgres::start();
    let cache = Backend::postgres(&server, "docs").await.lasting().cache;
    put(&cache, &key("docs", "why"), "So.").await;
    server.kill();
    for _ in 0..3 {
        assert_eq!(look_up(&cache, "why").await, LookUp::Failed);
    }
    server.restart();
    recovered(&cache, "why", "So.").await;
    server.freeze(true);
    for _ in 0..3 {
        assert_eq!(look_up(&cache, "why").await, LookUp::Failed);
    }
    server.freeze(false);
    recovered(&cache, "why", "So.").await;
}

#[tokio::test]
async fn without_redis_answers_come_from_postgresql() {
    let (mut redis, postgres) = (TestRedis::start(), TestPostgres::start());
    let cache = Backend::both(&redis, &postgres, "docs").await.lasting().cache;
    put(&cache, &key("docs", "why"), "So.").await;
    // It is slow first, and then known to be down.
    redis.freeze(true);
    recovered(&cache, "why", "So.").await;
    redis.freeze(false);
    redis.kill();
    recovered(&cache, "why", "So.").await;
    put(&cache, &key("docs", "how"), "Thus.").await;
    recovered(&cache, "how", "Thus.").await;
    redis.restart();
    recovered(&cache, "why", "So.").await;
    recovered(&cache, "how", "Thus.").await;
}

#[tokio::test]
async fn a_purge_and_a_removal_while_redis_is_down_hold_when_it_is_back() {
    let (mut redis, postgres) = (TestRedis::start(), TestPostgres::start());
    let backend = Backend::both(&redis, &postgres, "docs").await;
    let cache = backend.lasting().cache;
    let (purged, removed) = (key("purged", "why"), key("docs", "why"));
    for key in [&purged, &removed] {
        put(&cache, key, "So.").await;
    }
    redis.kill();
    cache.purge("purged").await.unwrap();
    assert!(cache.remove(&removed).await.unwrap());
    redis.restart();
    let until = Instant::now() + LIMIT;
    while backend.redis.as_ref().and_then(|redis| redis.problem()).is_some() {
        assert!(Instant::now() < until, "Redis is not used again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // It still has both.
    assert_eq!(redis.command(&["--raw", "KEYS", "ragengine:docs:c:*"]).lines().count(), 2);
    for key in [&purged, &removed] {
        missed(&cache, key).await;
    }
}

#[tokio::test]
async fn without_postgresql_the_epoch_is_unknown_and_a_copy_in_redis_is_not_given() {
    let (redis, mut postgres) = (TestRedis::start(), TestPostgres::start());
    let cache = Backend::both(&redis, &postgres, "docs").await.lasting().cache;
    put(&cache, &key("docs", "why"), "So.").await;
    postgres.kill();
    for _ in 0..3 {
        assert_eq!(look_up(&cache, "why").await, LookUp::Failed);
    }
    postgres.restart();
    recovered(&cache, "why", "So.").await;
    redis.command(&["FLUSHALL"]);
    recovered(&cache, "why", "So.").await;
}
