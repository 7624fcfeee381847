//! A whole answer as the events of a stream.

use serde_json::{Value, json};

use super::super::event;

/// A whole answer as the events of a stream: one with the texts, one with the finish reasons and the tokens, and
/// `[DONE]`. None if it has no choices.
pub fn as_events(answer: &str) -> Option<String> {
    let mut head: Value = serde_json::from_str(answer).ok()?;
    let mut choices = head.get_mut("choices")?.take();
    let ends: Option<Vec<Value>> = choices.as_array_mut()?.iter_mut().zip(0..).map(split).collect();
    let ends = ends.filter(|ends| !ends.is_empty())?;
    head["object"] = json!("chat.completion.chunk");
    let usage = head.as_object_mut()?.remove("usage");
    let mut texts = head.clone();
    texts["choices"] = choices;
    head["choices"] = ends.into();
    if let Some(usage) = usage {
        // It is not an event of its own, because some clients expect a choice in every event.
        head["usage"] = usage;
    }
    Some([event(&texts.to_string()), event(&head.to_string()), event("[DONE]")].concat())
}

/// Makes a choice the part of a stream with its text. Returns the part with its finish reason. None if it is no object.
fn split((choice, position): (&mut Value, u64)) -> Option<Value> {
    let fields = choice.as_object_mut()?;
    let index = fields.entry("index").or_insert_with(|| position.into()).clone();
    let finish_reason = fields.insert("finish_reason".to_owned(), Value::Null).unwrap_or_default();
    let mut delta = fields.remove("message").filter(Value::is_object).unwrap_or_else(|| json!({}));
    number_calls(&mut delta);
    fields.insert("delta".to_owned(), delta);
    Some(json!({"index": index, "delta": {}, "finish_reason": finish_reason}))
}

/// Numbers the tool calls, as streams do.
fn number_calls(delta: &mut Value) {
    let calls = delta.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten();
    for (call, position) in calls.filter_map(Value::as_object_mut).zip(0_u64..) {
        call.entry("index").or_insert_with(|| position.into());
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::data;
    use super::*;

    /// The data of the events, without `[DONE]`, which must be the last.
    fn chunks(events: &str) -> Vec<Value> {
        let events = events.strip_suffix("data: [DONE]\n\n").unwrap();
        let chunk = |event: &str| serde_json::from_str(data(event.as_bytes()).unwrap()).unwrap();
        events.split_inclusive("\n\n").map(chunk).collect()
    }

    #[test]
    fn a_whole_answer_becomes_a_stream() {
        let whole = json!({
            "id": "c1",
            "object": "chat.completion",
            "choices": [
                {"index": 1, "message": {"role": "assistant", "content": "a\n"}, "finish_reason": "stop"},
                {"message": {"content": null, "tool_calls": [{"id": "t1", "function": {"name": "f"}}]}},
            ],
            "usage": {"prompt_tokens": 3},
        });
        let calls = json!([{"id": "t1", "function": {"name": "f"}, "index": 0}]);
        let expected = [
            json!({
                "id": "c1",
                "object": "chat.completion.chunk",
                "choices": [
                    {"index": 1, "delta": {"role": "assistant", "content": "a\n"}, "finish_reason": null},
                    {"index": 1, "delta": {"content": null, "tool_calls": calls}, "finish_reason": null},
                ],
            }),
            json!({
                "id": "c1",
                "object": "chat.completion.chunk",
                "choices": [
                    {"index": 1, "delta": {}, "finish_reason": "stop"},
                    {"index": 1, "delta": {}, "finish_reason": null},
                ],
                "usage": {"prompt_tokens": 3},
            }),
        ];
        assert_eq!(chunks(&as_events(&whole.to_string()).unwrap()), expected);
    }

    #[test]
    fn what_has_no_choices_is_no_answer() {
        for odd in ["[]", "{}", r#"{"choices":[]}"#, r#"{"choices":[1]}"#, r#"{"error":{"message":"no"}}"#, "no"] {
            assert_eq!(as_events(odd), None, "{odd}");
        }
    }
}
