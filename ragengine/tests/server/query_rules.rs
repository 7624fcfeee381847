//! Acronyms and filter rules on chats and `/retrieve`.

use serde_json::{Value, json};

use crate::support::upstream::Upstream;
use crate::support::{Server, ask};

/// The sample with acronyms and rules, which are settings of the server, too.
const SAMPLE: &str = include_str!("../../../config/samples/rag-pipeline.yaml");

/// The settings of the sample's rules.
fn rules() -> Value {
    let sample: Value = serde_saphyr::from_str(SAMPLE).unwrap();
    let spec = &sample["spec"];
    json!({
        "rewrite": {"acronyms": spec["rewrite"]["acronyms"]},
        "retrieval": {"maxDistance": 1.4, "filterRules": spec["retrieval"]["filterRules"]},
    })
}

fn document(doc_id: &str, text: &str, metadata: Value) -> Value {
    json!({"doc_id": doc_id, "text": text, "metadata": metadata})
}

async fn server(upstream: &Upstream) -> Server {
    let mut settings = rules();
    settings["inferenceService"] = json!({"url": upstream.url});
    let server = Server::start(&settings.to_string()).await;
    let documents = [
        document("high", "The travel policy pays for trains.", json!({"category": "abo_policies", "priority": 8})),
        document("low", "The travel policy pays for planes.", json!({"category": "abo_policies", "priority": 3})),
        document("app", "Reports are entered in Georgia Counts.", json!({"category": "ga_counts_app"})),
        document("dean", "The dean is called Ada.", json!({"sourceEnvironment": "production"})),
        document("draft", "The dean is called Bob.", json!({"sourceEnvironment": "staging"})),
    ];
    server.post("/index", &json!({"index_name": "docs", "documents": documents})).await.ok();
    server
}

fn ids(nodes: &Value) -> Vec<String> {
    let id = |node: &Value| node["doc_id"].as_str().unwrap().to_owned();
    let mut ids: Vec<String> = nodes.as_array().map(|nodes| nodes.iter().map(id).collect()).unwrap_or_default();
    ids.sort_unstable();
    ids
}

/// The outcome of each stage in an explanation.
fn outcomes(reply: &Value) -> Vec<(String, String)> {
    let stages = reply["explanation"]["stages"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    stages.iter().map(|stage| (text(&stage["stage"]), text(&stage["outcome"]))).collect()
}

#[tokio::test]
async fn a_chat_that_asks_for_it_uses_the_rule_of_its_words() {
    let upstream = Upstream::friendly().await;
    let server = server(&upstream).await;
    let chat = async |question: &str, pipeline: Value| {
        let mut body = ask("docs", question);
        body["pipeline"] = pipeline;
        body["explain"] = json!(true);
        let reply = server.post("/v1/chat/completions", &body).await.ok();
        assert_eq!(upstream.last().json().get("pipeline"), None);
        reply
    };
    let on = json!({"filter_rules": true});
    let reply = chat("What does the travel policy pay for?", on.clone()).await;
    assert_eq!(ids(&reply["source_nodes"]), ["high"]);
    assert_eq!(outcomes(&reply), [("filters".to_owned(), "done".to_owned())]);
    assert_eq!(reply["explanation"]["stages"][0]["rule"], 1);
    let reply = chat("What is the dean called?", on.clone()).await;
    assert_eq!(ids(&reply["source_nodes"]), ["dean"]);
    assert_eq!(reply["explanation"]["stages"][0]["rule"], 4);

    // Without the field, nothing is filtered.
    let reply = chat("What is the dean called?", Value::Null).await;
    assert_eq!(ids(&reply["source_nodes"]), ["dean", "draft"]);
    assert_eq!(reply["explanation"].get("stages"), None);
}

#[tokio::test]
async fn a_rule_with_which_nothing_is_found_is_dropped() {
    let upstream = Upstream::friendly().await;
    let server = server(&upstream).await;
    let mut body = ask("docs", "Which logo does the dean have on the travel policy?");
    body["pipeline"] = json!({"filter_rules": true});
    body["explain"] = json!(true);
    // The policy is the first rule that matches.
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    assert_eq!(reply["explanation"]["stages"][0]["rule"], 1);
    body["messages"][0]["content"] = json!("Who is the dean on the logo?");
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    assert_eq!(outcomes(&reply), [("filters".to_owned(), "dropped".to_owned())]);
    assert!(ids(&reply["source_nodes"]).contains(&"draft".to_owned()), "{reply}");
    // The caller's own filter stays.
    body["metadata_filter"] = json!({"sourceEnvironment": {"$exists": true}, "category": {"$exists": false}});
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    assert_eq!(ids(&reply["source_nodes"]), ["dean", "draft"]);
    let metrics = server.get("/metrics").await.text;
    let series = "ragengine_pipeline_stages_total{endpoint=\"completions\",outcome=\"dropped\",stage=\"filters\"} 2";
    assert!(metrics.contains(series), "{metrics}");
}

#[tokio::test]
async fn acronyms_are_expanded_for_the_search_only() {
    let upstream = Upstream::friendly().await;
    let server = server(&upstream).await;
    let mut body = ask("docs", "Where do I report in GaCounts?");
    body["pipeline"] = json!({"acronyms": true, "filter_rules": true});
    body["explain"] = json!(true);
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    let stages = &reply["explanation"]["stages"];
    assert_eq!(stages[0]["question"], "Where do I report in Georgia Counts (GaCounts)?");
    assert_eq!((&stages[1]["rule"], ids(&reply["source_nodes"])), (&json!(0), vec!["app".to_owned()]));
    let sent = upstream.last().json()["messages"].to_string();
    assert!(sent.contains("Where do I report in GaCounts?") && !sent.contains("(GaCounts)"), "{sent}");

    // On for /retrieve by default.
    let retrieve = async |pipeline: Value| {
        let body = json!({
            "index_name": "docs", "query": "GaCounts", "max_node_count": 1, "pipeline": pipeline,
        });
        server.post("/retrieve", &body).await.ok()
    };
    let (on, off) = (retrieve(Value::Null).await, retrieve(json!({"acronyms": false})).await);
    assert_eq!((ids(&on["results"]), &on["query"]), (vec!["app".to_owned()], &json!("GaCounts")));
    let similarity = |reply: &Value| reply["results"][0]["score"].as_f64().unwrap();
    assert!(similarity(&on) > similarity(&off), "{on} {off}");
    let ruled = retrieve(json!({"filter_rules": true})).await;
    assert_eq!(ids(&ruled["results"]), ["app"]);
}

#[tokio::test]
async fn an_unknown_stage_is_refused() {
    let upstream = Upstream::friendly().await;
    let server = server(&upstream).await;
    for (pipeline, expected) in [
        (
            json!({"ranking": "always"}),
            "pipeline must be an object of stages (unknown field `ranking`, expected one of",
        ),
        (json!({"acronyms": 1}), "pipeline must be an object of stages (invalid type: integer `1`, expected a boolean"),
        (json!("all"), "pipeline must be an object."),
    ] {
        let mut body = ask("docs", "Why?");
        body["pipeline"] = pipeline.clone();
        let refused = server.post("/v1/chat/completions", &body).await;
        let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(refused.status == 400 && message.starts_with(expected), "{message}");
        let body = json!({"index_name": "docs", "query": "Why?", "pipeline": pipeline});
        assert!(server.post("/retrieve", &body).await.error(422).contains("pipeline"), "{pipeline}");
    }
}
