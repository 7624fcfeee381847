//! Earlier questions and their answers in the prompt.

use std::time::Duration;

use axum::http::HeaderValue;
use ragengine::access::Caller;
use ragengine::chat::{Arrival, ChatReplyBody, chat as answer};
use ragengine::language_model::Origin;
use ragengine::retrieval::stages::Endpoint;
use ragengine_access::Identity;
use ragengine_pipeline::openai;
use serde_json::{Value, json};

use crate::support::upstream::{Upstream, completion, delta, event_reply, finish, json_reply};
use crate::support::{FACTS, Server, ask, outcome, stage_of};

const QUESTION: &str = "When is the annual tax return due?";
const AGAIN: &str = "When is the tax return due this year?";

async fn upstream() -> Upstream {
    Upstream::scripted(|body| match body["stream"].as_bool() {
        Some(true) => {
            event_reply(vec![Ok(delta("In ")), Ok(delta("May [1].")), Ok(finish()), Ok("data: [DONE]\n\n".into())])
        }
        _ => {
            let mut whole = completion("In May [1].");
            whole["choices"][0]["finish_reason"] = json!("stop");
            json_reply(200, &whole)
        }
    })
    .await
}

async fn server(upstream: &Upstream, interactions: &str) -> Server {
    let yaml = format!(
        "inferenceService: {{url: '{}'}}\nretrieval: {{maxDistance: 1.1}}\ninteractions: {{enabled: true{interactions}}}",
        upstream.url
    );
    let server = Server::start(&yaml).await;
    server.add("docs", &FACTS).await;
    server
}

async fn chat(server: &Server, question: &str, pipeline: Value) -> Value {
    let mut body = ask("docs", question);
    (body["pipeline"], body["explain"]) = (pipeline, json!(true));
    server.post("/v1/chat/completions", &body).await.ok()
}

/// The number of a caller's interactions with a similar question.
async fn count_now(server: &Server, owner: &str) -> usize {
    let loaded = server.app.loaded().unwrap();
    let index = loaded.catalog.get("docs").await.unwrap();
    let vector = loaded.embedding.embed_query(QUESTION).await.unwrap();
    let store = loaded.stores.interactions().unwrap();
    let fingerprint = &index.record().embedding_fingerprint;
    store.nearest(owner, "docs", fingerprint, &vector, None, 100, -1.0).await.unwrap().len()
}

