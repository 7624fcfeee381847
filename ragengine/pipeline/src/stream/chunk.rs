//! The typed content of one event of a streamed answer, next to its original bytes.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::marking::{holds_words, is_error, usage};
use super::{ToolCall, Usage, data, is_finish};

/// A part of one choice of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    /// The index of the choice, from 0.
    pub choice: u64,
    /// The text to append to the choice.
    pub text: String,
    /// Why the choice ended. None while it continues.
    pub finish_reason: Option<String>,
    /// Whether it has a tool call, or a piece of one. A strict [`Rewriting`](super::Rewriting) says so at the end of a
    /// choice.
    pub has_calls: bool,
    /// All tool calls of the choice. Only a strict [`Rewriting`](super::Rewriting) fills them in, at the end of a choice.
    pub tool_calls: Vec<ToolCall>,
}

/// The content of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Parts of the answer, with the token counts if the event has them.
    Answer {
        /// The parts, in order.
        deltas: Vec<Delta>,
        /// The tokens of the whole answer.
        usage: Option<Usage>,
        /// Whether it has content: text, reasoning, a refusal or a tool call.
        has_words: bool,
        /// Whether it carries an error. Some servers send the error alone, others together with the last part.
        has_error: bool,
    },
    /// `[DONE]`, which ends the stream.
    Done,
    /// No part of an answer, such as a comment.
    Nothing,
}

/// One event of a streamed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The original bytes of the event, including its empty line.
    pub raw: Bytes,
    /// Its typed content.
    pub said: Said,
}

impl Chunk {
    /// Parses an event.
    pub fn read(raw: Bytes) -> Self {
        let said = match data(&raw) {
            None => Said::Nothing,
            Some("[DONE]") => Said::Done,
            Some(data) => said(data),
        };
        Self { raw, said }
    }

    /// The data of the event. None if it has more than one `data:` line.
    pub fn data(&self) -> Option<&str> {
        data(&self.raw)
    }

    /// Whether it has a finish reason.
    pub fn is_finish(&self) -> bool {
        match &self.said {
            Said::Answer { deltas, .. } => deltas.iter().any(|delta| delta.finish_reason.is_some()),
            Said::Done | Said::Nothing => false,
        }
    }

    /// Whether the answer is complete or has failed with this event.
    pub(super) fn ends_the_answer(&self) -> bool {
        match &self.said {
            Said::Answer { has_error, .. } => *has_error || self.is_finish(),
            Said::Done => true,
            Said::Nothing => false,
        }
    }
}

fn said(data: &str) -> Said {
    let Ok(wire) = serde_json::from_str::<Wire<'_>>(data) else { return said_oddly(data) };
    // The finish reason, errors and tokens are decided by the functions for a pass-through stream, because this parser
    // accepts more input as JSON.
    let has_error = wire.error.is_some() && is_error(data);
    let usage = wire.usage.and_then(|_| usage(data));
    let may_finish = wire.choices.iter().any(|choice| choice.finish_reason.is_some());
    let is_finish = may_finish && is_finish(data);
    let has_words = wire.choices.iter().any(|choice| choice.delta.as_ref().is_some_and(|delta| delta.has_words));
    let deltas = wire.choices.into_iter().map(|choice| {
        let Words { text, has_calls, .. } = choice.delta.unwrap_or_default();
        let reason = choice.finish_reason.filter(|_| is_finish);
        Delta {
            choice: choice.index,
            text: text.into_owned(),
            finish_reason: reason.and_then(|reason| serde_json::from_str(reason.get()).ok()),
            has_calls,
            tool_calls: Vec::new(),
        }
    });
    Said::Answer { deltas: deltas.collect(), usage, has_words, has_error }
}

/// Reads as much as possible from an event whose JSON has another shape.
fn said_oddly(data: &str) -> Said {
    let finish_reason = is_finish(data).then(|| "unknown".to_owned());
    let deltas = finish_reason.map(|reason| Delta {
        choice: 0,
        text: String::new(),
        finish_reason: Some(reason),
        has_calls: false,
        tool_calls: Vec::new(),
    });
    Said::Answer {
        deltas: deltas.into_iter().collect(),
        usage: usage(data),
        has_words: holds_words(data),
        has_error: is_error(data),
    }
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default)]
    choices: Vec<Choice<'a>>,
    // Its form must not decide whether the text beside it is read.
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: u64,
    #[serde(borrow, default)]
    delta: Option<Words<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<&'a RawValue>,
}

/// The content of a delta.
#[derive(Default)]
struct Words<'a> {
    text: Cow<'a, str>,
    has_words: bool,
    has_calls: bool,
}

impl<'de: 'a, 'a> Deserialize<'de> for Words<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Words<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut words = Words::default();
        while let Some(name) = fields.next_key::<Cow<'de, str>>()? {
            let value: &RawValue = fields.next_value()?;
            words.has_words |= name != "role" && !matches!(value.get(), "null" | "\"\"" | "[]");
            words.has_calls |= matches!(&*name, "tool_calls" | "function_call") && holds_calls(value);
            if name == "content" && value.get().starts_with('"') {
                words.text = text(value.get()).map_err(serde::de::Error::custom)?;
            }
        }
        Ok(words)
    }
}

