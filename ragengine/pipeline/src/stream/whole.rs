//! An answer that is no stream.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Delta, Usage, with_fields};

/// A whole answer of the language model, which is JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole {
    /// The tokens that it reports.
    pub usage: Option<Usage>,
    created: Created,
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

impl Whole {
    /// Looks through an answer once. Nothing when it is not JSON.
    pub fn read(answer: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Fields<'a> {
            #[serde(borrow)]
            usage: Option<&'a RawValue>,
            #[serde(borrow, default, deserialize_with = "as_written")]
            created: Option<&'a RawValue>,
        }
        match serde_json::from_str::<Fields<'_>>(answer) {
            Ok(Fields { usage, created }) => Some(Self {
                usage: usage.and_then(|usage| serde_json::from_str(usage.get()).ok()),
                created: created.map_or(Created::Missing, |created| match created.get() {
                    "null" => Created::Null(created.get().as_ptr().addr() - answer.as_ptr().addr()),
                    _ => Created::Said,
                }),
            }),
            // JSON of another shape.
            Err(_) => serde_json::from_str::<IgnoredAny>(answer)
                .is_ok()
                .then_some(Self { usage: None, created: Created::Said }),
        }
    }

    /// The answer that this was read from, with the time when it was made: its own, else `seconds` since 1970. Clients rely on it.
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

/// What a whole answer says: of each of the answers that were asked for its text, and why it ended.
pub fn answers(answer: &str) -> Vec<Delta> {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let choices = answer["choices"].as_array().into_iter().flatten();
    choices
        .map(|choice| Delta {
            choice: choice["index"].as_u64().unwrap_or(0),
            text: choice["message"]["content"].as_str().unwrap_or_default().to_owned(),
            finish_reason: choice["finish_reason"].as_str().map(str::to_owned),
        })
        .collect()
}

/// A value that is null is told from one that is not there.
fn as_written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_is_told_by_its_number() {
        let answer = r#"{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"},{"index":1,"message":{"content":null},"finish_reason":"tool_calls"}]}"#;
        let delta = |choice, text: &str, reason: &str| Delta {
            choice,
            text: text.to_owned(),
            finish_reason: Some(reason.to_owned()),
        };
        assert_eq!(answers(answer), [delta(0, "a", "stop"), delta(1, "", "tool_calls")]);
        assert_eq!(answers("no JSON"), []);
    }

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
}
