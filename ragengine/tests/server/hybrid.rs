//! Searches by vectors and by words, newer documents first, and no chunk twice.

use serde_json::{Value, json};

use crate::support::upstream::Upstream;
use crate::support::{Server, ask};

fn document(doc_id: &str, text: &str) -> Value {
    json!({"doc_id": doc_id, "text": text})
}

async fn server(upstream: &Upstream, settings: &str) -> Server {
    let settings = format!("inferenceService: {{url: '{}'}}\n{settings}", upstream.url);
    let server = Server::start(&settings).await;
    let documents = [
        document("pump", "If the pump reports E1234, close the inlet valve."),
        document("lamp", "If the lamp reports E9876, replace the bulb."),
        document("lunch", "Lunch is served at half past twelve in the garden."),
        document("garden", "The garden closes at dusk."),
    ];
    server.post("/index", &json!({"index_name": "docs", "documents": documents})).await.ok();
    server
}

fn ids(nodes: &Value) -> Vec<&str> {
    nodes.as_array().unwrap().iter().map(|node| node["doc_id"].as_str().unwrap()).collect()
}

async fn retrieve(server: &Server, query: &str, mode: &str) -> Value {
    let mut body = json!({"index_name": "docs", "query": query, "explain": true});
    if !mode.is_empty() {
        body["pipeline"] = json!({"retrieval": mode});
    }
    server.post("/retrieve", &body).await.ok()
}

#[tokio::test]
async fn retrieve_is_hybrid_by_default() {
    let server = server(&Upstream::friendly().await, "").await;
    let reply = retrieve(&server, "What does E1234 mean?", "").await;
    let (first, last) = (&reply["results"][0], &reply["results"][3]);
    assert_eq!((&first["doc_id"], &first["source"]), (&json!("pump"), &json!("both")));
    let number = |node: &Value, key: &str| node[key].as_f64().unwrap();
    let expected = 0.7 * number(first, "dense_score").max(0.0) + 0.3;
    assert!((number(first, "score") - expected).abs() < 1e-5, "{reply}");
    assert_eq!((&last["source"], &last["sparse_score"]), (&json!("dense_only"), &Value::Null));
    let expected = 0.7 * number(last, "dense_score").max(0.0);
    assert!((number(last, "score") - expected).abs() < 1e-5, "{reply}");
    assert_eq!(reply["explanation"]["stages"][1]["stage"], "retrieval", "{reply}");
    assert_eq!(reply["explanation"]["stages"][1]["outcome"], "done", "{reply}");
    assert_eq!(reply["explanation"]["band"], "below", "{reply}");
}

#[tokio::test]
async fn each_way_to_find_chunks_is_chosen_by_the_request() {
    let server = server(&Upstream::friendly().await, "").await;
    let reply = retrieve(&server, "E9876 in the garden", "text").await;
    let mut found = ids(&reply["results"]);
    assert_eq!(found[0], "lamp", "{reply}");
    found.sort_unstable();
    assert_eq!(found, ["garden", "lamp", "lunch"]);
    assert!(reply["results"].as_array().unwrap().iter().all(|node| node["source"] == "sparse_only"), "{reply}");
    assert_eq!((&reply["results"][0]["score"], &reply["results"][0]["dense_score"]), (&json!(1.0), &Value::Null));

    let reply = retrieve(&server, "E9876", "rrf").await;
    assert_eq!((ids(&reply["results"])[0], reply["results"].as_array().unwrap().len()), ("lamp", 4));
    let reply = retrieve(&server, "E9876", "dense").await;
    assert_eq!(reply["results"][0]["score"], reply["results"][0]["dense_score"]);
    assert!(reply["results"].as_array().unwrap().iter().all(|node| node["sparse_score"].is_null()), "{reply}");

    let reply =
        server.post("/retrieve", &json!({"index_name": "docs", "query": "x", "pipeline": {"recency": true}})).await;
    assert_eq!(reply.status, 422, "{}", reply.text);
    assert!(reply.text.contains("unknown field `recency`"), "{}", reply.text);
}

#[tokio::test]
async fn a_changed_document_is_found_by_its_new_words_only() {
    let server = server(&Upstream::friendly().await, "").await;
    assert_eq!(ids(&retrieve(&server, "E1234", "text").await["results"]), ["pump"]);
    let changed = json!({"index_name": "docs", "documents": [document("pump", "If the pump reports E5555, wait.")]});
    server.post("/index", &changed).await.ok();
    assert_eq!(retrieve(&server, "E1234", "text").await["count"], 0);
    assert_eq!(ids(&retrieve(&server, "E5555", "text").await["results"]), ["pump"]);
    server.post("/indexes/docs/documents/delete", &json!({"doc_ids": ["pump"]})).await.ok();
    assert_eq!(retrieve(&server, "E5555", "text").await["count"], 0);
}

