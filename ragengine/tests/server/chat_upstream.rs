use std::time::Duration;

use axum::response::IntoResponse as _;
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::support::upstream::{Upstream, completion, json_reply, text_reply};
use crate::support::{FACTS, Server, ask};

async fn server(upstream: &Upstream) -> Server {
    let server = Server::start(&upstream.settings()).await;
    server.add("docs", &FACTS).await;
    server
}

#[tokio::test]
async fn a_pass_through_sends_the_callers_own_bytes() {
    let upstream = Upstream::friendly().await;
    let server = server(&upstream).await;
    let body = "{ \"model\":\"m\",\n  \"messages\": [{\"role\":\"user\",\"content\":\"Hi\"}], \"x\": 1.50, \"n\": 3 }";
    let reply = server.post_bytes("/v1/chat/completions", body).await.ok();
    assert_eq!(upstream.last().body, body.as_bytes());
    let mut expected = completion("Hello.");
    expected["source_nodes"] = Value::Null;
    assert_eq!(reply, expected);
}

#[tokio::test]
async fn a_reply_without_created_gets_one() {
    let upstream = Upstream::scripted(|body| {
        if body["seed"] == 1 {
            text_reply(200, r#"{"id": "c1", "created": null}"#)
        } else {
            text_reply(200, r#"{"id": "c1"}"#)
        }
    })
    .await;
    let server = server(&upstream).await;
    for body in [json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}), ask("docs", FACTS[3].1)] {
        for seed in [0, 1] {
            let mut body = body.clone();
            body["seed"] = json!(seed);
            let text = server.post("/v1/chat/completions", &body).await.text;
            let reply: Value = serde_json::from_str(&text).unwrap();
            assert!(reply["created"].as_u64().is_some_and(|seconds| seconds > 1_700_000_000), "{text}");
            assert_eq!(text.matches("\"created\"").count(), 1, "{text}");
        }
    }
}

#[tokio::test]
async fn a_tiny_context_window_works() {
    let upstream = Upstream::friendly().await;
    let settings = format!("{{inferenceService: {{url: '{}', contextWindowSize: 100}}}}", upstream.url);
    let server = Server::start(&settings).await;
    server.add("docs", &FACTS).await;
    let mut body = ask("docs", "tax?");
    body["max_tokens"] = json!(1000);
    server.post("/v1/chat/completions", &body).await.ok();
    assert!(upstream.last().json()["max_tokens"].as_u64().is_some_and(|tokens| (1..100).contains(&tokens)));
}

#[tokio::test]
async fn our_fields_and_the_callers_authorization_are_not_forwarded() {
    let upstream = Upstream::friendly().await;
    let server = server(&upstream).await;
    let messages = json!([{"role": "user", "content": "Hi"}]);
    let body = json!({"messages": messages, "index_name": "", "context_token_ratio": 0.5, "seed": 1});
    let request = server
        .request("/v1/chat/completions")
        .body(body.to_string())
        .bearer_auth("callers")
        .header("x-request-id", "r-1");
    let reply = Server::reply(request).await;
    reply.ok();
    assert_eq!(reply.headers["x-request-id"], "r-1");
    let received = upstream.last();
    assert_eq!(received.json(), json!({"messages": [{"role": "user", "content": "Hi"}], "seed": 1, "model": "served"}));
    assert_eq!(
        (received.headers.get("authorization"), received.headers["x-request-id"].to_str().unwrap()),
        (None, "r-1")
    );
}

#[tokio::test]
async fn the_key_is_sent_upstream_and_never_shown() {
    let upstream = Upstream::scripted(|_| {
        json_reply(401, &json!({"error": {"message": "bad key sk-very-secret", "code": "invalid_api_key"}}))
    })
    .await;
    let key = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(key.path(), "sk-very-secret\n").unwrap();
    let settings =
        format!("{{inferenceService: {{url: '{}', apiKey: {{file: {}}}}}}}", upstream.url, key.path().display());
    let server = Server::start(&settings).await;
    let reply = server
        .post("/v1/chat/completions", &json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}))
        .await;
    assert_eq!(upstream.last().headers["authorization"], "Bearer sk-very-secret");
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (401, &json!("invalid_api_key")));
    assert!(reply.text.contains("bad key ***") && !reply.text.contains("sk-very"), "{}", reply.text);
}

