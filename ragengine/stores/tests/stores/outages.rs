//! A database that is out of reach, comes back, or is of another version.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::test_postgres::TestPostgres;
use ragengine_stores::{Postgres, PostgresOptions, StoreError, VoteQuery};

use crate::backends::Stores;
use crate::feedback::answer;

/// An outage ends within this time after the database is back. The longest wait between two attempts is 30 s.
const LIMIT: Duration = Duration::from_secs(60);

async fn list(stores: &Stores) -> Result<u64, StoreError> {
    Ok(stores.feedback.list(VoteQuery { limit: 1, ..VoteQuery::default() }).await?.total)
}

/// Repeats an operation until it succeeds.
async fn recovered(stores: &Stores) {
    let until = Instant::now() + LIMIT;
    while let Err(error) = list(stores).await {
        assert!(["unavailable", "timeout"].contains(&error.kind()), "{error}");
        assert!(Instant::now() < until, "{error}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Repeats an operation until it fails.
async fn failed(stores: &Stores) -> StoreError {
    let until = Instant::now() + LIMIT;
    loop {
        match list(stores).await {
            Err(error) => return error,
            Ok(_) => assert!(Instant::now() < until, "no operation failed"),
        }
    }
}

#[tokio::test]
async fn a_killed_database_is_unavailable_and_is_used_again_when_it_is_back() {
    let mut server = TestPostgres::start();
    let postgres = Postgres::open(&server.options("docs")).await.unwrap();
    let stores = Stores::of(&postgres);
    stores.feedback.record_answer(answer("a", &["x"], 0)).await.unwrap();
    server.kill();
    assert_eq!(failed(&stores).await.kind(), "unavailable");
    assert!(stores.counted("feedback", "unavailable") > 0);
    // Once the failure is known, operations do not wait.
    let until = Instant::now() + LIMIT;
    while !postgres.problem().unwrap_or_default().contains("does not run") {
        assert!(Instant::now() < until, "{:?}", postgres.problem());
        list(&stores).await.unwrap_err();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let began = Instant::now();
    assert_eq!(list(&stores).await.unwrap_err().kind(), "unavailable");
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
    server.restart();
    recovered(&stores).await;
    assert_eq!(postgres.problem(), None);
    server.restart();
    recovered(&stores).await;
}

#[tokio::test]
async fn a_database_that_does_not_answer_is_used_again_when_it_does() {
    let server = TestPostgres::start();
    let postgres = Postgres::open(&server.options("docs")).await.unwrap();
    let stores = Stores::of(&postgres);
    list(&stores).await.unwrap();
    server.freeze(true);
    let began = Instant::now();
    let error = list(&stores).await.unwrap_err();
    assert!(["timeout", "unavailable"].contains(&error.kind()), "{error}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    server.freeze(false);
    recovered(&stores).await;
}

#[tokio::test]
async fn a_database_that_is_started_later_is_migrated_then() {
    let mut server = TestPostgres::start();
    server.kill();
    let postgres = Postgres::open(&server.options("docs")).await.unwrap();
    let stores = Stores::of(&postgres);
    let error = list(&stores).await.unwrap_err();
    assert_eq!(error.kind(), "unavailable");
    assert!(postgres.problem().is_some());
    server.restart();
    recovered(&stores).await;
    assert_eq!(postgres.problem(), None);
}

#[tokio::test]
async fn a_start_does_not_wait_long_for_the_migrations_of_another_server() {
    let server = Arc::new(TestPostgres::start());
    drop(Stores::postgres(&server, "docs").await);
    let other = Arc::clone(&server);
    let migrates = "BEGIN; LOCK TABLE ragengine_migration; SELECT pg_sleep(8); COMMIT";
    let migrates = tokio::task::spawn_blocking(move || other.sql(migrates));
    let until = Instant::now() + LIMIT;
    while server.sql("SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock'") == "0" {
        assert!(Instant::now() < until, "the table was not locked");
    }
    let postgres = Postgres::open(&server.options("docs")).await.unwrap();
    assert!(postgres.problem().unwrap().contains("did not answer within 5 s"), "{:?}", postgres.problem());
    let stores = Stores::of(&postgres);
    assert_eq!(list(&stores).await.unwrap_err().kind(), "unavailable");
    recovered(&stores).await;
    assert_eq!(postgres.problem(), None);
    migrates.await.unwrap();
}

/// A newer version has migrated the tables.
const NEWER: &str = "INSERT INTO ragengine_migration (version, description, success, checksum, execution_time)
    VALUES (1000, 'newer', true, '', 0)";

#[tokio::test]
async fn a_server_that_a_newer_one_replaces_connects_again() {
    let mut server = TestPostgres::start();
    let postgres = Postgres::open(&server.options("docs")).await.unwrap();
    let stores = Stores::of(&postgres);
    list(&stores).await.unwrap();
    server.sql(NEWER);
    server.kill();
    assert_eq!(failed(&stores).await.kind(), "unavailable");
    server.restart();
    recovered(&stores).await;
    assert_eq!(postgres.problem(), None);
    let started_later = Postgres::open(&server.options("docs")).await;
    assert_eq!(started_later.err().unwrap().kind(), "newer_schema");
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let server = TestPostgres::start();
    drop(Stores::postgres(&server, "docs").await);
    server.sql(NEWER);
    let error = Postgres::open(&server.options("docs")).await.err().unwrap();
    assert_eq!(error.kind(), "newer_schema");
    assert!(error.to_string().contains("newer version"), "{error}");
}

#[tokio::test]
async fn dropped_tables_are_created_again() {
    let server = TestPostgres::start();
    let stores = Stores::postgres(&server, "docs").await;
    server.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    assert_eq!(failed(&stores).await.kind(), "unavailable");
    recovered(&stores).await;
}

#[tokio::test]
async fn problems_name_no_user_and_no_password() {
    let server = TestPostgres::start();
    let right = server.options("docs");
    for (options, expected) in [
        (PostgresOptions { password: Some("wr0ng".to_owned()), ..right.clone() }, "password"),
        (PostgresOptions { password: None, ..right.clone() }, "password"),
        (PostgresOptions { url: right.url.replace("rag@", "nob0dy@"), ..right.clone() }, "password"),
        (PostgresOptions { url: right.url.replace("/postgres", "/n0thing"), ..right.clone() }, "no database"),
        (PostgresOptions { url: format!("{}?sslmode=require", right.url), ..right.clone() }, "sslmode"),
        (PostgresOptions { url: "postgres://rag@nowhere.invalid/x".to_owned(), ..right.clone() }, "host's name"),
    ] {
        let postgres = Postgres::open(&options).await.unwrap();
        let problem = postgres.problem().unwrap();
        let error = list(&Stores::of(&postgres)).await.unwrap_err();
        assert_eq!(error.kind(), "unavailable");
        for words in [problem, error.to_string(), format!("{error:?}")] {
            assert!(words.contains(expected), "{words}");
            let secrets = ["wr0ng", "nob0dy", "n0thing", "rag@", "p@ss"];
            assert!(!secrets.iter().any(|secret| words.contains(secret)), "{words}");
        }
    }
}

#[tokio::test]
async fn the_url_says_whether_connections_are_encrypted_and_the_certificate_is_verified() {
    let mut server = TestPostgres::start();
    let certified = |name: &str| rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let (right, wrong) = (certified("127.0.0.1"), certified("127.0.0.1"));
    server.encrypt(&right.cert.pem(), &right.signing_key.serialize_pem());
    let folder = tempfile::tempdir().unwrap();
    let roots = |name: &str, pem: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, pem).unwrap();
        path.display().to_string()
    };
    let (trusted, other) = (roots("right.pem", right.cert.pem()), roots("other.pem", wrong.cert.pem()));
    for (parameters, is_encrypted) in [
        ("sslmode=disable".to_owned(), Some(false)),
        ("sslmode=require".to_owned(), Some(true)),
        (format!("sslmode=verify-full&sslrootcert={trusted}"), Some(true)),
        (format!("sslmode=verify-full&sslrootcert={other}"), None),
        ("sslmode=verify-full".to_owned(), None),
    ] {
        let options = server.options("docs");
        let options = PostgresOptions { url: format!("{}?{parameters}", options.url), ..options };
        let postgres = Postgres::open(&options).await.unwrap();
        let listed = list(&Stores::of(&postgres)).await;
        assert_eq!(listed.is_ok(), is_encrypted.is_some(), "{parameters}: {listed:?}");
        match is_encrypted {
            Some(is_encrypted) => {
                let connections = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                    WHERE application_name = 'ragengine'";
                let expected = if is_encrypted { "t" } else { "f" };
                assert_eq!(server.sql(connections), expected, "{parameters}");
            }
            None => assert!(postgres.problem().unwrap().contains("sslrootcert"), "{parameters}"),
        }
        drop(postgres);
        let until = Instant::now() + LIMIT;
        while server.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ragengine'") != "0" {
            assert!(Instant::now() < until, "the connections stay");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
