//! Snapshots of everything visible of a chat: the request to the language model, the reply to the client, the log line,
//! and the series of the metrics afterwards. A refactoring must not change them. `INSTA_UPDATE=always cargo test`
//! updates them.

mod steady;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use steady::{steady, steady_log};

use crate::support::process::Process;
use crate::support::upstream::{Received, Upstream, completion, delta, event_reply, finish, json_reply, text_reply};
use crate::support::{FACTS, Reply, Server};

const QUESTION: &str = "When is the annual tax return due?";

/// The language model's reply, chosen by the field `user`.
fn script(body: &Value) -> axum::response::Response {
    let usage = || "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":4}}\n\n".to_owned();
    let done = || "data: [DONE]\n\n".to_owned();
    match (body["user"].as_str(), body["stream"] == true) {
        (Some("slow down"), _) => {
            let mut reply = json_reply(
                429,
                &json!({"error": {"message": "slow down", "type": "rate_limit_error", "code": "busy"}}),
            );
            reply.headers_mut().insert("retry-after", axum::http::HeaderValue::from_static("7"));
            reply
        }
        (Some("fail"), _) => text_reply(500, "broken"),
        (Some("nonsense"), _) => text_reply(200, "no JSON"),
        (Some("break"), true) => event_reply(vec![Ok(delta("a")), Err(std::io::Error::other("broken"))]),
        (Some("early"), true) => event_reply(vec![Ok(delta("a"))]),
        (Some("error"), true) => {
            event_reply([delta("a"), "data: {\"error\": {\"message\": \"no\"}}\n\n".to_owned(), done()].map(Ok).into())
        }
        (Some("no finish"), true) => event_reply([delta("a"), done()].map(Ok).into()),
        (Some("two"), true) => {
            let second = "data: {\"id\": \"c1\", \"choices\": [\
                          {\"index\": 1, \"delta\": {\"content\": \"b\"}, \"finish_reason\": \"stop\"}]}\n\n";
            event_reply([delta("a"), second.to_owned(), finish(), done()].map(Ok).into())
        }
        // The pieces of the body are split inside an event.
        (Some("cut"), true) => {
            let all = [": hello\n\n".to_owned(), delta("Be"), delta(" two [1]."), finish(), usage(), done()].concat();
            let (left, right) = all.split_at(all.len() / 2);
            event_reply([left, right].map(|piece| Ok(piece.to_owned())).into())
        }
        (_, true) => {
            event_reply([delta("On"), delta(" the last day of May [1]."), finish(), usage(), done()].map(Ok).into())
        }
        _ => json_reply(200, &completion("On the last day of May [1].")),
    }
}

/// The body of a chat request, and the name of its snapshot.
struct Case {
    name: &'static str,
    body: String,
}

fn case(name: &'static str, body: Value) -> Case {
    Case { name, body: body.to_string() }
}

fn user(content: &str) -> Value {
    json!([{"role": "user", "content": content}])
}

fn about(index: &str, changes: Value) -> Value {
    let mut body = json!({"temperature": 0.10, "index_name": index, "messages": user(QUESTION), "model": "served"});
    body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    body
}