/// Whether the field of a message for tool calls, or for one of OpenAI's older format, has any.
pub(super) fn holds_calls(value: &RawValue) -> bool {
    let inner = value.get().trim_matches(['[', ']', '{', '}', '"', ' ', '\t', '\r', '\n']);
    !inner.is_empty() && inner != "null"
}

/// Decodes a JSON string. A string without escapes is not copied.
pub(super) fn text(json: &str) -> Result<Cow<'_, str>, serde_json::Error> {
    match json.trim_matches('"') {
        plain if plain.len() + 2 == json.len() && !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        _ => serde_json::from_str(json).map(Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use super::super::event;
    use super::*;

    fn read(data: &str) -> Chunk {
        Chunk::read(event(data).into())
    }

    #[test]
    fn an_event_is_read_with_the_numbers_of_its_answers() {
        let chunk = read(concat!(
            r#"{"choices":[{"index":1,"delta":{"content":"a\n\"b\""},"finish_reason":null},"#,
            r#"{"index":0,"delta":{},"finish_reason":"stop"}],"#,
            r#""usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
        ));
        let delta = |choice, text: &str, reason: Option<&str>| Delta {
            choice,
            text: text.to_owned(),
            finish_reason: reason.map(str::to_owned),
            has_calls: false,
            tool_calls: Vec::new(),
        };
        let deltas = vec![delta(1, "a\n\"b\"", None), delta(0, "", Some("stop"))];
        let usage = Some(Usage { prompt_tokens: 3, completion_tokens: 2 });
        assert_eq!(chunk.said, Said::Answer { deltas, usage, has_words: true, has_error: false });
        assert!(chunk.is_finish());
    }

    #[test]
    fn what_is_no_part_of_an_answer_is_told_from_one() {
        let empty = |has_error| Said::Answer { deltas: Vec::new(), usage: None, has_words: false, has_error };
        for (data, expected) in [
            ("[DONE]", Said::Done),
            (r#"{"error":{"message":"no"}}"#, empty(true)),
            (r#"{"choices":[],"error":null}"#, empty(false)),
            // No text, so no client can read it.
            (r#"{"choices":[],"error":"\ud800"}"#, empty(false)),
        ] {
            assert_eq!(read(data).said, expected, "{data}");
        }
        assert_eq!(Chunk::read(Bytes::from_static(b": comment\n\n")).said, Said::Nothing);
        for (delta, expected) in [
            (r#"{"role":"assistant","content":""}"#, false),
            (r#"{"content":null}"#, false),
            (r#"{"reasoning_content":"hm"}"#, true),
            (r#"{"tool_calls":[]}"#, false),
            (r#"{"tool_calls":[{"id":"x"}]}"#, true),
            (r#"{"content":"\""}"#, true),
        ] {
            let Said::Answer { has_words, .. } = read(&format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#)).said else {
                panic!("no answer: {delta}");
            };
            assert_eq!(has_words, expected, "{delta}");
        }
    }

    #[test]
    fn a_tool_call_is_told_from_an_empty_field() {
        for (delta, expected) in [
            (r#"{"content":"f()"}"#, false),
            (r#"{"tool_calls":null,"function_call":null}"#, false),
            (r#"{"tool_calls":[ ],"function_call":{}}"#, false),
            (r#"{"tool_calls":[{"index":0,"function":{"arguments":""}}]}"#, true),
            (r#"{"content":"","function_call":{"name":"f"}}"#, true),
        ] {
            let said = read(&format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#)).said;
            let Said::Answer { deltas, .. } = said else { panic!("no answer: {delta}") };
            assert_eq!(deltas[0].has_calls, expected, "{delta}");
        }
    }

    #[test]
    fn a_text_is_read_beside_odd_fields() {
        for data in [
            r#"{"choices":[{"delta":{"content":"a"}},{"index":1,"delta":null}]}"#,
            r#"{"choices":[{"delta":{"content":"a"}},{"index":1}],"usage":{"prompt_tokens":null}}"#,
            r#"{"choices":[{"delta":{"content":"a"}},{"index":1}],"usage":1.5}"#,
        ] {
            let Said::Answer { deltas, usage, .. } = read(data).said else { panic!("no answer: {data}") };
            let texts: Vec<_> = deltas.iter().map(|delta| (delta.choice, delta.text.as_str())).collect();
            assert_eq!((texts, usage), (vec![(0, "a"), (1, "")], None), "{data}");
        }
    }

    #[test]
    fn a_text_without_escapes_is_not_copied() {
        for (json, expected, is_copied) in
            [(r#""""#, "", false), (r#""ä b""#, "ä b", false), (r#""a\n""#, "a\n", true), (r#""\"""#, "\"", true)]
        {
            let read = text(json).unwrap();
            assert_eq!((&*read, matches!(read, Cow::Owned(_))), (expected, is_copied), "{json}");
        }
        assert!(text("7").is_err());
    }

    #[test]
    fn an_error_beside_the_end_of_an_answer_is_both() {
        let chunk = read(concat!(
            r#"{"error":{"code":502,"message":"gone"},"#,
            r#""choices":[{"delta":{"content":""},"finish_reason":"error"}],"usage":{"prompt_tokens":3}}"#,
        ));
        assert!(chunk.is_finish());
        let Said::Answer { usage, has_error, .. } = chunk.said else { panic!("no answer") };
        assert_eq!((usage.map(|usage| usage.prompt_tokens), has_error), (Some(3), true));
    }
}
