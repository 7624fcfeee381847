//! The log contains no text of callers or endpoints unless `log.texts` is on.

mod everything;

use std::path::Path;

use axum::response::Response;
use everything::{MARKER, requests};
use ragengine::router::openapi;
use serde_json::{Value, json};

use crate::support::embedder::{RemoteEmbedder, reply, words};
use crate::support::process::Process;
use crate::support::upstream::{Upstream, completion, delta, event_reply, json_reply, text_reply};
use crate::support::{FACTS, ask};

/// A server with an index of five documents.
async fn server(data: &Path, settings: String) -> Process {
    let folder = data.to_owned();
    let start = move || {
        let file = folder.join("settings.yaml");
        std::fs::write(&file, settings).unwrap();
        Process::start_configured(&folder.join("data"), &file)
    };
    let server = tokio::task::spawn_blocking(start).await.unwrap();
    let documents: Vec<Value> =
        FACTS.iter().map(|(doc_id, text)| json!({"doc_id": doc_id, "text": text, "source": "s"})).collect();
    let added = json!({"index_name": "docs", "documents": documents});
    assert_eq!(send(&server, "POST", "/index", added.to_string()).await, 200);
    server
}

async fn send(server: &Process, method: &str, path: &str, body: String) -> u16 {
    let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
    let request = reqwest::Client::new()
        .request(method, format!("{}{path}", server.url))
        .header("content-type", "application/json")
        .header("user-agent", MARKER)
        .header("x-note", MARKER)
        .body(body);
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    response.bytes().await.unwrap();
    status
}

