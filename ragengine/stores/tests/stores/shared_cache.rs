//! The response cache of several servers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ragengine_stores::ResponseCache;

use crate::backends::{DAY_MS, now_ms};
use crate::cache::{answer, found, key, missed, put};
use crate::cache_backends::Backend;
use crate::test_postgres::TestPostgres;
use crate::test_redis::TestRedis;

async fn are_apart(one: &ResponseCache, other: &ResponseCache) {
    let ours = key("docs", "why");
    put(one, &ours, "So.").await;
    missed(other, &ours).await;
    assert!(!other.remove(&ours).await.unwrap());
    other.purge("docs").await.unwrap();
    other.forget_index("docs").await.unwrap();
    assert_eq!(other.sweep(now_ms() + 31 * DAY_MS).await.unwrap(), 0);
    put(other, &ours, "Therefore.").await;
    assert_eq!(found(one, &ours).await.as_deref(), Some("So."));
    assert_eq!(found(other, &ours).await.as_deref(), Some("Therefore."));
}

#[tokio::test]
async fn engines_do_not_see_the_answers_of_each_other() {
    let (redis, postgres) = (TestRedis::start(), TestPostgres::start());
    let caches = (Backend::redis(&redis, "a").await.lasting(), Backend::redis(&redis, "b").await.lasting());
    are_apart(&caches.0.cache, &caches.1.cache).await;
    let caches = (Backend::postgres(&postgres, "a").await.lasting(), Backend::postgres(&postgres, "b").await.lasting());
    are_apart(&caches.0.cache, &caches.1.cache).await;
    let both = async |engine| Backend::both(&redis, &postgres, engine).await.lasting();
    are_apart(&both("c").await.cache, &both("d").await.cache).await;
}

