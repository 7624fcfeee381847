//! Sessions that other programs write to Redis.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ragengine_metrics::Builder;
use ragengine_stores::{Redis, SessionTokens, StoreError, StoreMetrics};

use crate::test_redis::TestRedis;

/// An outage ends within this time after the server is back. The longest wait between two attempts is 30 s.
const LIMIT: Duration = Duration::from_secs(60);

async fn opened(server: &TestRedis, prefix: &str) -> (Arc<Redis>, SessionTokens) {
    let metrics = StoreMetrics::new(&mut Builder::new(Duration::from_secs(1)).unwrap()).unwrap();
    let redis = Redis::open(&server.options("docs")).await.unwrap();
    (Arc::clone(&redis), SessionTokens::new(redis, prefix.to_owned(), metrics))
}

#[tokio::test]
async fn the_value_of_a_token_is_found_until_it_is_deleted() {
    let server = TestRedis::start();
    let (_, tokens) = opened(&server, "session:").await;
    let (_, others) = opened(&server, "app1/s-").await;
    assert_eq!(tokens.look_up("abc").await, Ok(None));
    server.command(&["SET", "session:abc", r#"{"user_id":"ann"}"#]);
    server.command(&["SET", "app1/s-abc", "other"]);
    for _ in 0..2 {
        assert_eq!(tokens.look_up("abc").await.unwrap().as_deref(), Some(r#"{"user_id":"ann"}"#));
    }
    assert_eq!(others.look_up("abc").await.unwrap().as_deref(), Some("other"));
    for other in ["ab", "abcd", "ABC", "abc ", ""] {
        assert_eq!(tokens.look_up(other).await, Ok(None), "{other}");
    }
    server.command(&["DEL", "session:abc"]);
    assert_eq!(tokens.look_up("abc").await, Ok(None));
}

#[tokio::test]
async fn a_text_that_is_no_token_reaches_no_other_key() {
    let server = TestRedis::start();
    let (_, tokens) = opened(&server, "session:").await;
    for (key, text) in [("session:a:b", "a:b"), ("session:a b", "a b"), ("session:*", "*"), ("session:", "")] {
        server.command(&["SET", key, "secret"]);
        assert_eq!(tokens.look_up(text).await, Ok(None), "{key}");
    }
    let long = "t".repeat(513);
    server.command(&["SET", &format!("session:{long}"), "secret"]);
    assert_eq!(tokens.look_up(&long).await, Ok(None));
    assert_eq!(tokens.look_up("a\r\nDEL session:a b").await, Ok(None));
}

#[tokio::test]
async fn a_value_that_is_no_short_text_is_an_error() {
    let server = TestRedis::start();
    let (redis, tokens) = opened(&server, "session:").await;
    server.command(&["SET", "session:longest", &"v".repeat(16 << 10)]);
    assert_eq!(tokens.look_up("longest").await.unwrap().unwrap().len(), 16 << 10);
    server.command(&["SET", "session:long", &"v".repeat((16 << 10) + 1)]);
    server.command(&["EVAL", r"redis.call('SET', 'session:bytes', '\255')", "0"]);
    server.command(&["HSET", "session:hash", "user_id", "s3cret"]);
    for (token, expected) in [("long", "16384 bytes"), ("bytes", "not a text"), ("hash", "another type")] {
        let error = tokens.look_up(token).await.unwrap_err();
        assert!(matches!(error, StoreError::Damaged(_)) && error.to_string().contains(expected), "{error}");
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
    // The server is in reach.
    assert_eq!(tokens.look_up("other").await, Ok(None));
    assert_eq!(redis.problem(), None);
}

#[tokio::test]
async fn an_outage_is_an_error_that_ends_with_it() {
    let mut server = TestRedis::start();
    let (redis, tokens) = opened(&server, "session:").await;
    server.command(&["SET", "session:abc", "x"]);
    assert_eq!(tokens.look_up("abc").await.unwrap().as_deref(), Some("x"));
    server.kill();
    let error = tokens.look_up("abc").await.unwrap_err();
    assert_eq!(error.kind(), "unavailable");
    // What cannot be a token is unknown, whatever the state of Redis is.
    assert_eq!(tokens.look_up("a:b").await, Ok(None));
    assert!(redis.problem().is_some());
    server.restart();
    let until = Instant::now() + LIMIT;
    let value = loop {
        match tokens.look_up("abc").await {
            Ok(value) => break value,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(value.as_deref(), Some("x"));
    server.freeze(true);
    assert_eq!(tokens.look_up("abc").await.unwrap_err().kind(), "timeout");
    server.freeze(false);
}
