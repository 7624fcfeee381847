//! Answers that are not streamed.

mod events;
mod strictly;

use std::borrow::Cow;

pub use events::as_events;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::chunk::{holds_calls, text};
use super::{Change, ToolCall, Usage, with_fields};

/// What a whole answer of the language model reports besides its choices, parsed from JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// The tokens that the language model reported.
    pub usage: Option<Usage>,
    created: Created,
}

/// One choice of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The index of the choice, from 0.
    pub index: u64,
    /// Its text. Empty if it has no text, such as a tool call.
    pub text: String,
    /// Why it ended.
    pub finish_reason: Option<String>,
    /// Whether it calls a tool.
    pub has_calls: bool,
    /// Its tool calls. Only a strict [`with_changes`] fills them in.
    pub tool_calls: Vec<ToolCall>,
}

/// Decodes a JSON string. None if the value has another type.
fn string(value: &RawValue) -> Option<String> {
    let is_string = value.get().starts_with('"');
    is_string.then(|| text(value.get()).ok())?.map(Cow::into_owned)
}

/// How the field `created` of an answer is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Created {
    /// It has a value, or the answer is not an object.
    Said,
    /// The field is absent.
    Missing,
    /// The field is null, at this byte offset.
    Null(usize),
}

#[derive(Default, Deserialize)]
struct Choices<'a> {
    #[serde(borrow, default)]
    choices: Vec<WireChoice<'a>>,
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "as_written")]
    created: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireChoice<'a> {
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    message: Option<WireMessage<'a>>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct WireMessage<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
    // OpenAI's older format.
    #[serde(borrow)]
    function_call: Option<&'a RawValue>,
}

impl From<WireChoice<'_>> for Choice {
    fn from(choice: WireChoice<'_>) -> Self {
        let WireMessage { content, tool_calls, function_call } = choice.message.unwrap_or_default();
        Self {
            index: choice.index,
            text: content.and_then(string).unwrap_or_default(),
            finish_reason: choice.finish_reason.and_then(string),
            has_calls: tool_calls.into_iter().chain(function_call).any(holds_calls),
            tool_calls: Vec::new(),
        }
    }
}

impl Choice {
    /// The choices of an answer, in order. Empty if they have an unexpected shape.
    pub fn read_all(answer: &str) -> Vec<Self> {
        let Choices { choices } = serde_json::from_str(answer).unwrap_or_default();
        choices.into_iter().map(Self::from).collect()
    }
}

impl Whole {
    /// Parses an answer. None if it is not JSON.
    pub fn read(answer: &str) -> Option<Self> {
        let whole = |Wire { usage, created }: Wire<'_>| Self {
            usage: usage.and_then(|usage| serde_json::from_str(usage.get()).ok()),
            created: created.map_or(Created::Missing, |created| match created.get() {
                "null" => Created::Null(created.get().as_ptr().addr() - answer.as_ptr().addr()),
                _ => Created::Said,
            }),
        };
        if let Ok(wire) = serde_json::from_str(answer) {
            return Some(whole(wire));
        }
        let is_json = serde_json::from_str::<IgnoredAny>(answer).is_ok();
        is_json.then_some(Self { usage: None, created: Created::Said })
    }

    /// The answer with its time of creation. If it has none, `seconds` since 1970 is added, because clients rely on the
    /// field.
    pub fn dated<'a>(&self, answer: &'a str, seconds: u64) -> Cow<'a, str> {
        match self.created {
            Created::Said => answer.into(),
            Created::Missing => {
                with_fields(answer, &[("created", seconds.to_string())]).map_or(answer.into(), Cow::Owned)
            }
            Created::Null(place) => format!("{}{seconds}{}", &answer[..place], &answer[place + "null".len()..]).into(),
        }
    }
}

/// A whole answer in which each choice has another text. None if it has no choices that can be read. If `is_strict`, it
/// is built from known fields, and only texts and tool calls pass that `change` has seen.
pub fn with_changes(answer: &str, is_strict: bool, mut change: impl FnMut(&Choice) -> Change) -> Option<String> {
    if is_strict {
        return strictly::with_changes(answer, change);
    }
    let mut value: Value = serde_json::from_str(answer).ok()?;
    let choices = value.get_mut("choices")?.as_array_mut()?;
    for (choice, written) in Choice::read_all(answer).iter().zip(choices) {
        let Change { text, finish_reason, .. } = change(choice);
        let has_text = written["message"]["content"].is_string();
        if let Some(written) = written.as_object_mut() {
            // The probabilities belong to the text before.
            written.remove("logprobs");
        }
        if has_text || !text.is_empty() {
            written["message"]["content"] = text.into();
        }
        if let Some(reason) = finish_reason {
            written["finish_reason"] = reason.into();
        }
    }
    Some(value.to_string())
}

