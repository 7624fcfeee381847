//! Guardrails on answers, whole and streamed, from an index and passed through.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::upstream::{Upstream, completion, delta, event_reply, finish, json_reply};
use crate::support::{FACTS, Server, ask, events, outcome, settings};

const POLICY: &str = "scanners:\n- {type: ban_substrings, substrings: [unicorn]}\n- {type: regex, action: block, \
                      patterns: ['sk-[a-z]{8}']}\n";

/// A server with a policy, whose language model answers with these parts.
async fn server(policy: &str, parts: &'static [&'static str]) -> (Server, std::path::PathBuf) {
    let upstream = Upstream::scripted(move |body| {
        if body["stream"] == true {
            let parts = parts.iter().map(|part| Ok(delta(part)));
            return event_reply(parts.chain([Ok(finish()), Ok("data: [DONE]\n\n".to_owned())]).collect());
        }
        let mut reply = completion(&parts.concat());
        reply["choices"][0]["finish_reason"] = json!("stop");
        reply["choices"][0]["message"]["reasoning_content"] = json!("the unicorn knows sk-abcdefgh");
        json_reply(200, &reply)
    })
    .await;
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("guardrails.yaml");
    fs::write(&file, policy).unwrap();
    let yaml = format!(
        "inferenceService: {{url: '{}'}}\nretrieval: {{maxDistance: 1.1}}\nendpoints: {{chat: {{reformulate: false}}}}\n\
         guardrails: {{enabled: true, policyFile: {}}}",
        upstream.url,
        file.display()
    );
    let server = Server::start_in(settings(&data, &yaml)).await;
    server.add("docs", &FACTS).await;
    std::mem::forget(data);
    (server, file)
}

fn chat(index: &str, stream: bool) -> Value {
    let mut body = ask(index, "When is the annual tax return due?");
    body["stream"] = json!(stream);
    body["explain"] = json!(true);
    body
}

fn content(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default()).collect()
}

#[tokio::test]
async fn an_answer_is_redacted_on_every_way() {
    let (server, _) = server(POLICY, &["A uni", "corn files", " in May [1]."]).await;
    for index in ["docs", ""] {
        let reply = server.post("/v1/chat/completions", &chat(index, false)).await.ok();
        let message = &reply["choices"][0]["message"];
        assert_eq!(message["content"], "A [REDACTED] files in May [1].", "{index}");
        assert_eq!((message.get("reasoning_content"), outcome(&reply, "guardrails").as_str()), (None, "redacted"));
        let (chunks, is_done) = events(&server.post("/v1/chat/completions", &chat(index, true)).await.text);
        assert_eq!((content(&chunks).as_str(), is_done), ("A [REDACTED] files in May [1].", true), "{index}");
        assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "stop");
    }
    let reply = server.post("/chat", &json!({"query": "When is the annual tax return due?"})).await.ok();
    assert_eq!(
        (&reply["answer"], &reply["citations"][0]["doc_id"]),
        (&json!("A [REDACTED] files in May [1]."), &json!("tax"))
    );
    let metrics = server.get("/metrics").await.text;
    let counted = r#"ragengine_pipeline_stages_total{endpoint="completions",outcome="redacted",stage="guardrails"} 4"#;
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test]
async fn a_blocked_answer_shows_nothing_of_what_it_is_blocked_for() {
    let (server, _) = server(POLICY, &["Use sk-abc", "defgh [1].", " More [1]."]).await;
    const MESSAGE: &str = "The model output was blocked by output guardrails.";
    for index in ["docs", ""] {
        let reply = server.post("/v1/chat/completions", &chat(index, false)).await.ok();
        let choice = &reply["choices"][0];
        assert_eq!(
            (&choice["message"]["content"], &choice["finish_reason"]),
            (&json!(MESSAGE), &json!("content_filter"))
        );
        let (chunks, is_done) = events(&server.post("/v1/chat/completions", &chat(index, true)).await.text);
        let text = content(&chunks);
        assert!(text.ends_with(MESSAGE) && !text.contains("sk-abc") && !text.contains("More"), "{text}");
        assert_eq!((is_done, &chunks.last().unwrap()["choices"][0]["finish_reason"]), (true, &json!("content_filter")));
    }
    let body = json!({"query": "When is the annual tax return due?", "session_id": "session-1"});
    let reply = server.post("/chat", &body).await.ok();
    assert_eq!((&reply["answer"], &reply["citations"]), (&json!(MESSAGE), &json!([])));
    let history = server.get("/chat/history/session-1").await.ok();
    assert_eq!(history["messages"][1]["content"], MESSAGE);
}

