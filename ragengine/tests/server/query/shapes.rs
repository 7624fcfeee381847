//! The shapes of requests and replies, and errors.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    CONDENSED, SESSION, conversation, last_prompt, messages, query, query_reply, replying, settings, typed_events,
};
use crate::support::upstream::{Upstream, delta, event_reply, finish, text_reply};
use crate::support::{FACTS, Server, ask, outcome, stage_of};

#[tokio::test]
async fn an_answer_has_its_sources_and_the_next_question_knows_it() {
    let (server, upstream) = conversation("").await;
    let first = query(&server, SESSION, "When is the annual tax return due?").await;
    assert_eq!((&first["session_id"], &first["answer"]), (&json!(SESSION), &json!("Answer to 2 messages [1].")));
    let source = &first["sources"][0];
    assert_eq!((&source["number"], &source["doc_id"], &source["text"]), (&json!(1), &json!("tax"), &json!(FACTS[3].1)));
    assert_eq!(source["index_name"], "docs");
    assert!((0.0..=1.0).contains(&source["score"].as_f64().unwrap()), "{source}");
    assert!(first["answer_id"].is_string());
    for absent in ["condensed_question", "history", "explanation"] {
        assert_eq!(first.get(absent), None, "{first}");
    }

    let second = query(&server, SESSION, "And how much is it?").await;
    assert_eq!((&second["condensed_question"], &second["sources"][0]["doc_id"]), (&json!(CONDENSED), &json!("tax")));
    let prompt = last_prompt(&upstream);
    let roles: Vec<&str> = prompt.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert!(prompt[0]["content"].as_str().unwrap().ends_with(&format!("\n\nStandalone question: {CONDENSED}")));
    assert_eq!(prompt[1]["content"], "When is the annual tax return due?");
    assert_eq!(prompt[2]["content"], "Answer to 2 messages [1].");
    assert_eq!(prompt[3]["content"], "And how much is it?");
    let sent = upstream.last().json();
    let fields: BTreeSet<&str> = sent.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, BTreeSet::from(["messages", "model", "stream"]), "no field of this server, and no max_tokens");

    let expected = [
        ("user", "When is the annual tax return due?"),
        ("assistant", "Answer to 2 messages [1]."),
        ("user", "And how much is it?"),
        ("assistant", "Answer to 4 messages [1]."),
    ];
    assert_eq!(messages(&server, SESSION).await, expected.map(|(role, text)| (role.to_owned(), text.to_owned())));
    let history = server.get(&format!("/chat/history/{SESSION}")).await.ok();
    assert_eq!(history["messages"][1]["sources"], first["sources"]);
    assert_eq!(
        (&history["messages"][1]["answer_id"], history["messages"][1].get("complete")),
        (&first["answer_id"], None)
    );
    let vote = json!({"answer_id": first["answer_id"], "rating": "up"});
    server.post("/feedback", &vote).await.ok();
}

#[tokio::test]
async fn a_session_is_made_cleared_and_kept_apart_from_others() {
    let (server, upstream) = conversation("").await;
    let made = query_reply(&server, json!({"query": "Why do cats purr?"})).await.ok();
    let id = made["session_id"].as_str().unwrap().to_owned();
    assert_eq!(id.len(), 36);
    query(&server, SESSION, "When does the ship leave?").await;
    assert_eq!(last_prompt(&upstream).len(), 2, "another session has no history");
    assert_eq!(messages(&server, &id).await.len(), 2);
    let cleared = server.post("/chat/clear", &json!({"session_id": id})).await.ok();
    assert_eq!(cleared, json!({"status": "success", "message": format!("Chat history cleared for session {id}")}));
    assert_eq!(messages(&server, &id).await, []);
    assert_eq!(messages(&server, SESSION).await.len(), 2);
    query(&server, &id, "Why do cats purr?").await;
    assert_eq!(last_prompt(&upstream).len(), 2);
    assert_eq!(messages(&server, "unknown-session").await, []);
    server.post("/chat/clear", &json!({"session_id": "unknown-session"})).await.ok();
}

