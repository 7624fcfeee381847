//! On both paths every parameter reaches the language model unchanged, and every field of its reply reaches the client.

use serde_json::{Map, Value, json};

use crate::support::upstream::{Upstream, json_reply};
use crate::support::{FACTS, Server, ask};

/// The parameters of OpenAI's chat completions, then some that other servers add, then an unknown one. Without `model`,
/// `messages` and those with separate tests: `stream`, `n`, `tools`, `functions`, `max_tokens`.
fn parameters() -> Map<String, Value> {
    let Value::Object(parameters) = json!({
        "audio": {"voice": "alloy", "format": "wav"},
        "frequency_penalty": -0.5,
        "function_call": "none",
        "logit_bias": {"50256": -100},
        "logprobs": true,
        "max_completion_tokens": 640,
        "metadata": {"team": "platform"},
        "modalities": ["text"],
        "parallel_tool_calls": false,
        "prediction": {"type": "content", "content": "expected words"},
        "presence_penalty": 0.25,
        "prompt_cache_key": "cache-1",
        "prompt_cache_retention": "24h",
        "reasoning_effort": "low",
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": true, "schema": {"type": "object"}}
        },
        "safety_identifier": "user-1",
        "seed": 18_446_744_073_709_551_615_u64,
        "service_tier": "auto",
        "stop": ["END", "\n\n"],
        "store": false,
        "stream_options": null,
        "temperature": 0.1,
        "tool_choice": "none",
        "top_logprobs": 3,
        "top_p": 0.95,
        "user": "ann",
        "verbosity": "low",
        "web_search_options": {"search_context_size": "low"},
        "top_k": 40,
        "min_p": 0.05,
        "repetition_penalty": 1.1,
        "guided_json": {"type": "object"},
        "chat_template_kwargs": {"enable_thinking": false},
        "options": {"num_ctx": 8192},
        "made_up": [1, {"a": null}, "ü", 1e-7, -0.0]
    }) else {
        unreachable!("it is an object")
    };
    parameters
}

/// A reply with every field that OpenAI and other servers send.
fn reply() -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_767_225_600, "model": "m-2026",
        "service_tier": "default", "system_fingerprint": "fp_1",
        "choices": [{
            "index": 0, "finish_reason": "content_filter",
            "message": {
                "role": "assistant", "content": null, "refusal": "I cannot say that.", "annotations": [],
                "audio": null, "reasoning": "Let me think", "reasoning_content": "Let me think", "tool_calls": []
            },
            "logprobs": {
                "content": [{"token": "Hi", "logprob": -0.012_345_678_9, "bytes": [72, 105], "top_logprobs": []}],
                "refusal": null
            }
        }],
        "usage": {
            "prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12,
            "completion_tokens_details": {"reasoning_tokens": 2}, "prompt_tokens_details": {"cached_tokens": 4}
        },
        "kv_transfer_params": null, "made_up": {"x": [1.0, 2]}
    })
}

#[tokio::test]
async fn every_parameter_reaches_the_language_model_on_both_paths() {
    let upstream = Upstream::scripted(|_| json_reply(200, &reply())).await;
    let server = Server::start(&upstream.settings()).await;
    server.add("docs", &FACTS).await;
    let question = "When is the annual tax return due?";
    let alone = json!({"model": "m", "messages": [{"role": "user", "content": question}]});
    for (base, has_sources) in [(alone, false), (ask("docs", question), true)] {
        for (name, value) in parameters() {
            let mut body = base.clone();
            body[&name] = value.clone();
            let answer = server.post("/v1/chat/completions", &body).await.ok();
            assert_eq!(answer["source_nodes"].is_array(), has_sources, "{name}");
            let sent = upstream.last().json();
            assert_eq!(sent.get(&name), Some(&value), "{name}");
            let ours = 2 + usize::from(!matches!(name.as_str(), "model" | "messages"));
            assert_eq!(sent.as_object().unwrap().len(), ours, "nothing is added: {sent}");
        }
        let mut body = base.clone();
        body.as_object_mut().unwrap().extend(parameters());
        server.post("/v1/chat/completions", &body).await.ok();
        let mut sent = upstream.last().json();
        let sent = sent.as_object_mut().unwrap();
        for (name, value) in parameters() {
            assert_eq!(sent.remove(&name), Some(value), "{name}");
        }
        assert_eq!(sent.keys().collect::<Vec<_>>(), ["model", "messages"]);
    }
}

#[tokio::test]
async fn every_field_of_a_reply_reaches_the_client() {
    let upstream = Upstream::scripted(|_| json_reply(200, &reply())).await;
    let server = Server::start(&upstream.settings()).await;
    server.add("docs", &FACTS).await;
    let question = "When is the annual tax return due?";
    for body in [json!({"messages": [{"role": "user", "content": question}]}), ask("docs", question)] {
        let text = server.post("/v1/chat/completions", &body).await.text;
        let expected = reply().to_string();
        assert!(text.starts_with(expected.strip_suffix('}').unwrap()), "{text}");
        let mut answer: Value = serde_json::from_str(&text).unwrap();
        answer.as_object_mut().unwrap().remove("source_nodes").unwrap();
        assert_eq!(answer, reply());
    }
}

#[tokio::test]
async fn several_choices_and_tools_reach_the_language_model_without_documents() {
    let upstream = Upstream::scripted(|_| json_reply(200, &reply())).await;
    let server = Server::start(&upstream.settings()).await;
    server.add("docs", &FACTS).await;
    let tools = json!([{"type": "function", "function": {"name": "get_weather"}}]);
    for (name, value, with_index) in
        [("n", json!(3), false), ("tools", tools, true), ("functions", json!([{"name": "get_weather"}]), true)]
    {
        let mut body = ask("docs", "When is the annual tax return due?");
        body[name] = value.clone();
        if !with_index {
            body.as_object_mut().unwrap().remove("index_name");
        }
        assert_eq!(server.post("/v1/chat/completions", &body).await.ok()["source_nodes"], Value::Null);
        assert_eq!(upstream.last().json()[name], value);
        assert_eq!(upstream.last().json().get("index_name"), None);
    }
}