/// One server purges again and again, and others look up and store.
async fn purges_hold_at_once(caches: Vec<ResponseCache>) {
    let caches = Arc::new(caches);
    for round in 0..20 {
        let ours = key("docs", "why");
        let writer = &caches[round % 2];
        put(writer, &ours, &round.to_string()).await;
        for cache in caches.iter() {
            assert_eq!(found(cache, &ours).await, Some(round.to_string()));
        }
        // Others store what they looked up before, while the purge is made.
        let missing = key("docs", "how");
        let epoch = missed(&caches[1], &missing).await;
        let stores = (0..8).map(|number: usize| {
            let (caches, missing) = (Arc::clone(&caches), missing.clone());
            tokio::spawn(async move { caches[number % 2].store(&missing, epoch, &answer("old")).await.unwrap() })
        });
        let stores = futures_util::future::join_all(stores);
        let (purged, stored) = tokio::join!(caches[0].purge("docs"), stores);
        purged.unwrap();
        assert!(stored.into_iter().all(|stored| stored.is_ok()));
        for cache in caches.iter() {
            missed(cache, &ours).await;
            missed(cache, &missing).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_purge_through_one_server_holds_for_the_others_at_once() {
    let (redis, postgres) = (TestRedis::start(), TestPostgres::start());
    let mut backends = Vec::new();
    for _ in 0..2 {
        backends.push([
            Backend::redis(&redis, "docs").await,
            Backend::postgres(&postgres, "docs").await,
            Backend::both(&redis, &postgres, "both").await,
        ]);
    }
    for number in 0..3 {
        purges_hold_at_once(backends.iter().map(|backends| backends[number].lasting().cache).collect()).await;
    }
    // Entries that cannot be read any more are deleted.
    assert_eq!(postgres.sql("SELECT count(*) FROM ragengine_cache"), "0");
}

#[tokio::test]
async fn what_redis_lost_comes_from_postgresql_and_is_copied_for_the_rest_of_its_life() {
    let (redis, postgres) = (TestRedis::start(), TestPostgres::start());
    let backend = Backend::both(&redis, &postgres, "docs").await;
    let cache = backend.cache(Duration::from_secs(100)).cache;
    let ours = key("docs", "why");
    put(&cache, &ours, "So.").await;
    let name = redis.command(&["--raw", "KEYS", "ragengine:docs:c:docs:*"]);
    let expected = postgres.sql("SELECT 'ragengine:docs:c:docs:' || key FROM ragengine_cache");
    assert_eq!(name, expected);
    postgres.sql("UPDATE ragengine_cache SET expires_at = now() + interval '50 seconds'");
    let remaining = || redis.command(&["PTTL", &name]).parse::<i64>().unwrap();
    assert!((90_000..=100_000).contains(&remaining()), "{}", remaining());
    redis.command(&["FLUSHALL"]);
    let until = Instant::now() + Duration::from_secs(30);
    // On a busy machine, a hit does not wait for its copy.
    while remaining() < 0 {
        assert!(Instant::now() < until, "it is not copied");
        assert_eq!(found(&cache, &ours).await.as_deref(), Some("So."));
    }
    assert!((10_000..=50_000).contains(&remaining()), "{}", remaining());
    // Redis is asked first. On a busy machine, it may be late.
    postgres.sql("UPDATE ragengine_cache SET value = '\\x016e6f'");
    while found(&cache, &ours).await.as_deref() != Some("So.") {
        assert!(Instant::now() < until, "Redis is not asked");
    }
    redis.command(&["DEL", &name]);
    assert_eq!(found(&cache, &ours).await.as_deref(), Some("no"));
}

#[tokio::test]
async fn an_answer_of_a_newer_version_is_a_miss_and_is_replaced() {
    let (redis, postgres) = (TestRedis::start(), TestPostgres::start());
    let ours = key("docs", "why");
    let cache = Backend::redis(&redis, "docs").await.lasting().cache;
    put(&cache, &ours, "So.").await;
    let name = redis.command(&["--raw", "KEYS", "ragengine:docs:c:*"]);
    redis.command(&["SET", &name, "\u{2}new"]);
    put(&cache, &ours, "So.").await;
    assert_eq!(found(&cache, &ours).await.as_deref(), Some("So."));
    let cache = Backend::postgres(&postgres, "docs").await.lasting().cache;
    put(&cache, &ours, "So.").await;
    postgres.sql("UPDATE ragengine_cache SET value = '\\x026e'");
    put(&cache, &ours, "So.").await;
    assert_eq!(found(&cache, &ours).await.as_deref(), Some("So."));
    let row = "SELECT engine, index_name, confidence, expires_at - created_at, count(*) OVER () FROM ragengine_cache";
    assert_eq!(postgres.sql(row), "docs|docs|0.83|30 days|1");
}

#[tokio::test]
async fn the_epoch_of_a_lost_counter_is_a_later_one() {
    let (redis, postgres) = (TestRedis::start(), TestPostgres::start());
    let ours = key("docs", "why");
    let cache = Backend::redis(&redis, "docs").await.lasting().cache;
    put(&cache, &ours, "So.").await;
    // Redis may remove it when its memory is full.
    redis.command(&["DEL", "ragengine:docs:n:docs"]);
    missed(&cache, &ours).await;
    // A clock that was wrong does no harm.
    redis.command(&["HSET", "ragengine:docs:n:docs", "epoch", "4000000000000000"]);
    let before = missed(&cache, &ours).await;
    cache.purge("docs").await.unwrap();
    assert!(missed(&cache, &ours).await > before);
    let cache = Backend::postgres(&postgres, "docs").await.lasting().cache;
    put(&cache, &ours, "So.").await;
    postgres.sql("DELETE FROM ragengine_counter");
    missed(&cache, &ours).await;
    postgres.sql("UPDATE ragengine_counter SET epoch = 4000000000000000");
    let before = missed(&cache, &ours).await;
    cache.purge("docs").await.unwrap();
    assert!(missed(&cache, &ours).await > before);
    let counter = "SELECT epoch, changes > 1700000000000000 FROM ragengine_counter";
    assert_eq!(postgres.sql(counter), "4000000000000001|t");
}

#[tokio::test]
async fn a_removed_answer_is_not_copied_to_redis_by_a_look_up_at_the_same_time() {
    let (redis, postgres) = (TestRedis::start(), TestPostgres::start());
    let backend = Backend::both(&redis, &postgres, "docs").await;
    let cache = backend.lasting().cache;
    let ours = key("docs", "why");
    put(&cache, &ours, "So.").await;
    assert!(cache.remove(&ours).await.unwrap());
    // As if a look-up had read the row before.
    postgres.sql(
        &"INSERT INTO ragengine_cache SELECT 'docs', epoch || ':HASH', 'docs', '\\x016e6f', 1,
        now() + interval '1 day', now() FROM ragengine_counter"
            .replace("HASH", ours.to_string().split_once(':').unwrap().1),
    );
    assert_eq!(found(&cache, &ours).await.as_deref(), Some("no"));
    postgres.sql("DELETE FROM ragengine_cache");
    missed(&cache, &ours).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_that_sweep_at_the_same_time_delete_each_answer_once() {
    let server = TestPostgres::start();
    let cache = Arc::new(Backend::postgres(&server, "docs").await.lasting().cache);
    put(&cache, &key("docs", "new"), "So.").await;
    server.sql(
        "INSERT INTO ragengine_cache SELECT 'docs', '1:' || n, 'docs', '', 1, now(), now()
        FROM generate_series(1, 1500) n",
    );
    let sweeps = (0..4).map(|_| {
        let cache = Arc::clone(&cache);
        tokio::spawn(async move { cache.sweep(now_ms() + 1).await.unwrap() })
    });
    let swept = futures_util::future::join_all(sweeps).await;
    assert_eq!(swept.into_iter().map(Result::unwrap).sum::<u64>(), 1_500);
    assert_eq!(server.sql("SELECT count(*) FROM ragengine_cache"), "1");
}
