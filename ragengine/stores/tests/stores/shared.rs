//! Several servers with one database.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::test_postgres::TestPostgres;
use ragengine_stores::{Interaction, Postgres, Rating, VoteQuery};

use crate::backends::{Stores, now_ms};
use crate::feedback::{answer, vote};

fn interaction(id: &str) -> Interaction {
    Interaction {
        owner: "ann".to_owned(),
        id: id.to_owned(),
        index_name: "docs".to_owned(),
        fingerprint: "minilm".to_owned(),
        vector: vec![1.0],
        user_input: String::new(),
        ai_response: String::new(),
        ai_provider: "p".to_owned(),
        task_category: "general".to_owned(),
        node_ids: Vec::new(),
        created_at_ms: now_ms(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_that_start_at_the_same_time_migrate_once() {
    let server = Arc::new(TestPostgres::start());
    let opened = (0..4).map(|number| {
        let options = server.options(&number.to_string());
        tokio::spawn(async move { Postgres::open(&options).await.unwrap().problem() })
    });
    for problem in futures_util::future::join_all(opened).await {
        assert_eq!(problem.unwrap(), None);
    }
    assert_eq!(server.sql("SELECT count(*) FROM ragengine_migration WHERE success"), "5");
}

#[tokio::test]
async fn engines_do_not_see_each_other() {
    let server = TestPostgres::start();
    let (one, other) = (Stores::postgres(&server, "one").await, Stores::postgres(&server, "other").await);
    one.feedback.record_answer(answer("a", &["x"], 0)).await.unwrap();
    one.feedback.vote("ann", vote("a", "bob", Rating::Up, 0)).await.unwrap();
    one.interactions.keep(interaction("a")).await.unwrap();
    let chunk = ["x".to_owned()];
    let missing = [
        other.feedback.vote("ann", vote("a", "bob", Rating::Up, 0)).await.unwrap_err(),
        other.feedback.remove_vote("ann", "a", "bob").await.unwrap_err(),
    ];
    assert!(missing.iter().all(|error| error.kind() == "not_found"), "{missing:?}");
    assert_eq!(other.feedback.votes_on("docs", "minilm", &chunk).await.unwrap(), BTreeMap::new());
    assert_eq!(other.feedback.ratings(&["a".to_owned()]).await.unwrap(), BTreeMap::new());
    assert_eq!(other.feedback.list(VoteQuery { limit: 9, ..VoteQuery::default() }).await.unwrap().total, 0);
    assert_eq!(other.interactions.nearest("ann", "docs", "minilm", &[1.0], None, 9, 0.0).await.unwrap(), []);
    assert!(other.interactions.ids_of_providers("ann", &["p".to_owned()]).await.unwrap().is_empty());
    assert_eq!(other.interactions.remove_all("ann").await.unwrap(), 0);
    let far = now_ms() * 2;
    assert_eq!((other.feedback.sweep(far).await.unwrap(), other.interactions.sweep(far).await.unwrap()), (0, 0));
    // Both may have rows with the same keys.
    other.feedback.record_answer(answer("a", &["x"], 0)).await.unwrap();
    other.interactions.keep(interaction("a")).await.unwrap();
    assert_eq!(one.feedback.votes_on("docs", "minilm", &chunk).await.unwrap()["x"].len(), 1);
    assert_eq!((one.feedback.sweep(far).await.unwrap(), one.interactions.sweep(far).await.unwrap()), (1, 1));
    other.feedback.vote("ann", vote("a", "bob", Rating::Up, 0)).await.unwrap();
    assert_eq!(other.interactions.remove_all("ann").await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_at_the_same_time_keep_the_rows_consistent() {
    let server = Arc::new(TestPostgres::start());
    let stores = Arc::new(Stores::postgres(&server, "docs").await);
    stores.feedback.record_answer(answer("a", &["x", "y"], 0)).await.unwrap();
    server.sql(
        "INSERT INTO ragengine_interaction SELECT 'docs', 'ann', 'old' || n, 'docs', 'minilm', '', '', '', 'p', '',
        '{}', now() - interval '1 day' FROM generate_series(1, 1000) n",
    );
    let writers = (0..4).map(|number| {
        let stores = Arc::clone(&stores);
        tokio::spawn(async move {
            for round in 0..8 {
                let voter = format!("voter {}", number % 3);
                stores.feedback.vote("ann", vote("a", &voter, Rating::Up, 0)).await.unwrap();
                let removed = stores.feedback.remove_vote("ann", "a", &voter).await;
                assert!(removed.is_ok() || removed.unwrap_err().kind() == "not_found");
                stores.interactions.keep(interaction(&format!("{number} {round}"))).await.unwrap();
            }
        })
    });
    for writer in futures_util::future::join_all(writers).await {
        writer.unwrap();
    }
    let count = |table: &str| server.sql(&format!("SELECT count(*) FROM ragengine_{table}"));
    // The last change of each voter is a removal, or one that found the vote removed.
    assert_eq!((count("vote"), count("voted_chunk"), count("interaction")), ("0".into(), "0".into(), "1000".into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_that_sweep_at_the_same_time_delete_each_row_once() {
    let server = Arc::new(TestPostgres::start());
    let stores = Arc::new(Stores::postgres(&server, "docs").await);
    server.sql(
        "INSERT INTO ragengine_interaction SELECT 'docs', 'ann', 'old' || n, 'docs', 'minilm', '', '', '', 'p', '',
        '{}', now() - interval '91 days' FROM generate_series(1, 1500) n;
        INSERT INTO ragengine_answer SELECT 'docs', 'old' || n, 'ann', 'docs', '', 'minilm', '', '{}', null,
        now() - interval '400 days' FROM generate_series(1, 1500) n;
        INSERT INTO ragengine_vote SELECT 'docs', 'old' || n, 'bob', 'up', null, now() - interval '366 days'
        FROM generate_series(1, 700) n",
    );
    let sweeps = (0..3).map(|_| {
        let stores = Arc::clone(&stores);
        tokio::spawn(async move {
            (stores.feedback.sweep(now_ms()).await.unwrap(), stores.interactions.sweep(now_ms()).await.unwrap())
        })
    });
    let swept: Vec<(u64, u64)> =
        futures_util::future::join_all(sweeps).await.into_iter().map(|swept| swept.unwrap()).collect();
    let sums = swept.iter().fold((0, 0), |sums, swept| (sums.0 + swept.0, sums.1 + swept.1));
    assert_eq!(sums, (1500, 1500), "{swept:?}");
}
