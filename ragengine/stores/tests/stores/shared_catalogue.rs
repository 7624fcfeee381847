//! The catalogue of several servers with one database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use ragengine_stores::{Begun, PostgresOptions, SourceSyncRow};

use crate::catalogue::{Catalogue, MANY, new};
use crate::catalogue_syncs::sync;
use crate::test_postgres::TestPostgres;

/// An outage ends within this time after the database is back. The longest wait between two attempts is 30 s.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs `work` eight times at once, on two servers, and returns the results.
async fn at_once<T, F>(servers: &[Arc<Catalogue>; 2], work: impl Fn(Arc<Catalogue>, usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let tasks = (0..8).map(|number| tokio::spawn(work(Arc::clone(&servers[number % 2]), number)));
    join_all(tasks).await.into_iter().map(Result::unwrap).collect()
}

async fn two(server: &TestPostgres, engine: &str) -> [Arc<Catalogue>; 2] {
    let options = server.options(engine);
    [Arc::new(Catalogue::open(&options).await), Arc::new(Catalogue::open(&options).await)]
}

#[tokio::test]
async fn engines_do_not_see_the_indexes_of_each_other() {
    let server = TestPostgres::start();
    let one = Catalogue::open(&server.options("one")).await;
    let other = Catalogue::open(&server.options("other")).await;
    let index = one.made("docs").await;
    let row = sync("git", "{}", 1, None);
    one.store.update_sync(index.number, "git", |_| Ok::<_, ()>(row.clone())).await.unwrap().unwrap();
    let store = &other.store;
    assert_eq!((store.all().await.unwrap(), store.get("docs").await.unwrap()), (Vec::new(), None));
    assert_eq!((store.syncs(index.number).await.unwrap(), store.all_syncs().await.unwrap()), (Vec::new(), Vec::new()));
    assert!(!store.finish(index.number).await.unwrap());
    assert!(!store.begin_change(index.number).await.unwrap());
    assert_eq!(store.begin_deletion("docs").await.unwrap(), None);
    let gone = store.update_sync(index.number, "git", |_| Ok::<_, ()>(row.clone())).await.unwrap_err();
    assert_eq!(gone.kind(), "not_found");
    store.forget_sync(index.number, "git").await.unwrap();
    assert!(matches!(store.begin(new("docs"), 1).await.unwrap(), Begun::Made(_)));
    one.store.begin_deletion("docs").await.unwrap().unwrap();
    assert_eq!(store.being_deleted().await.unwrap(), []);
    store.finish_deletion(index.number).await.unwrap();
    assert_eq!(one.store.syncs(index.number).await.unwrap(), [row]);
    assert!(one.store.take_turn("sweep", "a", 1_000, 0).await.unwrap());
    assert!(store.take_turn("sweep", "b", 1_000, 0).await.unwrap());
    assert_ne!(one.store.data_id().await.unwrap(), store.data_id().await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_at_the_same_time_make_an_index_once_and_not_too_many() {
    let server = TestPostgres::start();
    let servers = two(&server, "docs").await;
    let begun = at_once(&servers, |server, _| async move { server.store.begin(new("docs"), 1).await.unwrap() }).await;
    assert!(matches!(begun[0], Begun::Made(_)) && begun.iter().all(|other| *other == begun[0]), "{begun:?}");
    let named =
        |server: Arc<Catalogue>, number| async move { server.store.begin(new(&format!("{number}")), 4).await.unwrap() };
    let begun = at_once(&servers, named).await;
    let made = begun.iter().filter(|begun| matches!(begun, Begun::Made(_))).count();
    let too_many = begun.iter().filter(|begun| **begun == Begun::TooMany).count();
    assert_eq!((made, too_many), (3, 5), "{begun:?}");
    // Creations and deletions meet: each index is deleted once.
    let deleted = at_once(&servers, |server, _| async move {
        let mut deleted = Vec::new();
        for _ in 0..10 {
            match server.store.begin(new("docs"), MANY).await.unwrap() {
                Begun::TooMany => panic!("too many"),
                Begun::Made(index) | Begun::There(index) => drop(server.store.finish(index.number).await.unwrap()),
            }
            deleted.extend(server.store.begin_deletion("docs").await.unwrap().map(|index| index.number));
        }
        deleted
    });
    let mut deleted = deleted.await.concat();
    deleted.sort_unstable();
    let listed: Vec<_> = servers[0].store.being_deleted().await.unwrap().iter().map(|index| index.number).collect();
    assert_eq!(deleted, listed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_at_the_same_time_agree_on_the_datas_id_and_count_every_change() {
    let server = TestPostgres::start();
    let servers = two(&server, "docs").await;
    let ids = at_once(&servers, |server, _| async move { server.store.data_id().await.unwrap() }).await;
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!((ids[0].len(), &ids[0][14..15]), (36, "4"), "{}", ids[0]);
    let index = servers[0].made("docs").await;
    let number = index.number;
    let changed = at_once(&servers, move |server, _| async move {
        for _ in 0..25 {
            assert!(server.store.begin_change(number).await.unwrap() && server.store.end_change(number).await.unwrap());
        }
    });
    changed.await;
    let after = servers[0].store.get("docs").await.unwrap().unwrap();
    assert!(!after.is_changing && after.changes >= index.changes + 400, "{after:?}");
}

/// Leases a source, unless another one has it.
fn lease(found: Option<SourceSyncRow>, holder: usize, now_ms: i64) -> Result<SourceSyncRow, ()> {
    let is_leased = found.is_some_and(|row| row.leased_until_ms.is_some_and(|until_ms| until_ms > now_ms));
    if is_leased { Err(()) } else { Ok(sync("git", &holder.to_string(), now_ms, Some(now_ms + 1_000))) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_several_servers_gets_a_lease() {
    let server = TestPostgres::start();
    let servers = two(&server, "docs").await;
    let number = servers[0].made("docs").await.number;
    // A new source first, and then one whose lease has expired.
    for now_ms in [0, 1_000, 2_000, 3_000] {
        let leases = at_once(&servers, move |server, holder| async move {
            let leased = server.store.update_sync(number, "git", |found| lease(found, holder, now_ms));
            leased.await.unwrap()
        });
        let leases: Vec<_> = leases.await.into_iter().filter_map(Result::ok).collect();
        assert_eq!(servers[0].store.syncs(number).await.unwrap(), leases);
        let turns = move |server: Arc<Catalogue>, holder: usize| async move {
            server.store.take_turn("sweep", &holder.to_string(), 1_000, now_ms).await.unwrap()
        };
        assert_eq!(at_once(&servers, turns).await.into_iter().filter(|is_taken| *is_taken).count(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sources_that_are_updated_while_their_index_is_deleted_are_not_found() {
    let server = TestPostgres::start();
    let servers = two(&server, "docs").await;
    for _ in 0..10 {
        let number = servers[0].made("docs").await.number;
        at_once(&servers, move |server, task| async move {
            if task == 7 {
                server.store.begin_deletion("docs").await.unwrap().unwrap();
                return server.store.finish_deletion(number).await.unwrap();
            }
            let source = format!("{}", task / 2);
            loop {
                match server.store.update_sync(number, &source, |_| Ok::<_, ()>(sync("", "{}", 0, None))).await {
                    Ok(_) => server.store.forget_sync(number, &source).await.unwrap(),
                    Err(error) => return assert_eq!(error.kind(), "not_found"),
                }
            }
        })
        .await;
    }
    assert_eq!(server.sql("SELECT count(*) FROM ragengine_source_sync"), "0");
    assert_eq!(server.sql("SELECT count(*) FROM ragengine_index_catalogue"), "0");
}

#[tokio::test]
async fn the_catalogue_outlives_an_outage_and_a_killed_database() {
    let mut server = TestPostgres::start();
    let catalogue = Catalogue::open(&server.options("docs")).await;
    let index = catalogue.made("docs").await;
    let id = catalogue.store.data_id().await.unwrap();
    let row = sync("git", "{}", 1, Some(2));
    catalogue.store.update_sync(index.number, "git", |_| Ok::<_, ()>(row.clone())).await.unwrap().unwrap();
    server.kill();
    let until = Instant::now() + LIMIT;
    while catalogue.store.all().await.is_ok() {
        assert!(Instant::now() < until, "no operation failed");
    }
    let failed = catalogue.store.begin(new("other"), MANY).await.unwrap_err();
    assert_eq!(failed.kind(), "unavailable", "{failed}");
    assert!(catalogue.counted("unavailable") > 1);
    server.restart();
    while let Err(error) = catalogue.store.all().await {
        assert!(["unavailable", "timeout"].contains(&error.kind()), "{error}");
        assert!(Instant::now() < until, "{error}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(catalogue.store.all().await.unwrap(), std::slice::from_ref(&index));
    assert_eq!(catalogue.store.all_syncs().await.unwrap(), [("docs".to_owned(), row)]);
    assert_eq!(catalogue.store.data_id().await.unwrap(), id);
    assert!(catalogue.store.begin_change(index.number).await.unwrap());
}

#[tokio::test]
async fn errors_name_no_user_no_password_and_no_text() {
    let server = TestPostgres::start();
    let right = server.options("docs");
    let wrong = PostgresOptions { password: Some("wr0ng".to_owned()), ..right.clone() };
    let refused = Catalogue::open(&wrong).await.store.begin(new("s3cret"), MANY).await.unwrap_err();
    let catalogue = Catalogue::open(&right).await;
    server.sql("ALTER TABLE ragengine_index_catalogue ADD CHECK (name <> 's3cret')");
    let failed = catalogue.store.begin(new("s3cret"), MANY).await.unwrap_err();
    assert_eq!((refused.kind(), failed.kind()), ("unavailable", "damaged"));
    for words in [refused.to_string(), failed.to_string(), format!("{refused:?} {failed:?}")] {
        assert!(!["wr0ng", "rag@", "p@ss", "s3cret"].iter().any(|secret| words.contains(secret)), "{words}");
    }
    // A refused row ends its transaction, and the next one is not kept waiting.
    assert!(matches!(catalogue.store.begin(new("docs"), MANY).await.unwrap(), Begun::Made(_)));
}
