//! What one event of a streamed answer says, beside the bytes that it came as.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::marking::{holds_words, is_error, usage};
use super::{Usage, data, event, is_finish};

/// A part of one of the answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    /// Which of the answers, from 0.
    pub choice: u64,
    /// More of its text.
    pub text: String,
    /// Why it has ended, where it has.
    pub finish_reason: Option<String>,
}

/// What an event says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Parts of answers, and maybe what they cost.
    Answer {
        /// The parts, in their order.
        deltas: Vec<Delta>,
        /// The tokens of the whole answer.
        usage: Option<Usage>,
        /// Whether it holds a word: text, reasoning, a refusal or a tool call.
        has_words: bool,
    },
    /// An error in the place of a part.
    Error,
    /// The mark of the end.
    Done,
    /// Nothing that an answer is made of, such as a comment.
    Nothing,
}

/// One event of a streamed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The event as it came, with the empty line behind it.
    pub raw: Bytes,
    /// What it says.
    pub said: Said,
}

impl Chunk {
    /// Reads an event.
    pub fn read(raw: Bytes) -> Self {
        let said = match data(&raw) {
            None => Said::Nothing,
            Some("[DONE]") => Said::Done,
            Some(data) => said(data),
        };
        Self { raw, said }
    }

    /// The event's data, where it is one line.
    pub fn data(&self) -> Option<&str> {
        data(&self.raw)
    }

    /// Whether it says why an answer has ended.
    pub fn is_finish(&self) -> bool {
        match &self.said {
            Said::Answer { deltas, .. } => deltas.iter().any(|delta| delta.finish_reason.is_some()),
            Said::Error | Said::Done | Said::Nothing => false,
        }
    }

    /// The same event with another text for one of the answers: every other field stays. None where it says nothing for that answer.
    pub fn with_text(&self, choice: u64, text: &str) -> Option<Self> {
        let mut chunk: Value = serde_json::from_str(self.data()?).ok()?;
        let choices = chunk["choices"].as_array_mut()?;
        let part = choices.iter_mut().find(|part| part["index"].as_u64().unwrap_or(0) == choice)?;
        part["delta"].as_object_mut()?.insert("content".to_owned(), text.into());
        Some(Self::read(event(&chunk.to_string()).into()))
    }
}

fn said(data: &str) -> Said {
    let Ok(wire) = serde_json::from_str::<Wire<'_>>(data) else { return said_oddly(data) };
    if wire.error.is_some_and(|error| error.get() != "null") {
        return Said::Error;
    }
    let has_words = wire.choices.iter().any(|choice| choice.delta.has_words);
    let deltas = wire.choices.into_iter().map(|choice| Delta {
        choice: choice.index,
        text: choice.delta.text.into_owned(),
        finish_reason: choice.finish_reason.and_then(|reason| serde_json::from_str(reason.get()).ok()),
    });
    Said::Answer { deltas: deltas.collect(), usage: wire.usage, has_words }
}

/// What an event of another shape says, as far as can be told.
fn said_oddly(data: &str) -> Said {
    if is_error(data) {
        return Said::Error;
    }
    let finish_reason = is_finish(data).then(|| "unknown".to_owned());
    let deltas = finish_reason.map(|reason| Delta { choice: 0, text: String::new(), finish_reason: Some(reason) });
    Said::Answer { deltas: deltas.into_iter().collect(), usage: usage(data), has_words: holds_words(data) }
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default)]
    choices: Vec<Choice<'a>>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: u64,
    #[serde(borrow, default)]
    delta: Words<'a>,
    #[serde(borrow, default)]
    finish_reason: Option<&'a RawValue>,
}

/// What a delta says.
#[derive(Default)]
struct Words<'a> {
    text: Cow<'a, str>,
    has_words: bool,
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
            if name == "content" && value.get().starts_with('"') {
                words.text = text(value.get()).map_err(serde::de::Error::custom)?;
            }
        }
        Ok(words)
    }
}

/// A text in JSON. One without escapes is not copied.
fn text(json: &str) -> Result<Cow<'_, str>, serde_json::Error> {
    match json.trim_matches('"') {
        plain if plain.len() + 2 == json.len() && !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        _ => serde_json::from_str(json).map(Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data: &str) -> Chunk {
        Chunk::read(event(data).into())
    }

    #[test]
    fn an_event_is_read_with_the_numbers_of_its_answers() {
        let chunk = read(
            r#"{"choices":[{"index":1,"delta":{"content":"a\n\"b\""},"finish_reason":null},{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
        );
        let delta = |choice, text: &str, reason: Option<&str>| Delta {
            choice,
            text: text.to_owned(),
            finish_reason: reason.map(str::to_owned),
        };
        let deltas = vec![delta(1, "a\n\"b\"", None), delta(0, "", Some("stop"))];
        let usage = Some(Usage { prompt_tokens: 3, completion_tokens: 2 });
        assert_eq!(chunk.said, Said::Answer { deltas, usage, has_words: true });
        assert!(chunk.is_finish());
    }

    #[test]
    fn what_is_no_part_of_an_answer_is_told_from_one() {
        for (data, expected) in [
            ("[DONE]", Said::Done),
            (r#"{"error":{"message":"no"}}"#, Said::Error),
            (r#"{"choices":[],"error":null}"#, Said::Answer { deltas: Vec::new(), usage: None, has_words: false }),
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
    fn a_text_is_replaced_and_nothing_else() {
        let chunk = read(
            r#"{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"logprobs":null},{"index":1,"delta":{"content":"b"}}]}"#,
        );
        let changed = chunk.with_text(1, "[1]").unwrap();
        let data = r#"{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"logprobs":null},{"index":1,"delta":{"content":"[1]"}}]}"#;
        assert_eq!(changed.data(), Some(data));
        assert_eq!(chunk.with_text(2, "x"), None);
    }
}
