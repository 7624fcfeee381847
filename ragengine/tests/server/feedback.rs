//! Votes on answers, and what they change.

use ragengine::access::Caller;
use ragengine_stores::{NewVote, Rating};
use serde_json::{Value, json};

use crate::support::upstream::{Upstream, completion, delta, event_reply, finish, json_reply};
use crate::support::{FACTS, Reply, Server, ask, outcome};

const QUESTION: &str = "When is the annual tax return due?";

async fn server(more: &str) -> (Server, Upstream) {
    let upstream = Upstream::scripted(|body| match body["stream"].as_bool() {
        Some(true) => event_reply(vec![Ok(delta("In May.")), Ok(finish()), Ok("data: [DONE]\n\n".to_owned())]),
        _ => json_reply(200, &completion("In May.")),
    })
    .await;
    let yaml = format!("{{inferenceService: {{url: '{}'}}, retrieval: {{maxDistance: 4}}{more}}}", upstream.url);
    let server = Server::start(&yaml).await;
    server.add("docs", &FACTS).await;
    (server, upstream)
}

async fn chat(server: &Server, pipeline: Value) -> Reply {
    let mut body = ask("docs", QUESTION);
    (body["pipeline"], body["explain"]) = (pipeline, json!(true));
    server.post("/v1/chat/completions", &body).await
}

fn answer_id(reply: &Reply) -> String {
    reply.headers["x-answer-id"].to_str().unwrap().to_owned()
}

async fn vote(server: &Server, answer_id: &str, rating: &str) -> Reply {
    server.post("/feedback", &json!({"answer_id": answer_id, "rating": rating})).await
}

/// The chunks of an explanation: document, score, adjustment, decision.
fn chunks(reply: &Value) -> Vec<(String, f64, f64, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let chunk = |chunk: &Value| {
        let (score, adjustment) = (chunk["score"].as_f64().unwrap(), chunk["adjustment"].as_f64().unwrap());
        (text(&chunk["doc_id"]), score, adjustment, text(&chunk["decision"]))
    };
    reply["explanation"]["chunks"].as_array().unwrap().iter().map(chunk).collect()
}

/// Votes of other voters on an answer, as known callers would give them.
async fn votes_of(server: &Server, answer_id: &str, rating: Rating, voters: usize) {
    let store = server.app.loaded().unwrap().stores.feedback().unwrap();
    for voter in 0..voters {
        let (answer_id, voter) = (answer_id.to_owned(), format!("user:{voter}"));
        let voted_at_ms = jiff::Timestamp::now().as_millisecond();
        let vote = NewVote { answer_id, voter, rating, comment: None, voted_at_ms };
        store.vote(Caller::anonymous(None).owner(), vote).await.unwrap();
    }
}

#[tokio::test]
async fn votes_change_scores_and_nothing_else() {
    let (server, _) = server("").await;
    let first = chat(&server, json!({"feedback": true})).await;
    let id = answer_id(&first);
    let before = chunks(&first.ok());
    assert_eq!((outcome(&first.json(), "feedback"), before[0].0.as_str()), ("unchanged".to_owned(), "tax"));
    assert!(before.iter().all(|(_, _, adjustment, _)| *adjustment == 0.0));

    // One voter counts once, and an up vote for the same question twice.
    for _ in 0..3 {
        vote(&server, &id, "up").await.ok();
    }
    let reply = chat(&server, json!({"feedback": true})).await.ok();
    assert_eq!(outcome(&reply, "feedback"), "done");
    for ((doc, score, adjustment, decision), (doc_before, score_before, ..)) in chunks(&reply).iter().zip(&before) {
        assert_eq!((doc, decision.as_str()), (doc_before, "selected"));
        assert!((adjustment - 0.04).abs() < 1e-6 && (score - score_before - 0.04).abs() < 1e-5, "{score} {adjustment}");
    }

    // A down vote replaces it. Votes of others add up, within bounds.
    vote(&server, &id, "down").await.ok();
    let adjustment_now = || async { chunks(&chat(&server, json!({"feedback": true})).await.ok())[0].2 };
    assert!((adjustment_now().await + 0.03).abs() < 1e-6);
    votes_of(&server, &id, Rating::Down, 9).await;
    assert!((adjustment_now().await + 0.15).abs() < 1e-6);
    votes_of(&server, &id, Rating::Up, 9).await;
    server.delete(&format!("/feedback/{id}")).await.ok();
    assert!((adjustment_now().await - 0.10).abs() < 1e-6);

    // Without the stage, answers are as before.
    let plain = chat(&server, Value::Null).await;
    assert!(!plain.headers.contains_key("x-answer-id"));
    let plain = plain.ok();
    assert_eq!(
        (outcome(&plain, "feedback"), &plain["explanation"]["chunks"][0]["adjustment"]),
        (String::new(), &json!(null))
    );
}