#[tokio::test]
async fn what_is_wrong_with_a_question_is_said() {
    let (server, upstream) = conversation("").await;
    let long = "a".repeat(129);
    for (body, status, message) in [
        (json!({"query": " "}), 400, "Query string cannot be empty."),
        (
            json!({"query": "Why?", "session_id": "short"}),
            400,
            "session_id must be 8 to 128 letters, digits, '-' and '_'.",
        ),
        (json!({"query": "Why?", "session_id": long}), 400, "session_id must be"),
        (json!({"query": "Why?", "index_name": "other"}), 404, "No such index: 'other' exists."),
        (json!({"query": "Why?", "metadata_filter": {"a": {"$most": 1}}}), 400, "$most"),
        (json!({"query": "Why?", "pipeline": {"rerank": "sometimes"}}), 422, "pipeline"),
        (json!({"session_id": SESSION}), 422, "this field is required"),
        (json!({"query": ["Why?"]}), 422, "query"),
        (json!({"query": "Why? ".repeat(20_000)}), 400, "Prompt length exceeds context window."),
    ] {
        let error = query_reply(&server, body.clone()).await.error(status);
        assert!(error.contains(message), "{body}: {error}");
    }
    assert!(server.get("/chat/history/short").await.error(400).contains("session_id must be"));
    assert!(server.post("/chat/clear", &json!({"session_id": "a b c d e"})).await.error(400).contains("session_id"));
    assert!(server.post("/chat/clear", &json!({})).await.error(422).contains("required"));
    assert_eq!(upstream.received().len(), 0);
    let metrics = server.get("/metrics").await.text;
    assert!(!metrics.contains("stage=\"session\""), "a refused question makes no session: {metrics}");
    server.add("more", &FACTS).await;
    let error = query_reply(&server, json!({"query": "Why?"})).await.error(400);
    assert!(error.contains("several indexes") && error.contains("defaultIndex"), "{error}");
}

#[tokio::test]
async fn the_default_index_is_used_and_a_server_without_indexes_says_what_to_do() {
    let (server, _upstream) = conversation("defaultIndex: docs").await;
    server.add("more", &[("x", "Nothing.")]).await;
    assert_eq!(query(&server, SESSION, "When is the tax return due?").await["sources"][0]["doc_id"], "tax");
    let empty = Server::start("").await;
    let error = query_reply(&empty, json!({"query": "Why?"})).await.error(400);
    assert!(error.contains("there is no index yet"), "{error}");
}

#[tokio::test]
async fn a_stream_has_tokens_and_ends_with_the_whole_reply() {
    let upstream = Upstream::scripted(|body| {
        if body["stream"] == true {
            let pieces = ["On the ", "last day", " of May [1]."].map(delta);
            let pieces = pieces.into_iter().chain([finish(), "data: [DONE]\n\n".to_owned()]);
            event_reply(pieces.map(Ok).collect())
        } else {
            replying(&body, "")
        }
    })
    .await;
    let server = Server::start(&settings(&upstream, "")).await;
    server.add("docs", &FACTS).await;
    let body = json!({"query": "When is the tax return due?", "session_id": SESSION, "stream": true, "explain": true});
    let reply = query_reply(&server, body.clone()).await;
    assert_eq!(reply.headers["content-type"], "text/event-stream");
    let events = typed_events(&reply.text);
    let (last, tokens) = events.split_last().unwrap();
    assert!(tokens.iter().all(|(kind, _)| kind == "token"), "{}", reply.text);
    let text: String = tokens.iter().map(|(_, data)| data["text"].as_str().unwrap()).collect();
    assert_eq!(
        (last.0.as_str(), text.as_str(), &last.1["answer"]),
        ("done", "On the last day of May [1].", &json!(text))
    );
    assert_eq!((&last.1["session_id"], &last.1["sources"][0]["doc_id"]), (&json!(SESSION), &json!("tax")));
    let stage = stage_of(&last.1, "session");
    assert_eq!((&stage["outcome"], &stage["turns"], &stage["tokens"]), (&json!("done"), &json!(0), &json!(0)));
    // The turn was kept before the stream ended.
    assert_eq!(messages(&server, SESSION).await[1].1, text);
    let second = typed_events(&query_reply(&server, body).await.text).pop().unwrap().1;
    let stage = stage_of(&second, "session");
    assert_eq!(stage["turns"], 1);
    assert!(stage["tokens"].as_u64().unwrap() > 10, "{stage}");
    assert_eq!(second["condensed_question"], CONDENSED);
    for stage in ["retrieval", "feedback", "recency", "rerank", "diversity"] {
        assert_ne!(outcome(&second, stage), "", "{stage} is on by default");
    }
    let metrics = server.get("/metrics").await.text;
    let counted = "ragengine_pipeline_stages_total{endpoint=\"query\",outcome=\"done\",stage=\"session\"} 2\n";
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test]
async fn a_whole_reply_to_a_stream_becomes_events() {
    let (server, _upstream) = conversation("").await;
    let reply =
        query_reply(&server, json!({"query": "Why do cats purr?", "session_id": SESSION, "stream": true})).await;
    let kinds: Vec<String> = typed_events(&reply.text).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["token", "done"]);
    assert_eq!(messages(&server, SESSION).await.len(), 2);
}