fn answered() -> Vec<Case> {
    let docs = |changes| about("docs", changes);
    let conversation = json!([
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hello!", "name": "ann"},
        {"role": "assistant", "content": "Hello."},
        {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "text", "text": "One thing."}, {"type": "text", "text": "It is this:"}]},
        {"role": "user", "content": QUESTION},
    ]);
    let picture = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]);
    vec![
        case("from documents", docs(json!({}))),
        case("explained", docs(json!({"explain": true}))),
        case("of a long conversation", docs(json!({"messages": conversation}))),
        case("without a model", docs(json!({"model": null}))),
        case("with a ratio", docs(json!({"context_token_ratio": 0.2, "explain": true}))),
        case("lowered", docs(json!({"max_tokens": 100_000, "max_completion_tokens": 90_000, "explain": true}))),
        case("over budget", docs(json!({"max_tokens": 4, "explain": true}))),
        case(
            "nothing relevant",
            docs(json!({"messages": user("Which opera has a magic flute in it?"), "explain": true})),
        ),
        case("tools", docs(json!({"tools": [{"type": "function", "function": {"name": "f"}}]}))),
        case("a picture", docs(json!({"messages": picture}))),
        case(
            "another role",
            docs(json!({"messages": [{"role": "tool", "content": "x"}, {"role": "user", "content": "y"}]})),
        ),
        case("no index", about("", json!({}))),
        Case {
            name: "as it came",
            body:
                "{ \"model\":\"served\",\"messages\" : [ {\"role\":\"user\",\"content\":\"\\u0068i\"} ],\"seed\":1e2 }"
                    .to_owned(),
        },
        Case {
            name: "without a model field",
            body: r#"{"messages":[{"role":"user","content":"hi"}],"n":2}"#.to_owned(),
        },
    ]
}

fn streamed() -> Vec<Case> {
    let docs = |changes: Value| {
        let mut body = about("docs", json!({"stream": true}));
        body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        body
    };
    let mut cases = vec![
        case("streamed", docs(json!({}))),
        case("streamed and explained", docs(json!({"explain": true, "stream_options": {"include_usage": true}}))),
        case("streamed without documents", docs(json!({"index_name": null, "explain": true}))),
        case("streamed as it came", docs(json!({"index_name": ""}))),
    ];
    let scripted = [
        ("two choices", "two"),
        ("cut anywhere", "cut"),
        ("without a finish reason", "no finish"),
        ("broken off", "break"),
        ("ended early", "early"),
        ("an error in the stream", "error"),
        ("refused instead of a stream", "slow down"),
        ("nonsense instead of a stream", "nonsense"),
    ];
    cases.extend(scripted.map(|(name, user)| case(name, docs(json!({"user": user})))));
    cases
}

fn refused() -> Vec<Case> {
    let docs = |changes| about("docs", changes);
    vec![
        case("slow down", docs(json!({"user": "slow down"}))),
        case("failed", docs(json!({"user": "fail"}))),
        case("nonsense", docs(json!({"user": "nonsense"}))),
        case("no such index", about("nowhere", json!({}))),
        case("too long", docs(json!({"messages": user(&"word ".repeat(9000))}))),
        case("ratio", docs(json!({"context_token_ratio": 0.9}))),
        case("several choices", docs(json!({"n": 2}))),
        case("nothing said", docs(json!({"messages": user("")}))),
        case(
            "no question",
            docs(json!({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})),
        ),
        Case { name: "no JSON", body: "{".to_owned() },
        Case { name: "no object", body: "[]".to_owned() },
    ]
}

/// A server whose log the test can read, and its language model, which records the requests it gets.
struct Watched {
    server: Process,
    upstream: Option<Upstream>,
    _folder: tempfile::TempDir,
}

impl Watched {
    async fn start(upstream: Option<Upstream>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = folder.path().join("settings.yaml");
        let service = upstream
            .as_ref()
            .map(|upstream| format!("inferenceService: {{url: '{}', timeoutSeconds: 2}}, ", upstream.url));
        std::fs::write(&settings, format!("{{{}retrieval: {{maxDistance: 1.1}}}}", service.unwrap_or_default()))
            .unwrap();
        let data = folder.path().join("data");
        let server = tokio::task::spawn_blocking(move || Process::start_configured(&data, &settings)).await.unwrap();
        Self { server, upstream, _folder: folder }
    }

    async fn reply(&self, path: &str, name: &str, body: &str) -> Reply {
        let url = format!("{}{path}", self.server.url);
        let request = reqwest::Client::new().post(url).header("content-type", "application/json");
        Server::reply(request.header("x-request-id", name.replace(' ', "-")).body(body.to_owned())).await
    }