fn with_marker(server: &Process) -> Vec<Value> {
    server.log_lines().into_iter().filter(|line| line.to_string().contains(MARKER)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_of_a_caller_is_in_the_log() {
    let upstream = Upstream::friendly().await;
    let settings = |texts: bool| {
        format!(
            "inferenceService: {{url: '{}', models: [served]}}\nretrieval: {{maxDistance: 1.1}}\n\
             log: {{level: trace, texts: {texts}}}",
            upstream.url
        )
    };
    let data = tempfile::tempdir().unwrap();
    let mut quiet = server(data.path(), settings(false)).await;
    let mut statuses = Vec::new();
    for (method, path, body) in requests() {
        statuses.push((method, path.clone(), send(&quiet, method, &path, body).await));
    }
    for status in [200, 400, 404, 405, 422] {
        assert!(statuses.iter().any(|(.., seen)| *seen == status), "no reply had the status {status}: {statuses:?}");
    }
    let bare = send(&quiet, "GET", "/livez", String::new()).await;
    assert_eq!(bare, 200);
    quiet.wait_until("has logged the last request", |server| {
        server.log_lines().into_iter().find(|line| line["message"] == "request" && line["route"] == "/livez")
    });
    assert_eq!(with_marker(&quiet), Vec::<Value>::new());
    // Facts of a chat that are not text are logged.
    let chat = quiet.log_lines().into_iter().find(|line| line["message"] == "chat" && line["path"] == "rag").unwrap();
    assert_eq!((&chat["model"], chat["response_budget_tokens"].is_u64()), (&json!("served"), true), "{chat}");
    // Every route got a request.
    let routes = openapi();
    for route in routes.paths.paths.keys() {
        let parts: Vec<&str> = route.split('/').collect();
        let is_it = |path: &str| {
            let path: Vec<&str> = path.split('?').next().unwrap().split('/').collect();
            path.len() == parts.len()
                && path.iter().zip(&parts).all(|(sent, part)| part.starts_with('{') || sent == part)
        };
        assert!(statuses.iter().any(|(_, path, _)| is_it(path)), "no marker was sent to {route}");
    }
    drop(quiet);

    let data = tempfile::tempdir().unwrap();
    let mut open = server(data.path(), settings(true)).await;
    assert_eq!(send(&open, "GET", &format!("/indexes/{MARKER}"), String::new()).await, 404);
    open.wait_until("logs the name that was asked for", |server| {
        with_marker(server).into_iter().find(|line| line["error"].as_str().is_some_and(|words| words.contains(MARKER)))
    });
}

/// The language model's reply: one failure for each way in which an endpoint can send text.
fn failing(question: &str) -> Response {
    let error = json!({"error": {"message": format!("{MARKER} in an error")}});
    match question {
        "refuse" => json_reply(429, &error),
        "unauthorized" => json_reply(401, &error),
        "fail" => json_reply(500, &error),
        "plain" => text_reply(500, "quincewyvern in plain text"),
        "nonsense" => text_reply(200, "quincewyvern is no answer"),
        "redirect" => {
            let mut reply = text_reply(308, "");
            reply.headers_mut().insert("location", format!("http://other/{MARKER}").parse().unwrap());
            reply
        }
        "stream" => event_reply([delta(MARKER), format!("data: {error}\n\n")].map(Ok).into()),
        "broken" => event_reply([delta(MARKER), format!("data: {MARKER}")].map(Ok).into()),
        _ => json_reply(200, &completion(MARKER)),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_of_an_endpoint_is_in_the_log() {
    let upstream = Upstream::listing(
        |_| json_reply(503, &json!({"error": {"message": format!("{MARKER} in a list")}})),
        |body| failing(body["messages"][0]["content"].as_str().unwrap_or_default()),
    )
    .await;
    let embedder = RemoteEmbedder::scripted(|inputs| match inputs[0].as_str() {
        "refuse" => json_reply(400, &json!({"error": {"message": format!("{MARKER} cannot be embedded")}})),
        "nonsense" => json_reply(200, &json!({"data": [{"embedding": MARKER}]})),
        _ => reply(&inputs, |text| words(text, 8)),
    })
    .await;
    let settings = embedder.settings(
        "m",
        &format!("inferenceService: {{url: '{}', probeSeconds: 1}}\nlog: {{level: trace}}", upstream.url),
    );
    let data = tempfile::tempdir().unwrap();
    let mut server = server(data.path(), settings).await;
    let down = server.wait_until("finds the language model down", |server| {
        server.log_lines().into_iter().find(|line| line["message"] == "language model is down")
    });
    assert_eq!((&down["cause"], &down["reason"], down.get("said")), (&json!("silent"), &json!("503"), None));
    for question in ["refuse", "unauthorized", "fail", "plain", "nonsense", "redirect", "stream", "broken", "answer"] {
        for stream in [false, true] {
            let body = json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": question}]});
            send(&server, "POST", "/v1/chat/completions", body.to_string()).await;
        }
    }
    for question in ["refuse", "nonsense"] {
        let retrieve = json!({"index_name": "docs", "query": question}).to_string();
        assert_eq!(send(&server, "POST", "/retrieve", retrieve).await, 502);
        assert_eq!(send(&server, "POST", "/v1/chat/completions", ask("docs", question).to_string()).await, 502);
        let add = json!({"index_name": "docs", "documents": [{"text": question}]}).to_string();
        assert_eq!(send(&server, "POST", "/index", add).await, 502);
        let embeddings = json!({"input": question}).to_string();
        assert_eq!(send(&server, "POST", "/v1/embeddings", embeddings).await, 502);
    }
    assert_eq!(send(&server, "GET", "/v1/models", String::new()).await, 503);
    server.wait_until("has logged the last request", |server| {
        server.log_lines().into_iter().find(|line| line["route"] == "/v1/models")
    });
    assert_eq!(with_marker(&server), Vec::<Value>::new());
    // The status of the endpoint and the length of its text are logged.
    let lines = server.log_lines();
    let has = |words: &str| lines.iter().any(|line| line["error"].as_str().is_some_and(|error| error.contains(words)));
    for words in [
        "the language model answered 429, in",
        "redirects (308)",
        "the embedding endpoint answered 400 with a message of",
    ] {
        assert!(has(words), "{words} is not in {lines:#?}");
    }
}

/// The language model's reply to a side task: a question or an order, or a failure for a question with this word.
fn side_task(body: &Value) -> Response {
    let messages = &body["messages"];
    let system = messages[0]["content"].as_str().unwrap_or_default();
    let is_task = ["Rewrite", "Order passages"].iter().any(|task| system.starts_with(task));
    let has = |word: &str| messages[1]["content"].as_str().unwrap_or_default().contains(word);
    match () {
        () if is_task && has("fail") => json_reply(500, &json!({"error": {"message": format!("{MARKER} failed")}})),
        () if is_task && has("nonsense") => json_reply(200, &json!({"choices": MARKER})),
        () if system.starts_with("Order") => json_reply(200, &completion("[2, 1]")),
        () => json_reply(200, &completion(&format!("When is the {MARKER} due?"))),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_of_a_side_task_is_in_the_log() {
    let upstream = Upstream::scripted(|body| side_task(&body)).await;
    let settings = |texts: bool| {
        format!(
            "inferenceService: {{url: '{}'}}\nretrieval: {{maxDistance: 4}}\nlog: {{level: trace, texts: {texts}}}\n\
             endpoints: {{completions: {{condense: always, reformulate: true, rerank: always}}}}",
            upstream.url
        )
    };
    let chat = |word: &str, has_history: bool| {
        let question = json!({"role": "user", "content": format!("Is the {MARKER} {word} due?")});
        let mut body = ask("docs", "");
        body["messages"] = json!([question]);
        if has_history {
            let said = format!("The {MARKER}.");
            body["messages"] = json!([question, {"role": "assistant", "content": said}, question]);
        }
        body.to_string()
    };
    let data = tempfile::tempdir().unwrap();
    let mut quiet = server(data.path(), settings(false)).await;
    for word in ["tax", "fail", "nonsense"] {
        for has_history in [true, false] {
            assert_eq!(send(&quiet, "POST", "/v1/chat/completions", chat(word, has_history)).await, 200);
        }
    }
    assert_eq!(send(&quiet, "GET", "/livez", String::new()).await, 200);
    quiet.wait_until("has logged the last request", |server| {
        server.log_lines().into_iter().find(|line| line["message"] == "request" && line["route"] == "/livez")
    });
    assert_eq!(with_marker(&quiet), Vec::<Value>::new());
    // A failure is logged once, with its kind and the request.
    let lines = quiet.log_lines();
    for message in ["question not rewritten: it is searched for as it is", "chunks not reranked: their order stays"] {
        let failures: Vec<&Value> = lines.iter().filter(|line| line["message"] == message).collect();
        let kinds: Vec<&str> = failures.iter().map(|line| line["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["llm_refused", "llm_refused", "nonsense", "nonsense"], "{failures:#?}");
        assert!(failures.iter().all(|line| line["request_id"].is_string() && line["endpoint"] == "completions"));
    }
    drop(quiet);

    let data = tempfile::tempdir().unwrap();
    let mut open = server(data.path(), settings(true)).await;
    for has_history in [true, false] {
        assert_eq!(send(&open, "POST", "/v1/chat/completions", chat("tax", has_history)).await, 200);
    }
    for expected in [
        format!("[condense_plus_context] Condensed question: When is the {MARKER} due?"),
        format!("Query reformulated: Is the {MARKER} tax due? → When is the {MARKER} due?"),
    ] {
        open.wait_until("logs the questions", |server| {
            server.log_lines().into_iter().find(|line| line["message"] == expected && line["level"] == "INFO")
        });
    }
}
