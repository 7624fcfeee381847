//! Builds a whole answer from fields that are known and texts that were checked.

use serde_json::{Map, Value, json};

use super::super::strict::{CONTENT_FILTER, Event, HeldCalls, Part, tool_calls};
use super::{Change, Choice};

/// See [`with_changes`](super::with_changes).
pub(super) fn with_changes(answer: &str, mut change: impl FnMut(&Choice) -> Change) -> Option<String> {
    let Event { head, parts, usage, error } = Event::whole(answer).ok()?;
    let choices: Vec<Value> = parts?.into_iter().map(|part| choice(part, &mut change)).collect();
    let mut written = head;
    let more = [("choices", Some(choices.into())), ("usage", usage), ("error", error)];
    written.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    Some(Value::Object(written).to_string())
}

fn choice(part: Part, change: &mut impl FnMut(&Choice) -> Change) -> Value {
    let mut message: Map<String, Value> = part.message();
    let Part { choice: index, content, calls, finish_reason, .. } = part;
    let (mut held, mut held_bytes) = (HeldCalls::default(), 0);
    for (mut piece, position) in calls.into_iter().zip(0..) {
        // The calls of a whole answer are whole, and have no index.
        piece.index = Some(position);
        held.add(piece, &mut held_bytes);
    }
    let (has_calls, are_whole) = (!held.is_empty(), held.are_whole());
    let has_text = content.is_some();
    let choice = Choice {
        index,
        text: content.unwrap_or_default(),
        finish_reason: finish_reason.map(str::to_owned),
        has_calls,
        tool_calls: held.into_calls(),
    };
    let Change { text, finish_reason: reason, keeps_calls } = change(&choice);
    let content = if has_text || !text.is_empty() { text.into() } else { Value::Null };
    message.insert("content".to_owned(), content);
    let are_removed = has_calls && !(are_whole && keeps_calls);
    if !are_removed {
        message.append(&mut tool_calls(choice.tool_calls, false));
    }
    let finish_reason = reason.or(are_removed.then_some(CONTENT_FILTER)).or(finish_reason);
    json!({"index": index, "message": message, "finish_reason": finish_reason})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(choice: &Choice) -> Change {
        let keeps_calls = choice.tool_calls.iter().all(|call| !call.arguments.contains("AKIA"));
        Change { text: choice.text.replace("AKIA", "***"), finish_reason: None, keeps_calls }
    }

    #[test]
    fn only_known_fields_pass() {
        let answer = concat!(
            r#"{"id":"c1","object":"chat.completion","created":5,"model":"m","prompt_token_ids":[1],"#,
            r#""choices":[{"index":0,"message":{"role":"assistant","content":"a AKIA","refusal":"AKIA","#,
            r#""reasoning":"AKIA","audio":{"transcript":"AKIA"}},"token_ids":[1],"stop_reason":"AKIA","#,
            r#""logprobs":{"content":[{"token":"AKIA"}]},"finish_reason":"stop"},"#,
            r#"{"message":null,"delta":{"content":"AKIA"},"finish_reason":"AKIA"}],"#,
            r#""usage":{"prompt_tokens":3,"text":"AKIA"},"vendor":"AKIA"}"#,
        );
        let expected = concat!(
            r#"{"id":"c1","object":"chat.completion","created":5,"model":"m","#,
            r#""choices":[{"index":0,"message":{"role":"assistant","content":"a ***"},"finish_reason":"stop"},"#,
            r#"{"index":0,"message":{"content":null},"finish_reason":"unknown"}],"usage":{"prompt_tokens":3}}"#,
        );
        assert_eq!(with_changes(answer, change).as_deref(), Some(expected));
    }

    #[test]
    fn a_text_can_become_empty_and_a_missing_one_can_be_written() {
        let answer = |content: &str| {
            format!(r#"{{"choices":[{{"index":0,"message":{{"content":{content}}},"finish_reason":"stop"}}]}}"#)
        };
        for (content, text, expected) in
            [(r#""a""#, "", r#""""#), ("null", "Blocked.", r#""Blocked.""#), ("null", "", "null")]
        {
            let change = |_: &Choice| Change { text: text.to_owned(), ..Change::default() };
            assert_eq!(with_changes(&answer(content), change), Some(answer(expected)));
        }
    }

    #[test]
    fn calls_pass_if_they_are_permitted() {
        let answer = |calls: &str, reason: &str| {
            format!(r#"{{"choices":[{{"index":0,"message":{{"content":null{calls}}},"finish_reason":"{reason}"}}]}}"#)
        };
        let calls = |arguments: &str| {
            let call = |id: &str| {
                format!(r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{arguments}"}}}}"#)
            };
            let legacy = format!(r#""function_call":{{"name":"f","arguments":"{arguments}"}}"#);
            format!(r#","tool_calls":[{},{}],{legacy}"#, call("a"), call("a"))
        };
        let fine = answer(&calls("{}"), "tool_calls");
        assert_eq!(with_changes(&fine, change), Some(fine));
        let hostile = answer(&calls("AKIA"), "tool_calls");
        assert_eq!(with_changes(&hostile, change), Some(answer("", "content_filter")));
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_refused() {
        for odd in [
            "[]",
            "{}",
            "no",
            r#"{"choices":1}"#,
            r#"{"error":{"message":"gone"}}"#,
            r#"{"choices":[{"index":-1,"message":{"content":"AKIA"}}]}"#,
            r#"{"choices":[{"message":"AKIA"}]}"#,
            r#"{"choices":[{"message":{"content":"\ud800 AKIA"}}]}"#,
            r#"{"choices":[{"message":{"content":"a","content":"AKIA"}}]}"#,
        ] {
            assert_eq!(with_changes(odd, change), None, "{odd}");
        }
    }
}