#[tokio::test]
async fn a_key_in_another_encoding_is_never_shown() {
    for (status, words) in [
        // With escapes in an error, in JSON that is not an OpenAI error, and in plain text.
        (401, r#"{"error": {"message": "bad key sk-\u0073\"ecret\\1"}}"#),
        (401, r#"{"detail": {"keys": ["sk-s\"ecret\\1"]}}"#),
        (500, r#"got sk-s"ecret\1"#),
        // In a successful reply that is not a completion.
        (200, r#"got sk-s"ecret\1"#),
        (200, r#"["sk-s\"ecret\\1"]"#),
    ] {
        let upstream = Upstream::scripted(move |_| text_reply(status, words)).await;
        let key = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(key.path(), r#"sk-s"ecret\1"#).unwrap();
        let settings =
            format!("{{inferenceService: {{url: '{}', apiKey: {{file: {}}}}}}}", upstream.url, key.path().display());
        let through = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
        let reply = Server::start(&settings).await.post("/v1/chat/completions", &through).await;
        let said = reply.error(if status == 200 { 502 } else { status });
        assert!(!said.contains("ecret"), "{words}: {said}");
    }
}

#[tokio::test]
async fn a_passed_through_request_is_not_validated() {
    let upstream = Upstream::friendly().await;
    let server = server(&upstream).await;
    for (field, value) in [("max_tokens", json!(-1)), ("max_completion_tokens", json!(1.5)), ("n", json!(0))] {
        let mut through = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
        through[field] = value.clone();
        server.post("/v1/chat/completions", &through).await.ok();
        assert_eq!(upstream.last().json()[field], value);
        let mut about = ask("docs", "When is the annual tax return due?");
        about[field] = value;
        assert!(server.post("/v1/chat/completions", &about).await.error(400).contains(field));
    }
}

#[tokio::test]
async fn a_redirect_of_the_language_model_is_an_error() {
    let upstream = Upstream::scripted(|_| {
        let mut response = text_reply(308, "");
        response.headers_mut().insert("location", "https://other.example/v1?key=secret".parse().unwrap());
        response
    })
    .await;
    let server = server(&upstream).await;
    let through = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
    let said = server.post("/v1/chat/completions", &through).await.error(502);
    assert!(said.contains("redirects (308) to https://other.example/v1:") && !said.contains("secret"), "{said}");
}

#[tokio::test]
async fn the_timeout_covers_the_whole_answer() {
    // The body begins and never ends.
    let upstream = Upstream::scripted(|_| {
        let begun = futures_util::stream::iter([Ok::<_, std::io::Error>("{".to_owned())]);
        let stream = futures_util::StreamExt::chain(begun, futures_util::stream::pending());
        axum::body::Body::from_stream(stream).into_response()
    })
    .await;
    let server = server(&upstream).await;
    let through = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
    assert!(server.post("/v1/chat/completions", &through).await.error(504).contains("within 2 s"));
}

#[tokio::test]
async fn an_answer_from_documents_has_its_sources() {
    let upstream = Upstream::friendly().await;
    let server = server(&upstream).await;
    let mut body = ask("docs", "When is the annual tax return due?");
    body["messages"] = json!([
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Hello", "name": "ann"},
        {"role": "assistant", "content": "Hi!"},
        {"role": "user", "content": "When is the annual tax return due?"}
    ]);
    body["temperature"] = json!(0.25);
    body["stop"] = json!(["END"]);
    body["response_format"] = json!({"type": "json_object"});
    body["made_up"] = json!({"a": [1, 2]});
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    let sent = upstream.last().json();
    for field in ["model", "temperature", "stop", "response_format", "made_up"] {
        assert_eq!(sent[field], body[field], "{field}");
    }
    assert_eq!((sent.get("index_name"), sent.get("max_tokens")), (None, None));
    let messages = sent["messages"].as_array().unwrap();
    let system = messages[0]["content"].as_str().unwrap();
    assert!(system.starts_with("Be brief.\n\n") && system.contains("[1]") && system.contains(FACTS[3].1), "{system}");
    assert_eq!(
        messages.iter().filter(|message| message["role"] == "system" || message["role"] == "developer").count(),
        1
    );
    assert_eq!(messages[1..], body["messages"].as_array().unwrap()[1..]);
    assert_eq!(reply["source_nodes"][0]["doc_id"], "tax");
    for field in ["id", "usage", "system_fingerprint", "choices"] {
        assert_eq!(reply[field], completion("Hello.")[field], "{field}");
    }
}

#[tokio::test]
async fn a_template_in_a_question_stays_text() {
    let upstream = Upstream::friendly().await;
    let server = server(&upstream).await;
    let question = "When is the annual {context_str} tax return due, {{this}}?";
    server.post("/v1/chat/completions", &ask("docs", question)).await.ok();
    assert_eq!(upstream.last().json()["messages"][1]["content"], question);
}

#[tokio::test]
async fn max_tokens_is_lowered_to_what_the_window_leaves() {
    let upstream = Upstream::with_models(json!({"data": [{"id": "m", "max_model_len": 1000}]}), |_| {
        json_reply(200, &completion("ok"))
    })
    .await;
    let server = server(&upstream).await;
    let mut body = ask("docs", "When is the annual tax return due?");
    body["max_tokens"] = json!(5000);
    server.post("/v1/chat/completions", &body).await.ok();
    let sent = upstream.last().json()["max_tokens"].as_u64().unwrap();
    assert!(sent < 1000, "{sent}");
    body["max_tokens"] = json!(300);
    server.post("/v1/chat/completions", &body).await.ok();
    assert_eq!(upstream.last().json()["max_tokens"], 300);
}

#[tokio::test]
async fn nothing_relevant_goes_to_the_model_without_our_fields() {
    let upstream = Upstream::friendly().await;
    let settings = format!("{{inferenceService: {{url: '{}'}}, retrieval: {{maxDistance: 0.1}}}}", upstream.url);
    let server = Server::start(&settings).await;
    server.add("docs", &FACTS).await;
    let mut body = ask("docs", "Who wrote the opera about a flute?");
    body["context_token_ratio"] = json!(0.5);
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    assert_eq!(reply["source_nodes"], Value::Null);
    assert_eq!(upstream.last().json(), json!({"model": "m", "messages": body["messages"]}));
}

#[tokio::test]
async fn an_upstreams_error_keeps_its_status_and_message_on_both_paths() {
    for (status, text, expected) in [
        (429, r#"{"error": {"message": "slow down", "type": "rate_limit"}}"#, "slow down"),
        (400, r#"{"error": {"message": "bad temperature"}}"#, "bad temperature"),
        (500, "Internal Server Error", "the language model answered 500: Internal Server Error"),
        (418, r#"{"detail": "odd"}"#, r#"the language model answered 418: {"detail": "odd"}"#),
    ] {
        let upstream = Upstream::scripted(move |_| {
            let mut response = text_reply(status, text);
            response.headers_mut().insert("retry-after", "7".parse().unwrap());
            response
        })
        .await;
        let server = server(&upstream).await;
        let through = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
        for body in [through, ask("docs", "When is the annual tax return due?")] {
            let reply = server.post("/v1/chat/completions", &body).await;
            assert_eq!(reply.error(status), expected);
            assert_eq!(reply.headers["retry-after"], "7");
        }
    }
}

#[tokio::test]
async fn each_failure_of_the_language_model_has_its_own_error() {
    let through = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
    let unreachable = Server::start("{inferenceService: {url: 'http://127.0.0.1:9/v1'}}").await;
    assert!(unreachable.post("/v1/chat/completions", &through).await.error(502).contains("cannot be reached"));
    assert!(unreachable.get("/v1/models").await.error(502).contains("127.0.0.1:9"));
    let nonsense = Upstream::scripted(|_| text_reply(200, "<html>hello</html>")).await;
    assert!(server(&nonsense).await.post("/v1/chat/completions", &through).await.error(502).contains("not JSON"));
    let silent = Upstream::scripted(|_| {
        let stream = futures_util::stream::pending::<Result<String, std::io::Error>>();
        axum::body::Body::from_stream(stream).into_response()
    })
    .await;
    assert!(server(&silent).await.post("/v1/chat/completions", &through).await.error(504).contains("timeoutSeconds"));
}

#[tokio::test]
async fn a_connect_timeout_is_reported() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    // The listener never accepts, so these connections fill its queue.
    let filling = (0..4).map(|_| timeout(Duration::from_millis(200), TcpStream::connect(address)));
    let waiting = futures_util::future::join_all(filling).await;
    assert!(waiting.iter().any(Result::is_err), "the listener's queue is not full");
    let through = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
    // A plain URL uses the direct client, a URL with a password uses reqwest.
    for url in [format!("http://{address}/v1"), format!("http://me:secret@{address}/v1")] {
        let settings = format!("{{inferenceService: {{url: '{url}', connectTimeoutSeconds: 1}}}}");
        let reply = Server::start(&settings).await.post("/v1/chat/completions", &through).await;
        assert!(reply.error(502).contains("connectTimeoutSeconds"), "{}", reply.error(502));
    }
}

#[tokio::test]
async fn concurrent_chats_share_nothing() {
    let upstream = Upstream::scripted(|body| {
        json_reply(
            200,
            &json!({"model": body["model"], "seed": body["seed"], "choices": [{"message": {"content": "x"}}]}),
        )
    })
    .await;
    let server = server(&upstream).await;
    let chats = (0..64).map(|number| {
        let mut body = ask("docs", "When is the annual tax return due?");
        body["model"] = json!(format!("model-{number}"));
        body["seed"] = json!(number);
        let server = &server;
        async move {
            let reply = server.post("/v1/chat/completions", &body).await.ok();
            assert_eq!((&reply["model"], &reply["seed"]), (&body["model"], &body["seed"]));
        }
    });
    futures_util::future::join_all(chats).await;
    assert_eq!(upstream.received().len(), 64);
}

#[tokio::test]
async fn the_list_of_models_is_the_upstreams() {
    let upstream = Upstream::friendly().await;
    let server = server(&upstream).await;
    assert_eq!(server.get("/v1/models").await.ok()["data"][0]["id"], "served");
    assert_eq!(server.get("/v1/models/served").await.ok()["max_model_len"], 8192);
    assert!(server.get("/v1/models/some/other").await.error(404).contains("'some/other'"));
}

#[tokio::test]
async fn a_connection_to_the_language_model_is_reused() {
    use axum::extract::ConnectInfo;
    use std::net::SocketAddr;

    let clients = std::sync::Arc::new(parking_lot::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&clients);
    let answer = move |ConnectInfo(client): ConnectInfo<SocketAddr>| async move {
        seen.lock().push(client);
        json_reply(200, &completion("ok"))
    };
    let router = axum::Router::new()
        .route("/v1/chat/completions", axum::routing::post(answer))
        .into_make_service_with_connect_info::<SocketAddr>();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let through = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
    for (setting, is_reused) in [("", true), (", maxIdleConnections: 0", false)] {
        let server = Server::start(&format!("{{inferenceService: {{url: '{url}'{setting}}}}}")).await;
        clients.lock().clear();
        for _ in 0..2 {
            server.post("/v1/chat/completions", &through).await.ok();
        }
        let clients = clients.lock();
        assert_eq!(clients[0] == clients[1], is_reused, "{setting}");
    }
}