#[tokio::test]
async fn without_a_valid_policy_no_chat_is_answered() {
    let (server, file) = server("scanners: [{type: nothing}]", &["In May."]).await;
    let refused = server.post("/v1/chat/completions", &chat("docs", false)).await;
    assert_eq!(refused.status, 503);
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains("guardrails policy"), "{}", refused.text);
    let status = server.get("/status").await.ok();
    assert_eq!((&status["ready"], &status["problems"][0]["kind"]), (&json!(true), &json!("guardrails_failed")));
    fs::write(&file, POLICY).unwrap();
    for _ in 0..200 {
        if server.post("/v1/chat/completions", &chat("docs", false)).await.status == 200 {
            assert_eq!(server.get("/status").await.ok()["problems"], json!([]));
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the mended policy does not hold");
}

/// A server with [`POLICY`], whose language model sends what `reply` makes: a whole reply, or the events of a stream.
async fn sending(reply: Value, chunks: Vec<Value>) -> Server {
    let upstream = Upstream::scripted(move |body| {
        if body["stream"] == true {
            let events = chunks.iter().map(|chunk| Ok(format!("data: {chunk}\n\n")));
            return event_reply(events.chain([Ok("data: [DONE]\n\n".to_owned())]).collect());
        }
        json_reply(200, &reply)
    })
    .await;
    let (data, server) = guarded(&upstream.url).await;
    std::mem::forget(data);
    server
}

/// A server with [`POLICY`] and this language model, and its data.
async fn guarded(upstream: &str) -> (tempfile::TempDir, Server) {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("guardrails.yaml");
    fs::write(&file, POLICY).unwrap();
    let yaml = format!(
        "inferenceService: {{url: '{upstream}'}}\nguardrails: {{enabled: true, policyFile: {}}}",
        file.display()
    );
    let server = Server::start_in(settings(&data, &yaml)).await;
    (data, server)
}

#[tokio::test]
async fn fields_beside_the_message_do_not_carry_the_answer_out() {
    let mut reply = completion("A unicorn files.");
    reply["choices"][0]["token_ids"] = json!([1, 2, 3]);
    reply["prompt_logprobs"] = json!(["unicorn"]);
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "A unicorn files.", "refusal": "unicorn"},
        "token_ids": [1, 2, 3], "finish_reason": "stop"}], "debug": "unicorn"});
    let server = sending(reply, vec![chunk]).await;
    for stream in [false, true] {
        let body = json!({"stream": stream, "return_token_ids": true, "messages": [{"role": "user", "content": "Hi"}]});
        let text = server.post("/v1/chat/completions", &body).await.text;
        assert!(text.contains("A [REDACTED] files.") && !text.contains("unicorn"), "{text}");
        assert!(!text.contains("token_ids"), "{text}");
    }
}

#[tokio::test]
async fn an_error_does_not_carry_the_answer_out() {
    // llama.cpp quotes an answer that its grammar cannot parse.
    let failing = json!({"error": {"message": "Failed to parse input at pos 3: the unicorn", "type": "server_error"}});
    let upstream = Upstream::scripted(move |body| match body["messages"][0]["content"].as_str() {
        Some("refuse") => {
            json_reply(400, &json!({"error": {"message": "no unicorn", "type": "invalid_request_error"}}))
        }
        Some("break") => event_reply(vec![Ok(delta("So")), Ok(format!("data: {failing}\n\n"))]),
        _ => json_reply(500, &failing),
    })
    .await;
    let (data, server) = guarded(&upstream.url).await;
    for (question, stream, status) in [("fail", false, 500), ("fail", true, 500), ("break", true, 200)] {
        let body = json!({"stream": stream, "messages": [{"role": "user", "content": question}]});
        let reply = server.post("/v1/chat/completions", &body).await;
        assert_eq!(reply.status, status, "{question}");
        assert!(reply.text.contains("guardrails check every text"), "{}", reply.text);
        assert!(!reply.text.contains("unicorn"), "{}", reply.text);
    }
    // An endpoint that refuses a request has made no answer.
    let refused = json!({"messages": [{"role": "user", "content": "refuse"}]});
    let reply = server.post("/v1/chat/completions", &refused).await;
    assert_eq!((reply.status, &reply.json()["error"]["message"]), (400, &json!("no unicorn")));
    drop(data);
}

#[tokio::test]
async fn a_stream_that_cannot_be_read_ends_with_an_error() {
    let odd = json!({"choices": [{"index": 0, "delta": {"content": ["unicorn"]}}]});
    let server = sending(completion("Hi."), vec![odd]).await;
    let body = json!({"stream": true, "messages": [{"role": "user", "content": "Hi"}]});
    let text = server.post("/v1/chat/completions", &body).await.text;
    assert!(!text.contains("unicorn"), "{text}");
}

#[tokio::test]
async fn tool_calls_pass_the_policy_or_are_removed() {
    for (arguments, passes) in [("{\"name\":\"horse\"}", true), ("{\"name\":\"unicorn\"}", false)] {
        let call = |arguments: &str| {
            json!([{"index": 0, "id": "c1", "type": "function",
                "function": {"name": "find", "arguments": arguments}}])
        };
        let mut reply = completion("");
        reply["choices"][0]["message"]["tool_calls"] = call(arguments);
        reply["choices"][0]["finish_reason"] = json!("tool_calls");
        let (first, second) = arguments.split_at(12);
        let chunk =
            |delta: Value, reason: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        let chunks = vec![
            chunk(json!({"role": "assistant", "tool_calls": call(first)}), Value::Null),
            chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": second}}]}), Value::Null),
            chunk(json!({}), json!("tool_calls")),
        ];
        let server = sending(reply, chunks).await;
        for stream in [false, true] {
            let body = json!({"stream": stream, "tools": [], "messages": [{"role": "user", "content": "Hi"}]});
            let text = server.post("/v1/chat/completions", &body).await.text;
            assert_eq!(text.contains("horse"), passes, "{stream}: {text}");
            assert!(!text.contains("unicorn"), "{stream}: {text}");
            assert_eq!(text.contains("content_filter"), !passes, "{stream}: {text}");
        }
    }
}
