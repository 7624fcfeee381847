//! Sessions in Redis and in PostgreSQL, which are killed and started again.

#[path = "../../../stores/tests/stores/test_redis.rs"]
#[expect(dead_code, reason = "the tests of the stores use the rest")]
pub(crate) mod test_redis;

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use self::test_redis::TestRedis;
use super::{SESSION, last_prompt, messages, query, query_reply, replying};
use crate::postgres::test_postgres::TestPostgres;
use crate::support::upstream::Upstream;
use crate::support::{FACTS, Server, outcome, settings};

async fn upstream() -> Upstream {
    Upstream::scripted(|body| replying(&body, "Yes.")).await
}

/// Where sessions are.
struct Stored<'a> {
    store: &'a str,
    url: String,
    password: Option<String>,
    namespace: &'a str,
    /// Further fields of `sessions`.
    more: &'a str,
}

impl Stored<'_> {
    /// The settings of a server, whose password is in this folder.
    fn yaml(&self, upstream: &Upstream, data: &TempDir) -> String {
        let Self { store, url, password, namespace, more } = self;
        let file = data.path().join("password");
        std::fs::write(&file, password.as_deref().unwrap_or_default()).unwrap();
        format!(
            "inferenceService: {{url: '{}'}}\nstateNamespace: {namespace}\nretrieval: {{maxDistance: 1.1}}\n\
             {store}: {{url: '{url}', password: {{file: {}}}}}\nsessions: {{store: {store}{more}}}\n\
             cache: {{enabled: false}}\n",
            upstream.url,
            file.display()
        )
    }
}

/// Sessions in Redis.
fn in_redis<'a>(redis: &TestRedis, namespace: &'a str, more: &'a str) -> Stored<'a> {
    let options = redis.options(namespace);
    Stored { store: "redis", url: options.url, password: options.password, namespace, more }
}

/// Sessions in PostgreSQL.
fn in_postgres(postgres: &TestPostgres) -> Stored<'static> {
    let options = postgres.options("default");
    let (url, password) = (options.url, options.password);
    Stored { store: "postgres", url, password, namespace: "default", more: "" }
}

async fn problems(server: &Server) -> Vec<String> {
    let status = server.get("/status").await.ok();
    assert_eq!(status["ready"], true);
    let kind = |problem: &Value| problem["kind"].as_str().unwrap().to_owned();
    status["problems"].as_array().unwrap().iter().map(kind).collect()
}

