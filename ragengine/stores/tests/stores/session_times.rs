//! How long the operations of a chat take, with many sessions. `cargo test -- --ignored --nocapture` prints it.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use ragengine_stores::{Newest, SessionStore, Turn};

use crate::session_backends::Backend;
use crate::sessions::{key, turn};
use crate::test_postgres::TestPostgres;
use crate::test_redis::TestRedis;

/// The median times of joining and of adding, in milliseconds, with 10,000 sessions of five turns.
async fn medians(store: &SessionStore) -> (f64, f64) {
    let (question, answer, sources) = ("q".repeat(100), "a".repeat(1_500), "s".repeat(4_000));
    let turn = |seq| Turn { question: question.clone(), answer: answer.clone(), sources: sources.clone(), ..turn(seq) };
    let keys: Vec<_> = (0..10_000).map(|number| key(&format!("user:{}", number % 500), &number.to_string())).collect();
    for some in keys.chunks(20) {
        join_all(some.iter().map(async |key| {
            for seq in 1..=5 {
                store.add(key, turn(seq)).await.unwrap();
            }
        }))
        .await;
    }
    let (mut joins, mut adds) = (Vec::new(), Vec::new());
    for key in keys.iter().step_by(10) {
        let began = Instant::now();
        let joined = store.join(key, Newest { turns: 50, bytes: 100_000 }).await.unwrap();
        joins.push(began.elapsed());
        assert_eq!(joined.turns.len(), 5);
        let began = Instant::now();
        store.add(key, turn(joined.seq)).await.unwrap();
        adds.push(began.elapsed());
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1_000.0
    };
    (median(&mut joins), median(&mut adds))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it measures"]
async fn the_times_of_joining_and_adding() {
    let redis = TestRedis::start();
    eprintln!("Redis: {:.2?} ms", medians(&Backend::redis(&redis, "docs").await.lasting()).await);
    let postgres = TestPostgres::start();
    eprintln!("PostgreSQL: {:.2?} ms", medians(&Backend::postgres(&postgres, "docs").await.lasting()).await);
}