#[tokio::test]
async fn votes_order_chunks_and_never_lift_one_over_the_threshold() {
    let (server, _) = server("").await;
    // Only the moon is in the prompt of this answer.
    let mut body = ask("docs", "How long does the moon take to orbit the earth?");
    (body["pipeline"], body["metadata_filter"]) = (json!({"feedback": true}), json!({"about": "moon"}));
    let moon = json!({"doc_id": "far", "text": FACTS[4].1, "metadata": {"about": "moon"}});
    server.post("/index", &json!({"index_name": "docs", "documents": [moon]})).await.ok();
    let id = answer_id(&server.post("/v1/chat/completions", &body).await);
    votes_of(&server, &id, Rating::Up, 9).await;
    let voted = chunks(&chat(&server, json!({"feedback": true})).await.ok());
    let far = voted.iter().find(|chunk| chunk.0 == "far").unwrap();
    assert!((far.2 - 0.10).abs() < 1e-6, "{voted:?}");
    let place = |chunks: &[(String, f64, f64, String)]| chunks.iter().position(|chunk| chunk.0 == "far").unwrap();
    let twin = voted.iter().position(|chunk| chunk.0 == "moon").unwrap();
    assert!(place(&voted) < twin, "the same text without votes is behind: {voted:?}");

    let strict = Server::start("retrieval: {maxDistance: 0.9}").await;
    strict.add("docs", &FACTS).await;
    body = ask("docs", "How long does the moon take to orbit the earth?");
    body["pipeline"] = json!({"feedback": true});
    let asked = strict.post("/v1/chat/completions", &body).await;
    votes_of(&strict, &answer_id(&asked), Rating::Up, 9).await;
    let reply = chat(&strict, json!({"feedback": true})).await.ok();
    let moon = chunks(&reply).into_iter().find(|chunk| chunk.0 == "moon").unwrap();
    assert_eq!((format!("{:.2}", moon.2), moon.3.as_str()), ("0.10".to_owned(), "over_threshold"));
}

#[tokio::test]
async fn votes_are_listed_and_deleted() {
    let (server, _) = server("").await;
    let id = answer_id(&chat(&server, json!({"feedback": true})).await);
    let body = json!({"answer_id": id, "rating": "up", "comment": "Right"});
    assert_eq!(server.post("/feedback", &body).await.ok(), json!({"status": "success"}));
    let list = server.get("/feedback?index_name=docs&limit=10&offset=0").await.ok();
    assert_eq!((&list["count"], &list["total_items"]), (&json!(1), &json!(1)));
    let listed = &list["feedback"][0];
    let expected =
        [("answer_id", id.as_str()), ("index_name", "docs"), ("rating", "up"), ("voter", "-"), ("comment", "Right")];
    for (field, value) in expected {
        assert_eq!(listed[field], value, "{listed}");
    }
    let created_at = listed["created_at"].as_str().unwrap();
    assert!(created_at.starts_with("20") && created_at.ends_with('Z'), "{created_at}");
    assert_eq!(server.get("/feedback?index_name=other").await.ok()["total_items"], 0);
    assert_eq!(server.delete(&format!("/feedback/{id}")).await.ok(), json!({"status": "success"}));
    assert_eq!(server.get("/feedback").await.ok()["total_items"], 0);
    assert!(server.delete(&format!("/feedback/{id}")).await.error(404).contains("no such answer"));
}

#[tokio::test]
async fn a_streamed_answer_can_be_voted_on() {
    let (server, _) = server(", endpoints: {completions: {feedback: true}}").await;
    let mut body = ask("docs", QUESTION);
    body["stream"] = json!(true);
    let reply = server.post("/v1/chat/completions", &body).await;
    vote(&server, &answer_id(&reply), "up").await.ok();
    let reply = server.post("/v1/chat/completions", &ask("docs", QUESTION)).await;
    vote(&server, &answer_id(&reply), "down").await.ok();
    assert_eq!(server.get("/feedback").await.ok()["total_items"], 2);
}

