//! A Redis server that is out of reach, refuses to work, or comes back.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ragengine_stores::{Redis, RedisOptions, SessionStore, StoreError};

use crate::session_backends::Backend;
use crate::sessions::{ALL, NONE, ask, history, key, turn};
use crate::test_redis::TestRedis;

/// An outage ends within this time after the server is back. The longest wait between two attempts is 30 s.
const LIMIT: Duration = Duration::from_secs(60);

async fn opened(options: &RedisOptions) -> (Arc<Redis>, SessionStore) {
    let redis = Redis::open(options).await.unwrap();
    let store = Backend::Redis(Arc::clone(&redis)).lasting();
    (redis, store)
}

async fn join(store: &SessionStore) -> Result<u64, StoreError> {
    store.join(&key("ann", "outage"), ALL).await.map(|joined| joined.seq)
}

/// Repeats an operation until it succeeds.
async fn recovered(store: &SessionStore) {
    let until = Instant::now() + LIMIT;
    while let Err(error) = join(store).await {
        assert!(["unavailable", "timeout"].contains(&error.kind()), "{error}");
        assert!(Instant::now() < until, "{error}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Repeats an operation until it fails with these words.
async fn failed(store: &SessionStore, words: &str) -> StoreError {
    let until = Instant::now() + LIMIT;
    loop {
        match join(store).await {
            Err(error) if error.to_string().contains(words) => return error,
            result => assert!(Instant::now() < until, "{result:?}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_killed_server_is_unavailable_and_is_used_again_with_its_sessions_when_it_is_back() {
    let mut server = TestRedis::start();
    let (redis, store) = opened(&server.options("docs")).await;
    let session = key("ann", "s");
    let first = ask(&store, &session).await;
    server.kill();
    let error = failed(&store, "does not run").await;
    assert_eq!(error.kind(), "unavailable");
    assert!(redis.problem().unwrap().contains("does not run"), "{:?}", redis.problem());
    // Once the failure is known, operations do not wait.
    let began = Instant::now();
    assert_eq!(join(&store).await.unwrap_err().kind(), "unavailable");
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
    server.restart();
    recovered(&store).await;
    assert_eq!(redis.problem(), None);
    assert_eq!(history(&store, &session).await, [first]);
    assert_eq!(ask(&store, &session).await, first + 1);
}

#[tokio::test]
async fn a_connection_that_was_closed_is_replaced_without_a_failure() {
    let mut server = TestRedis::start();
    let (_, store) = opened(&server.options("docs")).await;
    for _ in 0..3 {
        join(&store).await.unwrap();
        server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
        let joined = futures_util::future::join_all((0..10).map(|_| join(&store))).await;
        assert!(joined.iter().all(Result::is_ok), "{joined:?}");
    }
    server.restart();
    join(&store).await.unwrap();
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_used_again_when_it_does() {
    let server = TestRedis::start();
    let (redis, store) = opened(&server.options("docs")).await;
    join(&store).await.unwrap();
    server.freeze(true);
    let began = Instant::now();
    assert_eq!(join(&store).await.unwrap_err().kind(), "timeout");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    // Soon, operations do not wait any longer.
    let error = failed(&store, "did not answer within").await;
    assert_eq!(error.kind(), "unavailable");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert!(redis.problem().unwrap().contains("did not answer within 2 s"), "{:?}", redis.problem());
    server.freeze(false);
    recovered(&store).await;
    assert_eq!(redis.problem(), None);
}

#[tokio::test]
async fn a_server_that_is_started_later_is_used_then() {
    let mut server = TestRedis::start();
    server.kill();
    let (redis, store) = opened(&server.options("docs")).await;
    assert_eq!(join(&store).await.unwrap_err().kind(), "unavailable");
    assert!(redis.problem().unwrap().contains("does not run"));
    server.restart();
    recovered(&store).await;
    assert_eq!(redis.problem(), None);
}

#[tokio::test]
async fn a_server_that_reads_its_data_is_used_when_it_has_read_it() {
    let mut server = TestRedis::start();
    let (_, store) = opened(&server.options("docs")).await;
    let first = ask(&store, &key("ann", "s")).await;
    let restarting = tokio::task::spawn_blocking(move || {
        server.restart_slowly();
        server
    });
    let error = failed(&store, "reading its data").await;
    assert_eq!(error.kind(), "unavailable");
    let _server = restarting.await.unwrap();
    recovered(&store).await;
    assert_eq!(history(&store, &key("ann", "s")).await, [first]);
}

#[tokio::test]
async fn problems_name_no_user_and_no_password() {
    let server = TestRedis::start();
    server.command(&["ACL", "SETUSER", "reader", "on", ">s3cret", "~*", "+get"]);
    let right = server.options("docs");
    let user = |user: &str, password: &str| RedisOptions {
        url: right.url.replace("//", &format!("//{user}@")),
        password: Some(password.to_owned()),
        ..right.clone()
    };
    for (options, expected) in [
        (RedisOptions { password: Some("wr0ng".to_owned()), ..right.clone() }, "redis.password"),
        (RedisOptions { password: None, ..right.clone() }, "redis.password"),
        (RedisOptions { url: format!("{}/1", right.url), password: None, ..right.clone() }, "redis.password"),
        (user("nob0dy", "wr0ng"), "redis.password"),
        (user("reader", "s3cret"), "right to commands"),
        (RedisOptions { url: format!("{}/99", right.url), ..right.clone() }, "database"),
        (RedisOptions { url: "redis://nowhere.invalid".to_owned(), ..right.clone() }, "host's name"),
        // It waits for the end of a command.
        (RedisOptions { url: right.url.replace("redis:", "rediss:"), ..right.clone() }, "did not answer within"),
    ] {
        let (redis, store) = opened(&options).await;
        let problem = redis.problem().unwrap();
        let error = join(&store).await.unwrap_err();
        assert_eq!(error.kind(), "unavailable");
        for words in [problem, error.to_string(), format!("{error:?}")] {
            assert!(words.contains(expected), "{words}");
            let secrets = ["wr0ng", "nob0dy", "s3cret", "reader", "p@ss"];
            assert!(!secrets.iter().any(|secret| words.contains(secret)), "{words}");
        }
    }
}

#[tokio::test]
async fn a_server_that_refuses_writes_is_unavailable_until_it_takes_them() {
    let server = TestRedis::start();
    let (redis, store) = opened(&server.options("docs")).await;
    join(&store).await.unwrap();
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    let error = failed(&store, "maxmemory").await;
    assert_eq!(error.kind(), "unavailable");
    // Reading works.
    assert_eq!(history(&store, &key("ann", "s")).await, NONE);
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    join(&store).await.unwrap();
    server.command(&["REPLICAOF", "127.0.0.1", "1"]);
    let error = failed(&store, "read-only").await;
    assert_eq!(error.kind(), "unavailable");
    assert!(redis.problem().unwrap().contains("read-only"));
    server.command(&["REPLICAOF", "NO", "ONE"]);
    recovered(&store).await;
    assert_eq!(redis.problem(), None);
}

#[tokio::test]
async fn keys_that_others_wrote_are_errors_and_stay() {
    let server = TestRedis::start();
    let (redis, store) = opened(&server.options("docs")).await;
    // The beginning of the SHA-256 of `ann`.
    let name = |id: &str, part: &str| format!("ragengine:docs:{{49915e0d7d4b402e3017d010bc1c0e83:{id}}}:{part}");
    let of = |id: &str| key("ann", id);
    let first = ask(&store, &of("s")).await;
    assert_eq!(server.command(&["EXISTS", &name("s", "meta"), &name("s", "turns")]), "2");
    for (id, part, words) in [("a", "meta", "another type"), ("b", "turns", "another type")] {
        server.command(&["SET", &name(id, part), "x"]);
        if part == "turns" {
            server.command(&["HSET", &name(id, "meta"), "seq", "5"]);
        }
        for error in [store.join(&of(id), ALL).await.unwrap_err(), store.add(&of(id), turn(9)).await.unwrap_err()] {
            assert_eq!(error.kind(), "damaged");
            assert!(error.to_string().contains(words), "{error}");
        }
        assert_eq!(server.command(&["GET", &name(id, part)]), "x");
    }
    server.command(&["HSET", &name("c", "meta"), "seq", "many"]);
    let error = store.join(&of("c"), ALL).await.unwrap_err();
    assert_eq!(error.kind(), "damaged");
    // The server is in reach, and other sessions work.
    assert_eq!(ask(&store, &of("s")).await, first + 1);
    assert_eq!(redis.problem(), None);
    // Turns of a newer version are skipped and stay.
    for (seq, member) in [("1.5", "{\"version\":2}"), ("1.6", "garbage"), ("1.7", "\\xff")] {
        server.command(&["ZADD", &name("s", "turns"), seq, member]);
    }
    assert_eq!(history(&store, &of("s")).await, [first, first + 1]);
    assert_eq!(store.join(&of("s"), ALL).await.unwrap().turns.len(), 2);
    assert_eq!(ask(&store, &of("s")).await, first + 3);
    assert_eq!(server.command(&["ZCARD", &name("s", "turns")]), "6");
}

#[tokio::test]
async fn a_session_of_which_redis_removed_a_part_is_unknown_or_without_turns() {
    let server = TestRedis::start();
    let (_, store) = opened(&server.options("docs")).await;
    let part = |id: &str, part: &str| server.command(&["--raw", "KEYS", &format!("ragengine:docs:{{*:{id}}}:{part}")]);
    let mut last = 0;
    for id in ["a", "b", "c", "d"] {
        last = ask(&store, &key("ann", id)).await;
        assert!(server.command(&["PTTL", &part(id, "meta")]).parse::<i64>().unwrap() > 86_000_000);
        assert!(server.command(&["PTTL", &part(id, "turns")]).parse::<i64>().unwrap() > 86_000_000);
    }
    for id in ["a", "b", "c"] {
        server.command(&["DEL", &part(id, "meta")]);
        assert_eq!(history(&store, &key("ann", id)).await, NONE);
    }
    let joined = store.join(&key("ann", "a"), ALL).await.unwrap();
    assert_eq!((joined.turns, joined.is_new), (vec![], true));
    assert_eq!(history(&store, &key("ann", "a")).await, NONE);
    assert!(store.add(&key("ann", "b"), turn(2)).await.unwrap());
    assert_eq!(history(&store, &key("ann", "b")).await, [2]);
    store.clear(&key("ann", "c")).await.unwrap();
    assert_eq!(part("c", "*"), "");
    server.command(&["DEL", &part("d", "turns")]);
    assert_eq!(ask(&store, &key("ann", "d")).await, last + 1);
    assert_eq!(history(&store, &key("ann", "d")).await, [last + 1]);
}

#[tokio::test]
async fn an_encrypted_connection_needs_a_certificate_that_the_system_trusts() {
    let mut server = TestRedis::start();
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let port = server.encrypt(&certified.cert.pem(), &certified.signing_key.serialize_pem());
    let url = format!("rediss://127.0.0.1:{port}");
    let (redis, _) = opened(&RedisOptions { url: url.clone(), ..server.options("docs") }).await;
    assert!(redis.problem().unwrap().contains("certificate"), "{:?}", redis.problem());
    // What the system trusts is read from the environment, which is that of the whole process.
    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("trusted.pem");
    std::fs::write(&trusted, certified.cert.pem()).unwrap();
    let mut other = Command::new(std::env::current_exe().unwrap());
    other.args(["--exact", "redis_outages::an_encrypted_connection_works", "--ignored"]);
    other.env("SSL_CERT_FILE", &trusted).env("TEST_REDIS_URL", url);
    other.env("TEST_REDIS_PASSWORD", server.options("docs").password.unwrap());
    let output = other.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

#[tokio::test]
#[ignore = "another test runs it with a server and an environment"]
async fn an_encrypted_connection_works() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let (url, password) = (variable("TEST_REDIS_URL"), Some(variable("TEST_REDIS_PASSWORD")));
    let (redis, store) = opened(&RedisOptions { url, password, engine: "docs".to_owned() }).await;
    assert_eq!(redis.problem(), None);
    assert!(join(&store).await.is_ok());
}
