//! Streamed answers, whose markers are held back until they are known to hold.

use serde_json::{Value, json};

use super::{typed_events, with};
use crate::support::upstream::{Upstream, completion, delta, event_reply, finish, json_reply};
use crate::support::{Server, ask, events};

const QUESTION: &str = "When is the annual tax return due?";

/// A server whose language model streams these parts.
async fn streaming(parts: &'static [&'static str]) -> Server {
    let upstream = Upstream::scripted(move |_| {
        let parts = parts.iter().map(|part| Ok(delta(part)));
        event_reply(parts.chain([Ok(finish()), Ok("data: [DONE]\n\n".to_owned())]).collect())
    })
    .await;
    with(&upstream, "").await
}

async fn streamed(server: &Server, path: &str, body: &Value) -> String {
    let reply = server.post(path, body).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.text
}

fn text_of(events: &[(String, Value)]) -> Vec<String> {
    let tokens = events.iter().filter(|(name, _)| name == "token");
    tokens.map(|(_, data)| data["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_marker_is_sent_when_it_is_known_to_hold() {
    let server = streaming(&["Due ", "in May [", "1", "] and", " no [", "9] ", "more <b>", "now</b>", "."]).await;
    let body = json!({"query": QUESTION, "stream": true, "session_id": "session-1"});
    let events = typed_events(&streamed(&server, "/chat", &body).await);
    let tokens = text_of(&events);
    let (name, done) = events.last().unwrap();
    assert_eq!(name, "done");
    assert_eq!(done["answer"], "Due in May [1] and no more **now**.");
    assert_eq!(tokens.concat(), done["answer"].as_str().unwrap());
    assert!(tokens.iter().all(|token| !token.contains('9')), "{tokens:?}");
    assert_eq!(done["citations"][0]["doc_id"], "tax");
    let history = server.get("/chat/history/session-1").await.ok();
    let answer = &history["messages"][1];
    assert_eq!((&answer["content"], answer.get("complete")), (&done["answer"], None));
    assert_eq!(answer["sources"][0]["number"], 1);
}

#[tokio::test]
async fn a_rejected_answer_is_only_the_fallback() {
    let server = streaming(&["It is ", "due in May", ", they say."]).await;
    let events = typed_events(&streamed(&server, "/chat", &json!({"query": QUESTION, "stream": true})).await);
    assert_eq!(text_of(&events), ["The documents do not support an answer."]);
    assert_eq!(events.last().unwrap().1["citations"], json!([]));
}

#[tokio::test]
async fn a_streamed_completion_has_its_citations_at_its_end() {
    let server = streaming(&["Due ", "in May [", "1", "][7", "]", "."]).await;
    let mut body = ask("docs", QUESTION);
    body["stream"] = json!(true);
    body["citations"] = json!(true);
    let (chunks, is_done) = events(&streamed(&server, "/v1/chat/completions", &body).await);
    assert!(is_done);
    let content = |chunk: &Value| chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default().to_owned();
    assert_eq!(chunks.iter().map(content).collect::<String>(), "Due in May [1].");
    let (last, others) = chunks.split_last().unwrap();
    assert_eq!((&last["choices"][0]["finish_reason"], content(last).as_str()), (&json!("stop"), ""));
    assert_eq!((&last["citations"][0]["doc_id"], &last["source_nodes"][0]["doc_id"]), (&json!("tax"), &json!("tax")));
    assert!(others.iter().all(|chunk| chunk.get("citations").is_none() && chunk["id"] == "c1"), "{others:?}");
}

#[tokio::test]
async fn a_streamed_completion_that_cites_nothing_is_only_the_fallback() {
    let server = streaming(&["Due ", "in May."]).await;
    let mut body = ask("docs", QUESTION);
    body["stream"] = json!(true);
    body["citations"] = json!(true);
    let (chunks, is_done) = events(&streamed(&server, "/v1/chat/completions", &body).await);
    let content = |chunk: &Value| chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default().to_owned();
    assert_eq!(chunks.iter().map(content).collect::<String>(), "The documents do not support an answer.");
    assert_eq!((is_done, &chunks.last().unwrap()["citations"]), (true, &json!([])));
}

#[tokio::test]
async fn tools_bypass_nothing_if_the_request_says_so() {
    let server = streaming(&["Due in May [1]."]).await;
    let mut body = ask("docs", QUESTION);
    body["stream"] = json!(true);
    body["tools"] = json!([{"type": "function", "function": {"name": "f"}}]);
    let (chunks, _) = events(&streamed(&server, "/v1/chat/completions", &body).await);
    assert!(chunks.iter().all(|chunk| chunk["source_nodes"].is_null()));
    body["rag_with_tools"] = json!(true);
    let (chunks, _) = events(&streamed(&server, "/v1/chat/completions", &body).await);
    assert_eq!(chunks.last().unwrap()["source_nodes"][0]["doc_id"], "tax");
}

#[tokio::test]
async fn a_call_of_a_tool_need_not_cite_anything() {
    // A call of the tool that the request names ends with `stop`. Some streams end without a finish reason.
    for reason in [Some("tool_calls"), Some("stop"), None] {
        let server = with(&calling(reason).await, "").await;
        let mut body = ask("docs", QUESTION);
        body["tools"] = json!([{"type": "function", "function": {"name": "f"}}]);
        body["rag_with_tools"] = json!(true);
        body["citations"] = json!(true);
        let reply = server.post("/v1/chat/completions", &body).await.ok();
        let message = &reply["choices"][0]["message"];
        assert_eq!((&message["content"], &message["tool_calls"][0]["id"]), (&Value::Null, &json!("c1")), "{reply}");
        body["stream"] = json!(true);
        let (chunks, is_done) = events(&streamed(&server, "/v1/chat/completions", &body).await);
        let content = |chunk: &Value| chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default().to_owned();
        assert_eq!((chunks.iter().map(content).collect::<String>().trim(), is_done), ("", true), "{chunks:?}");
        assert!(chunks.iter().any(|chunk| chunk["choices"][0]["delta"]["tool_calls"][0]["id"] == "c1"), "{chunks:?}");
    }
}

/// A language model that calls a tool, and ends with this finish reason.
async fn calling(reason: Option<&'static str>) -> Upstream {
    Upstream::scripted(move |body| {
        let call = json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}});
        if body["stream"] == true {
            let choice = |delta: Value, reason: Option<&str>| {
                let choices = json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
                Ok(format!("data: {}\n\n", json!({"id": "c1", "choices": choices})))
            };
            return event_reply(vec![
                choice(json!({"role": "assistant", "content": "\n"}), None),
                choice(json!({"tool_calls": [call]}), None),
                choice(json!({}), reason),
                Ok("data: [DONE]\n\n".to_owned()),
            ]);
        }
        let mut reply = completion("");
        reply["choices"][0]["message"] = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        reply["choices"][0]["finish_reason"] = json!(reason);
        json_reply(200, &reply)
    })
    .await
}

#[tokio::test]
async fn tools_take_a_part_of_the_context_window() {
    let upstream = Upstream::scripted(|_| json_reply(200, &completion("In May [1]."))).await;
    let server = with(&upstream, "").await;
    let mut body = ask("docs", QUESTION);
    body["rag_with_tools"] = json!(true);
    body["max_tokens"] = json!(4_000);
    let lowered = async |body: &Value| {
        server.post("/v1/chat/completions", body).await.ok();
        upstream.last().json()["max_tokens"].as_u64().unwrap()
    };
    let without_tools = lowered(&body).await;
    body["tools"] = json!([{"type": "function", "function": {"name": "f", "description": "word ".repeat(300)}}]);
    let with_tools = lowered(&body).await;
    assert!(with_tools + 300 <= without_tools, "{with_tools} of {without_tools}");
    body["tools"][0]["function"]["description"] = json!("word ".repeat(8_000));
    let refused = server.post("/v1/chat/completions", &body).await;
    let message = &refused.json()["error"]["message"];
    assert_eq!((refused.status, message), (400, &json!("Prompt length exceeds context window.")));
}