async fn without_problems(server: &Server) {
    for _ in 0..600 {
        if problems(server).await.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{:?}", problems(server).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_share_sessions_in_redis_by_their_namespace() {
    let (redis, upstream, data) = (TestRedis::start(), upstream().await, tempfile::tempdir().unwrap());
    let folders: Vec<TempDir> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let mut servers = Vec::new();
    for (folder, namespace) in folders.iter().zip(["team-a", "team-a", "team-b"]) {
        let server = Server::start_in(settings(folder, &in_redis(&redis, namespace, "").yaml(&upstream, &data))).await;
        server.add("docs", &FACTS).await;
        servers.push(server);
    }
    query(&servers[0], SESSION, "Why do cats purr?").await;
    query(&servers[1], SESSION, "When does the container ship leave the harbour?").await;
    assert_eq!(last_prompt(&upstream).len(), 4, "the second server of the namespace knows the first question");
    assert_eq!(messages(&servers[0], SESSION).await.len(), 4);
    assert_eq!(messages(&servers[2], SESSION).await, []);
    query(&servers[2], SESSION, "When does the container ship leave the harbour?").await;
    assert_eq!(last_prompt(&upstream).len(), 2);
    servers[2].post("/chat/clear", &json!({"session_id": SESSION})).await.ok();
    assert_eq!(messages(&servers[1], SESSION).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_are_answered_without_redis_and_it_is_used_again_by_itself() {
    let (mut redis, upstream, data) = (TestRedis::start(), upstream().await, tempfile::tempdir().unwrap());
    let server = Server::start_in(settings(&data, &in_redis(&redis, "default", "").yaml(&upstream, &data))).await;
    server.add("docs", &FACTS).await;
    assert_eq!(query(&server, SESSION, "Why do cats purr?").await.get("history"), None);

    redis.kill();
    for stream in [false, true] {
        let body = json!({"query": "When does the container ship leave the harbour?", "session_id": SESSION, "stream": stream, "explain": true});
        let reply = query_reply(&server, body).await;
        let reply = if stream { super::typed_events(&reply.text).pop().unwrap().1 } else { reply.ok() };
        assert_eq!((&reply["history"], &reply["answer"]), (&json!("unavailable"), &json!("Yes.")));
        assert!(["failed", "timeout"].contains(&outcome(&reply, "session").as_str()), "{reply}");
    }
    assert_eq!(last_prompt(&upstream).len(), 2);
    assert_eq!(problems(&server).await, ["redis_failed"]);
    server.get(&format!("/chat/history/{SESSION}")).await.error(503);
    server.post("/chat/clear", &json!({"session_id": SESSION})).await.error(503);

    redis.restart();
    without_problems(&server).await;
    assert_eq!(query(&server, SESSION, "When does the container ship leave the harbour?").await.get("history"), None);
    let metrics = server.get("/metrics").await.text;
    assert!(metrics.contains("ragengine_store_operations_total{outcome=\"done\",store=\"sessions\"}"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_are_refused_without_the_store_if_the_settings_say_so() {
    let (mut redis, upstream, data) = (TestRedis::start(), upstream().await, tempfile::tempdir().unwrap());
    let yaml = in_redis(&redis, "default", ", whenDown: refuse").yaml(&upstream, &data);
    let server = Server::start_in(settings(&data, &yaml)).await;
    server.add("docs", &FACTS).await;
    query(&server, SESSION, "Why do cats purr?").await;
    let asked = upstream.received().len();
    redis.kill();
    let reply = query_reply(
        &server,
        json!({"query": "When does the container ship leave the harbour?", "session_id": SESSION}),
    )
    .await;
    reply.error(503);
    assert_eq!(upstream.received().len(), asked, "the language model is not asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_dies_before_the_turn_is_kept_is_told_in_the_reply() {
    let (redis, data) = (TestRedis::start(), tempfile::tempdir().unwrap());
    let redis = std::sync::Arc::new(parking_lot::Mutex::new(redis));
    let killer = std::sync::Arc::clone(&redis);
    let upstream = Upstream::scripted(move |body| {
        killer.lock().kill();
        replying(&body, "Yes.")
    })
    .await;
    let yaml = in_redis(&redis.lock(), "default", "").yaml(&upstream, &data);
    let server = Server::start_in(settings(&data, &yaml)).await;
    server.add("docs", &FACTS).await;
    let reply = query(&server, SESSION, "Why do cats purr?").await;
    assert_eq!((&reply["answer"], &reply["history"]), (&json!("Yes."), &json!("unavailable")));
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_in_postgresql_outlive_the_server() {
    let (mut postgres, upstream, data) = (TestPostgres::start(), upstream().await, tempfile::tempdir().unwrap());
    let yaml = in_postgres(&postgres).yaml(&upstream, &data);
    let server = Server::start_in(settings(&data, &yaml)).await;
    server.add("docs", &FACTS).await;
    query(&server, SESSION, "Why do cats purr?").await;

    postgres.kill();
    let reply = query(&server, SESSION, "When does the container ship leave the harbour?").await;
    assert_eq!(reply["history"], "unavailable");
    assert_eq!(problems(&server).await, ["postgres_failed"]);
    postgres.restart();
    without_problems(&server).await;

    let other_data = tempfile::tempdir().unwrap();
    let other = Server::start_in(settings(&other_data, &in_postgres(&postgres).yaml(&upstream, &other_data))).await;
    other.add("docs", &FACTS).await;
    query(&other, SESSION, "When does the container ship leave the harbour?").await;
    assert_eq!(last_prompt(&upstream).len(), 4);
    assert_eq!(messages(&server, SESSION).await.len(), 4);
}
