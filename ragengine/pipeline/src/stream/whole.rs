//! An answer that is no stream.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::chunk::text;
use super::{Usage, with_fields};

/// A whole answer of the language model, which is JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// The answers in it, in their order. None if it has another shape.
    pub choices: Vec<Choice>,
    /// The tokens that it reports.
    pub usage: Option<Usage>,
    created: Created,
}

/// One of the answers to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Which of the answers, from 0.
    pub index: u64,
    /// Its text. Empty if it has none, as a call of a tool.
    pub text: String,
    /// Why it has ended.
    pub finish_reason: Option<String>,
}

/// A string in JSON. None if the value is something else.
fn string(value: &RawValue) -> Option<String> {
    let is_string = value.get().starts_with('"');
    is_string.then(|| text(value.get()).ok())?.map(Cow::into_owned)
}

/// Whether an answer says when it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Created {
    /// It does, or it is no answer that could.
    Said,
    /// It does not.
    Missing,
    /// It has null there, at this place.
    Null(usize),
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "as_written")]
    created: Option<&'a RawValue>,
    #[serde(borrow, default)]
    choices: Vec<WireChoice<'a>>,
}

/// The same where the choices have another shape.
#[derive(Deserialize)]
struct WithoutChoices<'a> {
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

#[derive(Deserialize)]
struct WireMessage<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

impl From<WireChoice<'_>> for Choice {
    fn from(choice: WireChoice<'_>) -> Self {
        Self {
            index: choice.index,
            text: choice.message.and_then(|message| message.content).and_then(string).unwrap_or_default(),
            finish_reason: choice.finish_reason.and_then(string),
        }
    }
}

impl Whole {
    /// Reads an answer. Nothing when it is not JSON.
    pub fn read(answer: &str) -> Option<Self> {
        let whole = |usage: Option<&RawValue>, created: Option<&RawValue>, choices| Self {
            choices,
            usage: usage.and_then(|usage| serde_json::from_str(usage.get()).ok()),
            created: created.map_or(Created::Missing, |created| match created.get() {
                "null" => Created::Null(created.get().as_ptr().addr() - answer.as_ptr().addr()),
                _ => Created::Said,
            }),
        };
        if let Ok(Wire { usage, created, choices }) = serde_json::from_str(answer) {
            return Some(whole(usage, created, choices.into_iter().map(Choice::from).collect()));
        }
        if let Ok(WithoutChoices { usage, created }) = serde_json::from_str(answer) {
            return Some(whole(usage, created, Vec::new()));
        }
        let is_json = serde_json::from_str::<IgnoredAny>(answer).is_ok();
        is_json.then_some(Self { choices: Vec::new(), usage: None, created: Created::Said })
    }

    /// The answer that this was read from, with the time when it was made: its own, else `seconds` since 1970. Clients
    /// rely on it.
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

/// A value that is null is told from one that is not there.
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
    fn the_answers_keep_their_numbers() {
        let choice = |index, text: &str, reason: Option<&str>| Choice {
            index,
            text: text.to_owned(),
            finish_reason: reason.map(str::to_owned),
        };
        for (choices, expected) in [
            (
                r#"[{"index":1,"message":{"role":"assistant","content":"a\n"},"finish_reason":"stop"},{"message":{"content":"b"}}]"#,
                vec![choice(1, "a\n", Some("stop")), choice(0, "b", None)],
            ),
            (
                r#"[{"index":0,"message":{"content":null,"tool_calls":[]},"finish_reason":null},{"message":null,"finish_reason":1}]"#,
                vec![choice(0, "", None), choice(0, "", None)],
            ),
            (r#"[{"message":{"content":["parts"]}}]"#, vec![choice(0, "", None)]),
            (r#""none""#, vec![]),
            (r#"[],"choices":[]"#, vec![]),
        ] {
            let answer = format!(r#"{{"choices":{choices},"usage":{{"prompt_tokens":3}},"created":null}}"#);
            let whole = Whole::read(&answer).unwrap();
            assert_eq!(whole.choices, expected, "{answer}");
            // Neither the tokens nor the time depend on the shape of the choices.
            assert_eq!(whole.usage.map(|usage| usage.prompt_tokens), Some(3), "{answer}");
            assert!(whole.dated(&answer, 7).ends_with(r#""created":7}"#), "{answer}");
        }
    }
}