/// Distinguishes a null value from an absent one.
fn as_written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_its_time_gets_one() {
        for (answer, expected) in [
            (r#"{"id":"c1"}"#, r#"{"id":"c1","created":7}"#),
            ("{ }", "{ \"created\":7}"),
            (r#"{"created":null,"id":"c1"}"#, r#"{"created":7,"id":"c1"}"#),
            (r#"{"created" : 5.0,"id":"c1"}"#, r#"{"created" : 5.0,"id":"c1"}"#),
            (r#"{"a":{"created":1}}"#, r#"{"a":{"created":1},"created":7}"#),
            (r#"{"text":"\"created\":1"}"#, r#"{"text":"\"created\":1","created":7}"#),
            ("[1]", "[1]"),
        ] {
            assert_eq!(Whole::read(answer).unwrap().dated(answer, 7), expected, "{answer}");
        }
    }

    #[test]
    fn a_whole_answer_is_json_of_any_shape() {
        for (answer, is_json) in [
            (r#"{"a":[{"usage":1}]}"#, true),
            ("[1]", true),
            (r#"{"usage":1,"usage":2}"#, true),
            ("{", false),
            ("{} {}", false),
            ("", false),
        ] {
            assert_eq!(Whole::read(answer).map(|whole| whole.usage), is_json.then_some(None), "{answer}");
        }
    }

    #[test]
    fn the_texts_of_an_answer_can_be_changed() {
        let answer = concat!(
            r#"{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"logprobs":{},"#,
            r#""finish_reason":"stop"},{"index":1,"message":{"content":null,"tool_calls":[]},"#,
            r#""finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3}}"#
        );
        let change = |choice: &Choice| Change {
            text: choice.text.to_uppercase(),
            finish_reason: (choice.index == 0).then_some("content_filter"),
            keeps_calls: false,
        };
        let expected = concat!(
            r#"{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"A"},"#,
            r#""finish_reason":"content_filter"},{"index":1,"message":{"content":null,"tool_calls":[]},"#,
            r#""finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3}}"#
        );
        assert_eq!(with_changes(answer, false, change).as_deref(), Some(expected));
        let message = |content: &str| format!(r#"{{"choices":[{{"message":{{"content":{content}}}}}]}}"#);
        for (content, text, expected) in
            [(r#""a""#, "", r#""""#), ("null", "Blocked.", r#""Blocked.""#), ("null", "", "null")]
        {
            let change = |_: &Choice| Change { text: text.to_owned(), ..Change::default() };
            assert_eq!(with_changes(&message(content), false, change), Some(message(expected)));
        }
        for odd in ["[]", "{}", r#"{"choices":1}"#, "no"] {
            assert_eq!(with_changes(odd, false, change), None, "{odd}");
        }
    }

    #[test]
    fn a_choice_tells_whether_it_calls_a_tool() {
        for (message, expected) in [
            (r#"{"content":"f()"}"#, false),
            (r#"{"content":null,"tool_calls":[ ],"function_call":null}"#, false),
            (r#"{"content":null,"tool_calls":[{"id":"c1"}]}"#, true),
            (r#"{"content":null,"function_call":{"name":"f"}}"#, true),
        ] {
            let choices = Choice::read_all(&format!(r#"{{"choices":[{{"message":{message}}}]}}"#));
            assert_eq!(choices[0].has_calls, expected, "{message}");
        }
    }

    #[test]
    fn the_answers_keep_their_numbers() {
        let choice = |index, text: &str, reason: Option<&str>| Choice {
            index,
            text: text.to_owned(),
            finish_reason: reason.map(str::to_owned),
            has_calls: false,
            tool_calls: Vec::new(),
        };
        for (choices, expected) in [
            (
                concat!(
                    r#"[{"index":1,"message":{"role":"assistant","content":"a\n"},"finish_reason":"stop"},"#,
                    r#"{"message":{"content":"b"}}]"#,
                ),
                vec![choice(1, "a\n", Some("stop")), choice(0, "b", None)],
            ),
            (
                concat!(
                    r#"[{"index":0,"message":{"content":null,"tool_calls":[]},"finish_reason":null},"#,
                    r#"{"message":null,"finish_reason":1}]"#,
                ),
                vec![choice(0, "", None), choice(0, "", None)],
            ),
            (r#"[{"message":{"content":["parts"]}}]"#, vec![choice(0, "", None)]),
            (r#""none""#, vec![]),
            (r#"[],"choices":[]"#, vec![]),
        ] {
            let answer = format!(r#"{{"choices":{choices},"usage":{{"prompt_tokens":3}},"created":null}}"#);
            let whole = Whole::read(&answer).unwrap();
            assert_eq!(Choice::read_all(&answer), expected, "{answer}");
            // Neither the tokens nor the time depend on the shape of the choices.
            assert_eq!(whole.usage.map(|usage| usage.prompt_tokens), Some(3), "{answer}");
            assert!(whole.dated(&answer, 7).ends_with(r#""created":7}"#), "{answer}");
        }
    }
}
