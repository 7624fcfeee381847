//! Passages in the prompt with their sources instead of numbers.

use serde_json::json;

use crate::support::upstream::Upstream;
use crate::support::{Server, ask};

#[tokio::test]
async fn passages_have_their_sources_and_are_separated() {
    let upstream = Upstream::friendly().await;
    let server = Server::start(&upstream.settings()).await;
    let document = |doc_id: &str, text: &str, metadata| json!({"doc_id": doc_id, "text": text, "metadata": metadata});
    let documents = [
        document("a", "The ferry leaves at nine.", json!({"url": "https://ferry.example/times", "path": "times.md"})),
        document("b", "The ferry costs five euros.", json!({"path": "prices.md"})),
        document("c", "The ferry carries bicycles.", json!({})),
    ];
    server.post("/index", &json!({"index_name": "docs", "documents": documents})).await.ok();
    let mut body = ask("docs", "What about the ferry?");
    (body["pipeline"], body["explain"]) = (json!({"context_format": "source"}), json!(true));
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    assert_eq!(reply["source_nodes"].as_array().unwrap().len(), 3);
    let prompt = upstream.last().json()["messages"][0]["content"].as_str().unwrap().to_owned();
    for part in [
        "Source: https://ferry.example/times\nThe ferry leaves at nine.",
        "Source: prices.md\nThe ferry costs five euros.",
        "Source: c\nThe ferry carries bicycles.",
    ] {
        assert!(prompt.contains(part), "{prompt}");
    }
    assert_eq!((prompt.matches("\n\n---\n\n").count(), prompt.matches("\n===").count()), (2, 2), "{prompt}");
    assert!(!prompt.contains("[1]"), "{prompt}");

    // The counts of both forms are kept apart.
    let tokens = |reply: &serde_json::Value| reply["explanation"]["chunks"][0]["tokens"].clone();
    let with_sources = tokens(&reply);
    body["pipeline"] = json!({});
    let numbered = server.post("/v1/chat/completions", &body).await.ok();
    assert_ne!(tokens(&numbered), with_sources);
    assert!(upstream.last().json()["messages"][0]["content"].as_str().unwrap().contains("[1]"));
}