#[tokio::test]
async fn a_wrong_vote_is_refused_with_its_reason() {
    let (server, _) = server("").await;
    for (body, status, words) in [
        (json!({"answer_id": "6f1e", "rating": "up"}), 404, "no such answer"),
        (json!({"answer_id": "6f1e", "rating": "great"}), 422, "rating"),
        (json!({"rating": "up"}), 422, "answer_id"),
        (json!({"answer_id": "6f1e", "rating": "up", "comment": "x".repeat(4001)}), 422, "4000"),
    ] {
        let message = server.post("/feedback", &body).await.error(status);
        assert!(message.contains(words), "{body}: {message}");
    }
    for query in ["limit=0", "limit=101", "offset=-1"] {
        server.get(&format!("/feedback?{query}")).await.error(422);
    }
    let off = Server::start("feedback: {enabled: false}").await;
    off.add("docs", &FACTS).await;
    assert!(chat(&off, json!({"feedback": true})).await.error(400).contains("feedback.enabled"));
    assert!(off.get("/feedback").await.error(400).contains("feedback.enabled"));
    assert!(vote(&off, "6f1e", "up").await.error(400).contains("feedback.enabled"));
    assert!(off.delete("/feedback/6f1e").await.error(400).contains("feedback.enabled"));
}

#[tokio::test]
async fn votes_survive_a_restart() {
    let (data, yaml) = (tempfile::tempdir().unwrap(), "retrieval: {maxDistance: 4}");
    let first = Server::start_in(crate::support::settings(&data, yaml)).await;
    first.add("docs", &FACTS).await;
    let id = answer_id(&chat(&first, json!({"feedback": true})).await);
    vote(&first, &id, "up").await.ok();
    let copy = tempfile::tempdir().unwrap();
    crate::support::copy_folder(data.path(), copy.path());
    let second = Server::start_in(crate::support::settings(&copy, yaml)).await;
    assert_eq!(second.get("/feedback").await.ok()["feedback"][0]["answer_id"], id);
    assert_eq!(outcome(&chat(&second, json!({"feedback": true})).await.ok(), "feedback"), "done");
}

#[tokio::test]
async fn people_of_different_sessions_are_different_voters() {
    let (server, _) = server("").await;
    let mut ids = Vec::new();
    for session in 0..3 {
        let body =
            json!({"query": QUESTION, "session_id": format!("session-{session}"), "pipeline": {"feedback": true}});
        let reply = server.post("/query", &body).await.ok();
        let id = reply["answer_id"].as_str().unwrap().to_owned();
        // The same person counts once.
        for _ in 0..2 {
            vote(&server, &id, "up").await.ok();
        }
        ids.push(id);
    }
    let adjustment = async || chunks(&chat(&server, json!({"feedback": true})).await.ok())[0].2;
    assert!((adjustment().await - 0.10).abs() < 1e-6, "three votes, at most 0.10");
    server.delete(&format!("/feedback/{}", ids[0])).await.ok();
    server.delete(&format!("/feedback/{}", ids[1])).await.ok();
    assert!((adjustment().await - 0.04).abs() < 1e-6, "one is left");
    let listed = server.get("/feedback").await.ok();
    let voter = listed["feedback"][0]["voter"].as_str().unwrap();
    assert!(voter.starts_with("session:") && !voter.contains("session-2"), "{voter}");
}

#[tokio::test]
async fn a_caller_without_a_name_lists_the_votes_of_its_own_session() {
    let upstream = Upstream::scripted(|_| json_reply(200, &completion("In May."))).await;
    let (data, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open = Server::start_in(crate::support::settings(&data, "")).await;
    open.add("docs", &FACTS).await;
    drop(open);
    crate::support::copy_folder(data.path(), copy.path());
    let token = copy.path().join("token");
    std::fs::write(&token, "secret").unwrap();
    let yaml = format!(
        "{{inferenceService: {{url: '{}'}}, retrieval: {{maxDistance: 4}}, auth: {{writeToken: {{file: {}}}}}}}",
        upstream.url,
        token.display()
    );
    let server = Server::start_in(crate::support::settings(&copy, &yaml)).await;
    let mut ids = Vec::new();
    for session in ["session-1", "session-2"] {
        let body = json!({"query": QUESTION, "session_id": session, "pipeline": {"feedback": true}});
        let reply = server.post("/query", &body).await.ok();
        ids.push(reply["answer_id"].as_str().unwrap().to_owned());
        vote(&server, ids.last().unwrap(), "up").await.ok();
    }
    let chat = chat(&server, json!({"feedback": true})).await;
    vote(&server, &answer_id(&chat), "down").await.ok();
    let own = server.get("/feedback?session_id=session-1").await.ok();
    assert_eq!((&own["total_items"], &own["feedback"][0]["answer_id"]), (&json!(1), &json!(ids[0])));
    for query in ["", "?session_id=session-3", "?index_name=docs"] {
        let listed = server.get(&format!("/feedback{query}")).await.ok();
        assert_eq!((&listed["feedback"], &listed["total_items"]), (&json!([]), &json!(0)), "{query}");
    }
    let all = reqwest::Client::new().get(format!("{}/feedback", server.url)).bearer_auth("secret");
    assert_eq!(Server::reply(all).await.ok()["total_items"], 3);
}
