//! Converts the caller's messages to the form in which a server passes them to a chat template.

use serde_json::{Map, Value};

/// Converts messages as vLLM does for a template that expects texts (`vllm/entrypoints/chat_utils.py`): the text parts
/// of a content are joined, a missing content becomes an empty text, and the arguments of a tool call become an object.
/// Contents with other parts than text stay unchanged.
pub(super) fn as_served(messages: &[Value]) -> Vec<Value> {
    messages.iter().map(message_as_served).collect()
}

fn message_as_served(message: &Value) -> Value {
    let Value::Object(fields) = message else { return message.clone() };
    let mut served: Map<String, Value> = fields.clone();
    if let Some(text) = text_of(fields.get("content")) {
        served.insert("content".to_owned(), Value::String(text));
    }
    for call in served.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
        parse_arguments(call);
    }
    Value::Object(served)
}

/// Converts a content to one text. None if it is already a text or has other parts.
fn text_of(content: Option<&Value>) -> Option<String> {
    match content {
        None | Some(Value::Null) => Some(String::new()),
        Some(Value::Array(parts)) => {
            let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
            texts.map(|texts| texts.join("\n"))
        }
        Some(_) => None,
    }
}

fn parse_arguments(call: &mut Value) {
    let Some(arguments) = call.pointer_mut("/function/arguments") else { return };
    let parsed = arguments.as_str().and_then(|text| serde_json::from_str(text).ok());
    if let Some(parsed @ Value::Object(_)) = parsed {
        *arguments = parsed;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_gets_texts_and_objects() {
        for (sent, served) in [
            (json!({"role": "user", "content": "a"}), json!({"role": "user", "content": "a"})),
            (json!({"role": "assistant", "content": null}), json!({"role": "assistant", "content": ""})),
            (json!({"role": "assistant"}), json!({"role": "assistant", "content": ""})),
            (
                json!({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
                json!({"role": "user", "content": "a\nb"}),
            ),
            (
                json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}),
                json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}),
            ),
            (
                json!({"content": "", "tool_calls": [{"function": {"name": "f", "arguments": "{\"x\":1}"}}]}),
                json!({"content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]}),
            ),
            (
                json!({"content": "", "tool_calls": [{"function": {"name": "f", "arguments": "not JSON"}}, 7]}),
                json!({"content": "", "tool_calls": [{"function": {"name": "f", "arguments": "not JSON"}}, 7]}),
            ),
            (json!("no object"), json!("no object")),
        ] {
            assert_eq!(as_served(std::slice::from_ref(&sent)), [served], "{sent}");
        }
    }
}
