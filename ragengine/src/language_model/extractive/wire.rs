//! Writes the built-in model's answers in OpenAI's format.

use std::time::{SystemTime, UNIX_EPOCH};

use ragengine_pipeline::stream::{Usage, event};
use serde_json::{Value, json};

use super::MODEL;

/// The fields that a whole answer and the chunks of a stream share.
fn head() -> Value {
    json!({
        "id": format!("chatcmpl-{}", uuid::Uuid::new_v4().simple()),
        "created": SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        "model": MODEL,
    })
}

fn reported(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    })
}

/// Formats a whole answer.
pub(super) fn whole(sentences: &[String], usage: Usage) -> String {
    let mut answer = head();
    answer["object"] = json!("chat.completion");
    answer["choices"] = json!([{
        "index": 0,
        "message": {"role": "assistant", "content": sentences.join(" ")},
        "logprobs": null,
        "finish_reason": "stop",
    }]);
    answer["usage"] = reported(usage);
    answer.to_string()
}

/// The events of an answer: one for the role, one for each sentence, one with the finish reason, and one with the usage
/// if it is given.
pub(super) fn events(sentences: &[String], usage: Option<Usage>) -> Vec<String> {
    let head = head();
    let chunk = |choices: Value| {
        let mut chunk = head.clone();
        chunk["object"] = json!("chat.completion.chunk");
        chunk["choices"] = choices;
        chunk
    };
    let delta = |delta: Value, finish_reason: Value| {
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish_reason}]))
    };
    let first = delta(json!({"role": "assistant", "content": ""}), Value::Null);
    let said = sentences.iter().enumerate().map(|(position, sentence)| {
        let separator = if position == 0 { "" } else { " " };
        delta(json!({"content": format!("{separator}{sentence}")}), Value::Null)
    });
    let last = delta(json!({}), json!("stop"));
    let usage = usage.map(|usage| {
        let mut told = chunk(json!([]));
        told["usage"] = reported(usage);
        told
    });
    let chunks = [first].into_iter().chain(said).chain([last]).chain(usage).map(|chunk| chunk.to_string());
    chunks.chain(["[DONE]".to_owned()]).map(|data| event(&data)).collect()
}
