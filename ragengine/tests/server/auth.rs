//! Callers who must prove who they are, and what they may do.

use std::fs;
use std::path::Path;

use ragengine_stores::Answer;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::upstream::Upstream;
use crate::support::{FACTS, Reply, Server, ask, settings};

/// A server with API keys for Ann, Bob and a script, and rules for two indexes.
struct Guarded {
    server: Server,
    keys: TempDir,
}

const RULES: &str = "indexes: {docs: {read: ['key:ann'], write: ['key:ci']}, open: {read: ['*']}}";

async fn guarded(more: &str) -> Guarded {
    let keys = tempfile::tempdir().unwrap();
    for (name, key) in [("ann", "key-of-ann"), ("bob", "key-of-bob"), ("ci", "key-of-ci")] {
        fs::write(keys.path().join(name), key).unwrap();
    }
    let data = tempfile::tempdir().unwrap();
    let token = data.path().join("token");
    fs::write(&token, "secret").unwrap();
    let yaml = format!(
        "auth: {{modes: [apiKey], apiKeysFolder: {}, writeToken: {{file: {}}}, defaultAccess: {{read: [], write: []}}, {RULES}}}\n\
         {more}",
        keys.path().display(),
        token.display()
    );
    let server = Server::start_in(settings(&data, &yaml)).await;
    let documents: Vec<Value> = FACTS.iter().map(|(id, text)| json!({"doc_id": id, "text": text})).collect();
    for index in ["docs", "open", "closed"] {
        let body = json!({"index_name": index, "documents": documents});
        send(&server, "/index", Some("secret"), &body).await.ok();
    }
    std::mem::forget(data);
    Guarded { server, keys }
}

async fn send(server: &Server, path: &str, token: Option<&str>, body: &Value) -> Reply {
    let request = server.request(path).body(body.to_string());
    Server::reply(match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    })
    .await
}

async fn get(server: &Server, path: &str, token: Option<&str>) -> Reply {
    let request = reqwest::Client::new().get(format!("{}{path}", server.url));
    Server::reply(match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    })
    .await
}

#[tokio::test]
async fn nobody_gets_in_without_a_token() {
    let Guarded { server, .. } = guarded("").await;
    for path in ["/livez", "/readyz", "/health", "/status", "/metrics", "/openapi.json", "/", "/docs"] {
        assert_eq!(get(&server, path, None).await.status, 200, "{path}");
    }
    for token in [None, Some("wrong"), Some("key-of-an"), Some("eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.")] {
        for path in ["/indexes", "/indexes/docs", "/v1/models", "/nothing"] {
            let refused = get(&server, path, token).await;
            assert_eq!(
                (refused.status, &refused.headers["www-authenticate"]),
                (401, &"Bearer".parse().unwrap()),
                "{path}"
            );
        }
        let refused = send(&server, "/v1/chat/completions", token, &ask("docs", "Why?")).await;
        assert_eq!(refused.status, 401);
        assert!(refused.json()["error"]["message"].as_str().unwrap().contains("API key"), "{}", refused.text);
    }
}

#[tokio::test]
async fn rules_say_who_may_read_and_write_an_index() {
    let Guarded { server, .. } = guarded("").await;
    let (ann, bob, ci) = (Some("key-of-ann"), Some("key-of-bob"), Some("key-of-ci"));
    assert_eq!(get(&server, "/indexes", ann).await.ok(), json!(["docs", "open"]));
    assert_eq!(get(&server, "/indexes", bob).await.ok(), json!(["open"]));
    assert_eq!(get(&server, "/indexes", ci).await.ok(), json!(["docs", "open"]), "writing is reading, too");
    assert_eq!(get(&server, "/indexes", Some("secret")).await.ok(), json!(["closed", "docs", "open"]));
    let search = |index: &str| json!({"index_name": index, "query": "When is the tax return due?"});
    for (token, index, status) in [
        (ann, "docs", 200),
        (bob, "docs", 403),
        (ci, "docs", 200),
        (ann, "closed", 403),
        (ann, "nowhere", 403),
        (bob, "open", 200),
        (Some("secret"), "closed", 200),
        (Some("secret"), "nowhere", 404),
    ] {
        let reply = send(&server, "/retrieve", token, &search(index)).await;
        assert_eq!(reply.status, status, "{token:?} {index}: {}", reply.text);
        if status == 403 {
            assert_eq!(reply.error(403), format!("You may not read index '{index}'."));
        }
    }
    let add = |index: &str| json!({"index_name": index, "documents": [{"doc_id": "new", "text": "Words."}]});
    assert_eq!(send(&server, "/index", ci, &add("docs")).await.status, 200);
    assert_eq!(send(&server, "/index", ann, &add("docs")).await.error(403), "You may not write index 'docs'.");
    assert_eq!(send(&server, "/index", ci, &add("another")).await.error(403), "You may not write index 'another'.");
    assert_eq!(send(&server, "/persist/docs", ci, &json!({})).await.status, 403);
    assert_eq!(send(&server, "/persist/docs", Some("secret"), &json!({})).await.status, 200);
    let votes = get(&server, "/feedback", ann).await.ok();
    assert_eq!(votes["feedback"], json!([]));
}

