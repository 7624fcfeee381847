//! Sessions of several servers with one database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use ragengine_stores::{Newest, SessionStore};

use crate::backends::{DAY_MS, now_ms};
use crate::session_backends::Backend;
use crate::sessions::{ALL, NONE, ask, history, key, turn};
use crate::test_postgres::TestPostgres;
use crate::test_redis::TestRedis;

async fn are_apart(one: &SessionStore, other: &SessionStore) {
    let session = key("ann", "s");
    let asked = ask(one, &session).await;
    assert_eq!(history(other, &session).await, NONE);
    other.clear(&session).await.unwrap();
    other.sweep(now_ms() + 2 * DAY_MS).await.unwrap();
    assert!(other.join(&session, ALL).await.unwrap().is_new);
    other.clear(&session).await.unwrap();
    assert_eq!(history(one, &session).await, [asked]);
}

#[tokio::test]
async fn engines_do_not_see_the_sessions_of_each_other() {
    let redis = TestRedis::start();
    let (one, other) = (Backend::redis(&redis, "one").await, Backend::redis(&redis, "other").await);
    are_apart(&one.lasting(), &other.lasting()).await;
    let postgres = TestPostgres::start();
    let (one, other) = (Backend::postgres(&postgres, "one").await, Backend::postgres(&postgres, "other").await);
    are_apart(&one.lasting(), &other.lasting()).await;
}

/// Eight servers use one session, and one of them clears it.
async fn is_used_at_once(stores: Vec<SessionStore>) {
    let (session, stores) = (key("ann", "s"), Arc::new(stores));
    let users = (0..8).map(|number| {
        let (session, stores) = (session.clone(), Arc::clone(&stores));
        tokio::spawn(async move {
            let store = &stores[number % stores.len()];
            let mut seqs = Vec::new();
            for round in 0..25 {
                let joined = store.join(&session, Newest { turns: 5, bytes: 1_000 }).await.unwrap();
                assert!(joined.turns.iter().all(|turn| turn.seq < joined.seq), "{joined:?}");
                store.add(&session, turn(joined.seq)).await.unwrap();
                seqs.push(joined.seq);
                if number == 0 && round % 5 == 0 {
                    store.clear(&session).await.unwrap();
                }
            }
            seqs
        })
    });
    let seqs: Vec<Vec<u64>> = join_all(users).await.into_iter().map(Result::unwrap).collect();
    let mut seqs = seqs.concat();
    seqs.sort_unstable();
    assert_eq!(seqs, (seqs[0]..seqs[0] + 200).collect::<Vec<_>>());
    let listed = history(&stores[0], &session).await;
    assert!(listed.is_sorted() && listed.last() == seqs.last(), "{listed:?}");
    stores[0].clear(&session).await.unwrap();
    assert_eq!(history(&stores[1], &session).await, NONE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_session_that_servers_use_at_the_same_time_keeps_its_order() {
    let redis = TestRedis::start();
    let (one, other) = (Backend::redis(&redis, "docs").await, Backend::redis(&redis, "docs").await);
    is_used_at_once(vec![one.lasting(), other.lasting()]).await;
    let postgres = TestPostgres::start();
    let (one, other) = (Backend::postgres(&postgres, "docs").await, Backend::postgres(&postgres, "docs").await);
    is_used_at_once(vec![one.lasting(), other.lasting()]).await;
    assert_eq!(postgres.sql("SELECT count(*) FROM ragengine_turn"), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_that_sweep_at_the_same_time_delete_each_session_once() {
    let server = TestPostgres::start();
    let store = Arc::new(Backend::postgres(&server, "docs").await.lasting());
    server.sql(
        "INSERT INTO ragengine_session SELECT 'docs', 'ann', 'old' || n, 20, 0, now(), now() FROM
        generate_series(1, 1500) n;
        INSERT INTO ragengine_turn SELECT 'docs', 'ann', 'old' || n, seq, '', '', '', 0, null, null, true, now()
        FROM generate_series(1, 1500) n, generate_series(1, 20) seq",
    );
    ask(&store, &key("ann", "new")).await;
    let sweeps = (0..4).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.sweep(now_ms()).await.unwrap() })
    });
    let swept: Vec<u64> = join_all(sweeps).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(swept.iter().sum::<u64>(), 1500, "{swept:?}");
    assert_eq!(server.sql("SELECT count(*) FROM ragengine_turn"), "1");
}

#[tokio::test]
async fn sessions_in_postgresql_outlive_a_restart_and_a_killed_server() {
    let mut server = TestPostgres::start();
    let store = Backend::postgres(&server, "docs").await.lasting();
    let session = key("ann", "s");
    let first = ask(&store, &session).await;
    server.restart();
    let until = Instant::now() + Duration::from_secs(60);
    while let Err(error) = store.history(&session, ALL).await {
        assert_eq!(error.kind(), "unavailable", "{error}");
        assert!(Instant::now() < until, "{error}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(history(&store, &session).await, [first]);
    assert_eq!(ask(&store, &session).await, first + 1);
}