/// Waits until a caller has as many interactions with a similar question.
async fn kept(server: &Server, owner: &str, count: usize) {
    for _ in 0..200 {
        if count_now(server, owner).await == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{owner} has not {count} interactions");
}

/// The system message of the last prompt.
fn system(upstream: &Upstream) -> String {
    upstream.last().json()["messages"][0]["content"].as_str().unwrap().to_owned()
}

/// Asks as a caller whose name is known.
async fn ask_as(server: &Server, principal: &str, question: &str, pipeline: Value) {
    let mut body = ask("docs", question);
    body["pipeline"] = pipeline;
    let request = openai::read(body.to_string().into()).unwrap().into();
    let caller = Caller::known(Identity::of(principal.parse().unwrap()), None);
    let origin = Origin { request_id: HeaderValue::from_static("test"), room: None };
    let reply =
        answer(&server.app, &caller, request, Arrival::new(&server.app, Endpoint::Completions, origin, None)).await;
    let Ok(ChatReplyBody::Whole { body, .. }) = reply.map(|reply| reply.body) else { panic!("no whole answer") };
    assert!(String::from_utf8_lossy(&body).contains("In May"));
}

#[tokio::test]
async fn the_end_of_the_server_waits_for_the_last_interaction() {
    let upstream = upstream().await;
    let server = server(&upstream, ", anonymous: true").await;
    chat(&server, QUESTION, json!({"interactions": true})).await;
    server.app.wait_for_background_work().await;
    assert_eq!(count_now(&server, "-").await, 1);
}

#[tokio::test]
async fn an_earlier_answer_is_context_for_a_similar_question() {
    let upstream = upstream().await;
    let server = server(&upstream, ", anonymous: true").await;
    let first = chat(&server, QUESTION, json!({"interactions": true, "task_category": "taxes"})).await;
    assert_eq!(outcome(&first, "interactions"), "unchanged");
    kept(&server, "-", 1).await;

    let reply = chat(&server, AGAIN, json!({"interactions": true})).await;
    let stage = stage_of(&reply, "interactions");
    assert_eq!((&stage["outcome"], stage["ids"].as_array().unwrap().len()), (&json!("done"), 1));
    assert_eq!(stage["bands"], json!(["very_relevant"]));
    let prompt = system(&upstream);
    let (_, part) = prompt.split_once("\n=== ").unwrap();
    assert!(
        part.contains("\n[local/m/taxes - similarity: 0.") || part.contains("\n[local/served/taxes - similarity: 0."),
        "{part}"
    );
    // The number of an earlier passage is escaped, because the passages have other numbers now.
    assert!(part.contains(&format!("\nQ: {QUESTION}\nA: In May \\[1].\n=== ")), "{part}");
    assert!(!reply["source_nodes"].as_array().unwrap().is_empty());

    // Without the stage, nothing changes.
    let plain = chat(&server, AGAIN, Value::Null).await;
    assert_eq!(outcome(&plain, "interactions"), "");
    assert!(!system(&upstream).contains("==="));

    // Another question is not similar.
    let other = chat(&server, "How long does the moon take to orbit the earth?", json!({"interactions": true})).await;
    assert_eq!(outcome(&other, "interactions"), "unchanged");

    // Without passages, the interactions alone are the context.
    let mut alone = ask("docs", AGAIN);
    (alone["pipeline"], alone["explain"]) = (json!({"interactions": true}), json!(true));
    alone["metadata_filter"] = json!({"none": "such"});
    let alone = server.post("/v1/chat/completions", &alone).await.ok();
    assert_eq!((&alone["explanation"]["path"], &alone["source_nodes"]), (&json!("rag"), &json!([])));
    assert!(!system(&upstream).contains("numbered passages"), "{}", system(&upstream));

    // `/chat` answers from documents only.
    let mut question = json!({"query": AGAIN, "index_name": "docs", "metadata_filter": {"none": "such"}});
    question["pipeline"] = json!({"interactions": true});
    let reply = server.post("/chat", &question).await.ok();
    assert_eq!((&reply["answer"], &reply["citations"]), (&json!("No relevant information found"), &json!([])));
}

#[tokio::test]
async fn interactions_whose_documents_are_gone_are_not_used() {
    let upstream = upstream().await;
    let server = server(&upstream, ", anonymous: true").await;
    chat(&server, QUESTION, Value::Null).await;
    kept(&server, "-", 1).await;
    assert_eq!(outcome(&chat(&server, AGAIN, json!({"interactions": true})).await, "interactions"), "done");
    let changed = json!({"documents": [{"doc_id": "tax", "text": "The annual tax return is due in June."}]});
    server.post("/indexes/docs/documents", &changed).await.ok();
    assert_eq!(outcome(&chat(&server, AGAIN, json!({"interactions": true})).await, "interactions"), "unchanged");
}

#[tokio::test]
async fn interactions_belong_to_one_caller() {
    let upstream = upstream().await;
    let server = server(&upstream, "").await;
    ask_as(&server, "user:ann", QUESTION, Value::Null).await;
    kept(&server, "user:ann", 1).await;
    ask_as(&server, "user:ann", AGAIN, json!({"interactions": true})).await;
    assert!(system(&upstream).contains(&format!("Q: {QUESTION}")));
    ask_as(&server, "user:bob", AGAIN, json!({"interactions": true})).await;
    assert!(!system(&upstream).contains("Q: "));
    // A caller without a name has none, unless the setting lets all of them share theirs.
    let mut body = ask("docs", AGAIN);
    body["pipeline"] = json!({"interactions": true});
    let message = server.post("/v1/chat/completions", &body).await.error(400);
    assert!(message.contains("interactions.anonymous"), "{message}");
    kept(&server, "-", 0).await;
}

#[tokio::test]
async fn only_whole_answers_are_kept_and_they_can_be_deleted() {
    let upstream = upstream().await;
    let server = server(&upstream, ", anonymous: true").await;
    let mut body = ask("docs", QUESTION);
    body["stream"] = json!(true);
    server.post("/v1/chat/completions", &body).await;
    kept(&server, "-", 1).await;
    assert_eq!(server.delete("/interactions").await.ok(), json!({"status": "success"}));
    kept(&server, "-", 0).await;

    // An answer that reached its limit is not whole.
    let cut = Upstream::friendly().await;
    let server = self::server(&cut, ", anonymous: true").await;
    chat(&server, QUESTION, Value::Null).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    kept(&server, "-", 0).await;
}

#[tokio::test]
async fn a_server_without_interactions_says_so() {
    let upstream = upstream().await;
    let server = Server::start(&upstream.settings()).await;
    server.add("docs", &FACTS).await;
    let mut body = ask("docs", QUESTION);
    body["pipeline"] = json!({"interactions": true});
    assert!(server.post("/v1/chat/completions", &body).await.error(400).contains("interactions.enabled"));
    assert!(server.delete("/interactions").await.error(400).contains("interactions.enabled"));
    let built_in = Server::start("interactions: {enabled: true, anonymous: true}").await;
    built_in.add("docs", &FACTS).await;
    assert!(built_in.post("/v1/chat/completions", &body).await.error(400).contains("inferenceService.url"));
}