    async fn add_facts(&self) {
        let documents: Vec<Value> =
            FACTS.iter().map(|(id, text)| json!({"doc_id": id, "text": text, "metadata": {"title": id}})).collect();
        self.reply("/index", "index", &json!({"index_name": "docs", "documents": documents}).to_string()).await.ok();
    }

    async fn seen(&mut self, case: &Case) -> Value {
        let received = |watched: &Self| watched.upstream.as_ref().map_or_else(Vec::new, Upstream::received);
        let before = received(self).len();
        let reply = self.reply("/v1/chat/completions", case.name, &case.body).await;
        let id = case.name.replace(' ', "-");
        let line = self.server.wait_until("has logged the chat", |server| {
            server.log_lines().into_iter().find(|line| line["message"] == "chat" && line["request_id"] == id.as_str())
        });
        let address = self
            .upstream
            .as_ref()
            .map_or("no address", |upstream| upstream.url.as_str())
            .trim_end_matches("/v1")
            .to_owned();
        let asked: Vec<Value> = received(self)[before..].iter().map(asked).collect();
        json!({
            "asked": asked,
            "status": reply.status,
            "content_type": reply.headers["content-type"].to_str().unwrap(),
            "retry_after": reply.headers.get("retry-after").map(|value| value.to_str().unwrap()),
            "reply": steady(&reply.text, &address).split("\n\n").collect::<Vec<_>>(),
            "log": steady_log(line, &address),
        })
    }

    async fn all_seen(&mut self, cases: Vec<Case>) -> Value {
        let mut seen = serde_json::Map::new();
        for case in cases {
            seen.insert(case.name.to_owned(), self.seen(&case).await);
        }
        Value::Object(seen)
    }

    /// The series of the metrics, without buckets and readiness probes, which depend on time.
    async fn series(&self) -> BTreeSet<String> {
        let metrics = reqwest::get(format!("{}/metrics", self.server.url)).await.unwrap().text().await.unwrap();
        let series = metrics.lines().filter(|line| !line.starts_with('#') && !line.contains("_bucket"));
        series
            .filter_map(|line| Some(line.rsplit_once(' ')?.0.to_owned()))
            .filter(|series| !series.contains("readyz"))
            .collect()
    }
}

/// A request as the language model received it.
fn asked(received: &Received) -> Value {
    let body = std::str::from_utf8(&received.body).unwrap();
    let mut headers: Vec<&str> = received.headers.keys().map(axum::http::HeaderName::as_str).collect();
    headers.sort_unstable();
    json!({"body": steady(body, "no address"), "headers": headers})
}

#[tokio::test(flavor = "multi_thread")]
async fn chats_with_a_language_model() {
    let mut watched = Watched::start(Some(Upstream::scripted(|body| script(&body)).await)).await;
    watched.add_facts().await;
    insta::assert_json_snapshot!("answered", watched.all_seen(answered()).await);
    insta::assert_json_snapshot!("streamed", watched.all_seen(streamed()).await);
    insta::assert_json_snapshot!("refused", watched.all_seen(refused()).await);
    insta::assert_json_snapshot!("series", watched.series().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn chats_with_the_built_in_model() {
    let mut watched = Watched::start(None).await;
    watched.add_facts().await;
    let docs = |changes| about("docs", changes);
    let cases = vec![
        case("quoted", docs(json!({"explain": true}))),
        case(
            "quoted in a stream",
            docs(json!({"stream": true, "explain": true, "stream_options": {"include_usage": true}})),
        ),
        case("nothing relevant", docs(json!({"messages": user("Which opera has a magic flute in it?")}))),
        case("over budget", docs(json!({"max_tokens": 4, "stream": true}))),
        case("passed through", about("", json!({}))),
        case("tools", docs(json!({"tools": [{"type": "function", "function": {"name": "f"}}]}))),
    ];
    insta::assert_json_snapshot!("extractive", watched.all_seen(cases).await);
}