#[tokio::test]
async fn a_vote_needs_the_right_to_read_the_index_of_its_answer() {
    let Guarded { server, .. } = guarded("").await;
    let store = server.app.loaded().unwrap().stores.feedback().unwrap();
    for (id, index) in [("of-docs", "docs"), ("of-open", "open")] {
        let answer = Answer {
            id: id.to_owned(),
            owner: "key:bob".to_owned(),
            index_name: index.to_owned(),
            question: "Why?".to_owned(),
            fingerprint: "minilm".to_owned(),
            vector: vec![1.0],
            node_ids: Vec::new(),
            cache_key: None,
            created_at_ms: jiff::Timestamp::now().as_millisecond(),
        };
        store.record_answer(answer).await.unwrap();
    }
    for (token, id, status) in [
        ("key-of-bob", "of-open", 200),
        // Bob could read it when he asked.
        ("key-of-bob", "of-docs", 403),
        ("key-of-ann", "of-docs", 404),
        ("key-of-ann", "of-open", 404),
    ] {
        let vote = send(&server, "/feedback", Some(token), &json!({"answer_id": id, "rating": "up"})).await;
        assert_eq!(vote.status, status, "{token} {id}: {}", vote.text);
        let delete = reqwest::Client::new().delete(format!("{}/feedback/{id}", server.url)).bearer_auth(token);
        let delete = Server::reply(delete).await;
        assert_eq!(delete.status, status, "{token} {id}: {}", delete.text);
        if status == 403 {
            assert_eq!(vote.error(403), "You may not read index 'docs'.");
        }
    }
}

#[tokio::test]
async fn an_index_without_a_name_is_the_only_one_that_the_caller_may_read() {
    let Guarded { server, .. } = guarded("retrieval: {maxDistance: 1.1}").await;
    let body = json!({"query": "When is the annual tax return due?"});
    let reply = send(&server, "/query", Some("key-of-bob"), &body).await.ok();
    assert_eq!(reply["sources"][0]["index_name"], "open");
    assert!(send(&server, "/query", Some("key-of-ann"), &body).await.error(400).contains("several"));
}

#[tokio::test]
async fn sessions_belong_to_their_callers() {
    let Guarded { server, .. } = guarded("").await;
    let body = json!({"query": "When is the annual tax return due?", "index_name": "open", "session_id": "session-1"});
    send(&server, "/query", Some("key-of-ann"), &body).await.ok();
    let messages = async |token| get(&server, "/chat/history/session-1", Some(token)).await.ok()["messages"].clone();
    assert_eq!(messages("key-of-ann").await.as_array().unwrap().len(), 2);
    assert_eq!(messages("key-of-bob").await, json!([]));
}

#[tokio::test]
async fn a_key_that_is_removed_stops_working() {
    let Guarded { server, keys } = guarded("").await;
    assert_eq!(get(&server, "/indexes", Some("key-of-bob")).await.status, 200);
    fs::remove_file(keys.path().join("bob")).unwrap();
    for _ in 0..200 {
        if get(&server, "/indexes", Some("key-of-bob")).await.status == 401 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the key still works");
}

#[tokio::test]
async fn a_caller_has_a_number_of_chats_per_minute() {
    let upstream = Upstream::friendly().await;
    let more = format!("inferenceService: {{url: '{}'}}\nlimits: {{chatsPerMinutePerCaller: 2}}", upstream.url);
    let Guarded { server, .. } = guarded(&more).await;
    let chat = |token| {
        let server = &server;
        async move { send(server, "/v1/chat/completions", Some(token), &ask("open", "Why do cats purr?")).await }
    };
    assert_eq!((chat("key-of-ann").await.status, chat("key-of-ann").await.status), (200, 200));
    let refused = chat("key-of-ann").await;
    let wait: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!(refused.status == 429 && (1..=30).contains(&wait), "{} {wait}", refused.status);
    assert_eq!(chat("key-of-bob").await.status, 200, "another caller");
    assert_eq!(get(&server, "/indexes", Some("key-of-ann")).await.status, 200, "not a chat");
    let metrics = get(&server, "/metrics", None).await.text;
    let counted = r#"ragengine_pipeline_stages_total{endpoint="completions",outcome="refused",stage="rate_limit"} 1"#;
    assert!(metrics.contains(counted));
}

#[tokio::test]
async fn rules_are_read_again_from_their_file() {
    let data = tempfile::tempdir().unwrap();
    let (keys, file) = (data.path().join("keys"), data.path().join("access.yaml"));
    fs::create_dir(&keys).unwrap();
    fs::write(keys.join("ann"), "key-of-ann").unwrap();
    let write = |rules: &str| fs::write(Path::new(&file), rules).unwrap();
    write("indexes: {docs: {read: ['key:bob']}}");
    let yaml = format!("auth: {{modes: [apiKey], apiKeysFolder: {}, accessFile: {}}}", keys.display(), file.display());
    let server = Server::start_in(settings(&data, &yaml)).await;
    let status = async || {
        send(&server, "/retrieve", Some("key-of-ann"), &json!({"index_name": "docs", "query": "q"})).await.status
    };
    assert_eq!(status().await, 403);
    write("indexes: {docs: {read: ['key:ann']}}");
    for _ in 0..200 {
        if status().await == 404 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the new rules do not hold");
}