#[tokio::test]
async fn a_chat_can_be_hybrid_and_keeps_its_threshold() {
    let upstream = Upstream::friendly().await;
    let server = server(&upstream, "retrieval: {maxDistance: 1.2}").await;
    let mut body = ask("docs", "What does E1234 mean for the pump?");
    body["explain"] = json!(true);
    let plain = server.post("/v1/chat/completions", &body).await.ok();
    assert_eq!(plain["explanation"].get("band"), None, "{plain}");
    body["pipeline"] = json!({"retrieval": "hybrid"});
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    assert_eq!(ids(&reply["source_nodes"])[0], "pump");
    let chunks = reply["explanation"]["chunks"].as_array().unwrap();
    let scores: Vec<f64> = chunks.iter().map(|chunk| chunk["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|left, right| left >= right), "{reply}");
    for chunk in chunks {
        let is_near = chunk["distance"].as_f64().unwrap() <= 1.2;
        assert_eq!(chunk["decision"] == "over_threshold", !is_near, "{reply}");
    }
    // The words of a question cannot lift a chunk over the threshold.
    body["messages"][0]["content"] = json!("garden");
    body["pipeline"] = json!({"retrieval": "text"});
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    let chunks = reply["explanation"]["chunks"].as_array().unwrap();
    let far = chunks.iter().filter(|chunk| chunk["distance"].as_f64().unwrap() > 1.2);
    assert!(far.clone().all(|chunk| chunk["decision"] == "over_threshold"), "{reply}");

    for (stages, reason) in [
        (json!({"retrieval": "sparse"}), "unknown variant `sparse`"),
        (json!({"unknown": true}), "unknown field `unknown`"),
        (json!({"recency": 1}), "invalid type: integer `1`, expected a boolean"),
        (json!([]), "an object"),
    ] {
        body["pipeline"] = stages;
        let reply = server.post("/v1/chat/completions", &body).await;
        assert_eq!(reply.status, 400, "{}", reply.text);
        assert!(reply.text.contains(reason), "{}", reply.text);
    }
}

#[tokio::test]
async fn newer_documents_come_first_and_twins_once() {
    let upstream = Upstream::friendly().await;
    let server = Server::start(&format!(
        "inferenceService: {{url: '{}'}}\nretrieval: {{maxDistance: 4, mmrLambda: 0.3}}",
        upstream.url
    ))
    .await;
    let text = "Travel by train is paid for by the office.";
    let documents = [
        document("policy_2019.md", text),
        document("policy_2024.md", text),
        document("undated", text),
        document("other", "Bicycles are parked behind the house."),
    ];
    server.post("/index", &json!({"index_name": "docs", "documents": documents})).await.ok();
    let chat = async |pipeline: Value| {
        let mut body = ask("docs", "Who pays for travel by train?");
        body["explain"] = json!(true);
        body["pipeline"] = pipeline;
        server.post("/v1/chat/completions", &body).await.ok()
    };
    let outcomes = |reply: &Value| {
        let stages = reply["explanation"]["stages"].as_array().cloned().unwrap_or_default();
        stages
            .iter()
            .map(|stage| format!("{} {}", stage["stage"], stage["outcome"]).replace('"', ""))
            .collect::<Vec<_>>()
    };
    let reply = chat(json!({"recency": true})).await;
    assert_eq!(ids(&reply["source_nodes"])[..3], ["policy_2024.md", "policy_2019.md", "undated"]);
    assert_eq!(outcomes(&reply), ["recency done"]);

    let reply = chat(json!({"recency": true, "diversity": "duplicates"})).await;
    assert_eq!(ids(&reply["source_nodes"])[0], "policy_2024.md");
    assert!(!reply["source_nodes"].to_string().contains("policy_2019.md"), "{reply}");
    assert_eq!(outcomes(&reply), ["recency done", "diversity done"]);
    let decisions = reply["explanation"]["chunks"].as_array().unwrap().iter().map(|chunk| &chunk["decision"]);
    assert_eq!(decisions.filter(|decision| **decision == "duplicate").count(), 2, "{reply}");

    // The most different chunk is second.
    let reply = chat(json!({"diversity": "mmr"})).await;
    assert_eq!(ids(&reply["source_nodes"])[1], "other", "{reply}");
}

#[tokio::test]
async fn a_context_is_assessed() {
    let server = Server::shared();
    let context = "[a/b - similarity: 0.900]\nQ: x\nA: y";
    let reply = server.post("/context/assess", &json!({"context": context, "query": "x"})).await.ok();
    let expected = json!({
        "entry_count": 1, "total_chars": 35, "avg_entry_length": 35.0, "has_metadata": true, "relevance_scores": [0.9],
        "avg_similarity": 0.9, "min_similarity": 0.9, "max_similarity": 0.9, "valid": true, "warnings": [],
        "filtered": context,
    });
    assert_eq!(reply, expected);
    let reply = server.post("/context/assess", &json!({"context": "", "query": "x"})).await.ok();
    assert_eq!(reply, json!({"quality": "empty", "score": 0, "valid": true, "warnings": [], "filtered": ""}));
    let reply = server.post("/context/assess", &json!({"context": "no entries", "query": "x"})).await.ok();
    assert_eq!((&reply["valid"], &reply["warnings"]), (&json!(false), &json!(["Context missing Q&A format"])));
    assert_eq!(server.post("/context/assess", &json!({"context": 1, "query": "x"})).await.status, 422);
    let large = "Q: x\nA: y\n\n---\n\n".repeat(5_000);
    let reply = server.post("/context/assess", &json!({"context": large, "query": "x"})).await.ok();
    assert_eq!(reply["warnings"][0], format!("Context very long: {} chars", large.len()));
}
