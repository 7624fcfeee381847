//! Snapshots of whole replies. `INSTA_UPDATE=always cargo test` updates them.

use serde_json::{Value, json};

use crate::support::{Server, ask, events};

/// Replaces what differs from run to run, and rounds distances, because processors add in different orders.
fn steady(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match name.as_str() {
                "id" | "created" | "data_id" | "fingerprint" => (name.clone(), json!(format!("[{name}]"))),
                _ => (name.clone(), steady(value)),
            })
            .collect(),
        Value::Array(items) => items.iter().map(steady).collect(),
        Value::Number(number) if number.is_f64() => json!(format!("{:.2}", number.as_f64().unwrap())),
        other => other.clone(),
    }
}

async fn server() -> Server {
    let server = Server::shared();
    let documents = json!([
        {
            "doc_id": "leave", "text": "Tell the office three days before you take a day off.",
            "metadata": {"title": "Leave", "page": 3}
        },
        {
            "doc_id": "pay", "text": "Wages are paid on the last working day of the month.",
            "metadata": {"title": "Pay"}, "source": "book"
        }
    ]);
    server.post("/index", &json!({"index_name": "snapshots", "documents": documents})).await.ok();
    server
}

#[tokio::test]
async fn replies() {
    let server = server().await;
    let question = "When are wages paid?";
    insta::assert_json_snapshot!("index", steady(&server.get("/indexes/snapshots").await.ok()));
    insta::assert_json_snapshot!("documents", steady(&server.get("/indexes/snapshots/documents").await.ok()));
    let retrieve = server.post("/retrieve", &json!({"index_name": "snapshots", "query": question})).await.ok();
    insta::assert_json_snapshot!("retrieve", steady(&retrieve));
    let chat = server.post("/v1/chat/completions", &ask("snapshots", question)).await.ok();
    insta::assert_json_snapshot!("chat", steady(&chat));
    let mut streaming = ask("snapshots", question);
    streaming["stream"] = json!(true);
    let (chunks, _) = events(&server.post("/v1/chat/completions", &streaming).await.text);
    insta::assert_json_snapshot!("stream", steady(&Value::from(chunks)));
}

#[tokio::test]
async fn errors() {
    let server = server().await;
    let mut replies = Vec::new();
    for (path, body) in [
        ("/v1/chat/completions", json!({"messages": "hi"})),
        ("/v1/chat/completions", ask("nowhere", "hi")),
        ("/v1/chat/completions", json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]})),
        ("/v1/embeddings", json!({"input": 1})),
        ("/retrieve", json!({"index_name": "snapshots"})),
        ("/retrieve", json!({"index_name": "snapshots", "query": "", "max_node_count": 1})),
        ("/index", json!({"index_name": "snapshots", "documents": [{"text": ""}]})),
        ("/index", json!({"index_name": "no/name", "documents": [{"text": "x"}]})),
        ("/nothing", json!({})),
    ] {
        let reply = server.post(path, &body).await;
        replies.push(json!({"path": path, "sent": body, "status": reply.status, "reply": reply.json()}));
    }
    insta::assert_json_snapshot!("errors", replies);
}