#[tokio::test]
async fn a_failed_answer_is_an_error_and_leaves_no_turn() {
    let upstream = Upstream::scripted(|_| text_reply(500, "no memory")).await;
    let server = Server::start(&settings(&upstream, "")).await;
    server.add("docs", &FACTS).await;
    for stream in [false, true] {
        let body = json!({"query": "Why do cats purr?", "session_id": SESSION, "stream": stream});
        let reply = query_reply(&server, body).await;
        assert!(reply.error(500).contains("no memory"), "{}", reply.text);
    }
    assert_eq!(messages(&server, SESSION).await, []);
    // Nothing relevant is no failure.
    let (server, upstream) = conversation("").await;
    let reply = query(&server, SESSION, "Who won the chess game yesterday night?").await;
    assert_eq!((&reply["sources"], last_prompt(&upstream).len()), (&json!([]), 1));
}

#[tokio::test]
async fn a_question_that_needs_no_history_is_sent_without_context_too() {
    let (server, upstream) = conversation("retrieval: {maxDistance: 0}").await;
    query(&server, SESSION, "When is the annual tax return due?").await;
    let reply = query(&server, SESSION, "And how much is it?").await;
    assert_eq!((&reply["sources"], &reply["condensed_question"]), (&json!([]), &json!(CONDENSED)));
    let prompt = last_prompt(&upstream);
    assert_eq!(prompt[0]["content"], format!("Standalone question: {CONDENSED}"));
    assert_eq!(prompt.len(), 4);
}

#[tokio::test]
async fn the_built_in_model_answers_too() {
    let server = Server::start("retrieval: {maxDistance: 1.1}").await;
    server.add("docs", &FACTS).await;
    for stream in [false, true] {
        let body = json!({"query": "When is the annual tax return due?", "session_id": SESSION, "stream": stream});
        let reply = query_reply(&server, body).await;
        let reply = if stream { typed_events(&reply.text).pop().unwrap().1 } else { reply.ok() };
        assert!(reply["answer"].as_str().unwrap().contains("last day of May. [1]"), "{reply}");
        assert_eq!(reply["sources"][0]["doc_id"], "tax");
    }
    assert_eq!(messages(&server, SESSION).await.len(), 4);
}

#[tokio::test]
async fn a_completion_can_be_condensed_by_request() {
    let (server, upstream) = conversation("").await;
    let mut body = ask("docs", "And how much is it?");
    body["messages"] = json!([
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "When is the tax return due?"},
        {"role": "assistant", "content": "On the last day of May."},
        {"role": "user", "content": "And how much is it?"},
    ]);
    let plain = server.post("/v1/chat/completions", &body).await.ok();
    assert_eq!(plain.get("condensed_question"), None);
    body["chat_mode"] = json!("condense_plus_context");
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    assert_eq!((&reply["condensed_question"], &reply["source_nodes"][0]["doc_id"]), (&json!(CONDENSED), &json!("tax")));
    let prompt = last_prompt(&upstream);
    let system = prompt[0]["content"].as_str().unwrap();
    assert!(system.starts_with("Be kind.\n\n") && system.ends_with(&format!("Standalone question: {CONDENSED}")));
    assert_eq!(upstream.last().json().get("chat_mode"), None);
    assert_eq!((prompt.len(), &prompt[3]["content"]), (4, &json!("And how much is it?")));
    body["chat_mode"] = json!("context");
    assert_eq!(server.post("/v1/chat/completions", &body).await.ok().get("condensed_question"), None);
    for wrong in [json!("condense"), json!(1), json!({})] {
        body["chat_mode"] = wrong;
        let error = server.post("/v1/chat/completions", &body).await.error(400);
        assert!(error.contains("chat_mode must be \"context\" or \"condense_plus_context\""), "{error}");
    }
}

#[tokio::test]
async fn a_document_is_read_whole_with_the_places_of_its_chunks() {
    let server = Server::start("chunking: {maxTokens: 16, overlapTokens: 2}").await;
    let text = "Größe zählt. ".repeat(40);
    server.add("docs", &[("a/b c.md", &text), ("delete", "Another text.")]).await;
    for path in ["a%2Fb%20c.md", "a/b%20c.md"] {
        let document = server.get(&format!("/indexes/docs/documents/{path}")).await.ok();
        assert_eq!((&document["doc_id"], &document["text"]), (&json!("a/b c.md"), &json!(text)));
        let chunks = document["chunks"].as_array().unwrap();
        assert!(chunks.len() > 5);
        let place = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
        for (ordinal, chunk) in chunks.iter().enumerate() {
            let (start, end) = (place(&chunk["start"]), place(&chunk["end"]));
            let cut: String = text.chars().skip(start).take(end - start).collect();
            assert!(cut.starts_with(['G', 'z']) && chunk["ordinal"] == ordinal, "{chunk}: {cut}");
        }
    }
    assert_eq!(server.get("/indexes/docs/documents/delete").await.ok()["text"], "Another text.");
    assert!(server.get("/indexes/docs/documents/c").await.error(404).contains("has no document 'c'"));
    assert!(server.get("/indexes/other/documents/c").await.error(404).contains("No such index"));
}
