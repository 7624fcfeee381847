//! Changes the text of a streamed answer, for stages that hold text back or replace it.

mod open;
mod strictly;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use self::open::Open;
use super::chunk::{Chunk, Delta, Said};
use super::event;
use super::strict::Unchecked;

/// What becomes of a part of a choice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// The text that is sent now.
    pub text: String,
    /// The finish reason instead of the language model's. None: it stays.
    pub finish_reason: Option<&'static str>,
    /// Whether the tool calls may be sent. If not, they are removed, and the finish reason is `content_filter`. Only
    /// looked at in strict mode.
    pub keeps_calls: bool,
}

/// Writes the events of an answer with other texts. An event whose text does not change keeps its bytes, unless the mode
/// is strict.
#[derive(Debug, Default)]
pub struct Rewriting {
    /// The first event with choices, whose other fields the events that are added have, too.
    first: Option<Bytes>,
    /// Whether only what `change` has seen may pass.
    is_strict: bool,
    /// The choices so far.
    open: Open,
}

impl Rewriting {
    /// Lets only texts and tool calls pass that `change` has seen. Every event is built from known fields.
    /// Reasoning, probabilities and unknown fields are removed. Tool calls are held until their choice ends.
    pub fn strict() -> Self {
        Self { is_strict: true, ..Self::default() }
    }

    /// The events instead of this one. `change` is called for each part of a choice, in order. The rest of a choice comes
    /// in a separate event before the one with the finish reason. In strict mode, tool calls without a finish reason
    /// come before `[DONE]`.
    ///
    /// # Errors
    ///
    /// [`Unchecked`] if the text of a choice is longer than [`MAX_ANSWER_BYTES`](super::MAX_ANSWER_BYTES), or there are
    /// too many choices. In strict mode also if the event cannot be read. Nothing of the answer may be sent any more.
    pub fn rewrite(&mut self, chunk: Chunk, change: impl FnMut(&Delta) -> Change) -> Result<Vec<Chunk>, Unchecked> {
        if self.is_strict {
            return self.rewrite_strictly(&chunk.raw, change);
        }
        let Said::Answer { deltas, .. } = &chunk.said else { return Ok(vec![chunk]) };
        if !deltas.is_empty() && self.first.is_none() {
            self.first = Some(chunk.raw.clone());
        }
        for delta in deltas {
            self.open.add_text(delta.choice, &delta.text)?;
        }
        let changes: Vec<Change> = deltas.iter().map(change).collect();
        let is_same = |(delta, change): (&Delta, &Change)| delta.text == change.text && change.finish_reason.is_none();
        if deltas.iter().zip(&changes).all(is_same) {
            return Ok(vec![chunk]);
        }
        let mut written = Vec::new();
        let mut value: Value = chunk.data().and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
        if value.is_null() {
            return Ok(written);
        }
        let mut choices: Vec<&mut Value> =
            value.get_mut("choices").and_then(Value::as_array_mut).into_iter().flatten().collect();
        for ((delta, change), position) in deltas.iter().zip(changes).zip(0..) {
            let is_last = delta.finish_reason.is_some();
            if is_last && !change.text.is_empty() {
                written.push(self.part(delta.choice, &change.text));
            }
            let Some(choice) = choices.get_mut(position) else { continue };
            let text = if is_last { String::new() } else { change.text };
            set_text(choice, text);
            if let (true, Some(reason)) = (is_last, change.finish_reason) {
                choice["finish_reason"] = reason.into();
            }
        }
        if !is_empty(&value) {
            written.push(written_chunk(value));
        }
        Ok(written)
    }

    /// The events that end an answer before the language model does: one with a finish reason, and `[DONE]`.
    pub fn end(&self, choice: u64, finish_reason: &str) -> [Chunk; 2] {
        [self.last(choice, finish_reason), Chunk::read(event("[DONE]").into())]
    }

    fn last(&self, choice: u64, finish_reason: &str) -> Chunk {
        self.with_choices(json!([{"index": choice, "delta": {}, "finish_reason": finish_reason}]))
    }

    /// An event with a part of a choice.
    pub fn part(&self, choice: u64, text: &str) -> Chunk {
        self.with_choices(json!([{"index": choice, "delta": {"content": text}, "finish_reason": null}]))
    }

    fn with_choices(&self, choices: Value) -> Chunk {
        let first = self.first.as_deref().and_then(super::data).and_then(|data| serde_json::from_str(data).ok());
        let mut event_value: Map<String, Value> = first.unwrap_or_default();
        event_value
            .retain(|name, _| ["id", "object", "created", "model", "system_fingerprint"].contains(&name.as_str()));
        event_value.insert("choices".to_owned(), choices);
        written_chunk(event_value.into())
    }
}

fn written_chunk(value: Value) -> Chunk {
    Chunk::read(event(&value.to_string()).into())
}

/// Sets the text of a choice. The probabilities of its tokens belong to the text before.
fn set_text(choice: &mut Value, text: String) {
    if let Some(choice) = choice.as_object_mut() {
        choice.remove("logprobs");
    }
    let Some(delta) = choice.get_mut("delta").and_then(Value::as_object_mut) else { return };
    if text.is_empty() {
        delta.remove("content");
    } else {
        delta.insert("content".to_owned(), text.into());
    }
}

/// Whether an event says nothing: its choices have no text and no end, and there are no tokens.
fn is_empty(value: &Value) -> bool {
    let has_nothing =
        |choice: &Value| choice["finish_reason"].is_null() && choice["delta"].as_object().is_none_or(Map::is_empty);
    value["usage"].is_null()
        && value["error"].is_null()
        && value["choices"].as_array().is_some_and(|choices| choices.iter().all(has_nothing))
}

#[cfg(test)]
mod tests {
    use super::super::{AnswerTooLong, MAX_ANSWER_BYTES, MAX_CHOICES};
    use super::*;

    fn chunk(value: &Value) -> Chunk {
        Chunk::read(event(&value.to_string()).into())
    }

    fn part(content: &str) -> Value {
        json!({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {"content": content}, "finish_reason": null}]})
    }

    fn values(chunks: &[Chunk]) -> Vec<Value> {
        chunks.iter().map(|chunk| serde_json::from_str(chunk.data().unwrap()).unwrap()).collect()
    }

    fn to(text: &str) -> Change {
        Change { text: text.to_owned(), ..Change::default() }
    }

    #[test]
    fn an_unchanged_event_keeps_its_bytes() {
        let given = Chunk::read(Bytes::from_static(
            b"data: {\"x\":1.0, \"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n",
        ));
        let written = Rewriting::default().rewrite(given.clone(), |delta| to(&delta.text)).unwrap();
        assert_eq!(written, [given]);
    }

    #[test]
    fn a_text_is_held_back_and_changed() {
        let mut rewriting = Rewriting::default();
        assert_eq!(rewriting.rewrite(chunk(&part("a [")), |_| to("")).unwrap(), []);
        assert_eq!(values(&rewriting.rewrite(chunk(&part("2] b")), |_| to("a [1] b")).unwrap()), [part("a [1] b")]);
        let role = json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": "x"}, "logprobs": {}}]});
        let expected = json!({"choices": [{"index": 0, "delta": {"role": "assistant"}}]});
        assert_eq!(values(&rewriting.rewrite(chunk(&role), |_| to("")).unwrap()), [expected]);
    }

    #[test]
    fn the_rest_comes_before_the_end() {
        let mut rewriting = Rewriting::default();
        assert_eq!(rewriting.rewrite(chunk(&part("a")), |_| to("")), Ok(Vec::new()));
        let last = json!({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {"content": "b"},
            "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}});
        let blocked =
            |_: &Delta| Change { text: "ab".to_owned(), finish_reason: Some("content_filter"), ..Change::default() };
        let end = json!({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {},
            "finish_reason": "content_filter"}], "usage": {"prompt_tokens": 1}});
        assert_eq!(values(&rewriting.rewrite(chunk(&last), blocked).unwrap()), [part("ab"), end]);
    }

    #[test]
    fn several_choices_are_changed_by_their_numbers() {
        let both =
            json!({"choices": [{"index": 1, "delta": {"content": "x"}}, {"index": 0, "delta": {"content": "y"}}]});
        let written =
            Rewriting::default().rewrite(chunk(&both), |delta| to(&format!("{}{}", delta.text, delta.choice))).unwrap();
        let texts = |place: usize| values(&written)[0]["choices"][place]["delta"]["content"].clone();
        assert_eq!((texts(0), texts(1)), (json!("x1"), json!("y0")));
    }

    #[test]
    fn other_events_stay() {
        let usage = chunk(&json!({"choices": [], "usage": {"prompt_tokens": 3}}));
        let done = Chunk::read(Bytes::from_static(b"data: [DONE]\n\n"));
        for given in [usage, done] {
            assert_eq!(Rewriting::default().rewrite(given.clone(), |_| to("changed")).unwrap(), [given]);
        }
    }

    #[test]
    fn an_added_event_has_the_fields_of_the_first_one_with_choices() {
        let with_id = |id: &str, content: &str| {
            let mut value = part(content);
            value["id"] = id.into();
            value
        };
        for mut rewriting in [Rewriting::default(), Rewriting::strict()] {
            for given in [json!({"id": "c0", "choices": []}), with_id("c1", "a"), with_id("c2", "b")] {
                rewriting.rewrite(chunk(&given), |delta| to(&delta.text)).unwrap();
            }
            assert_eq!(values(&[rewriting.part(0, "c")]), [with_id("c1", "c")]);
        }
    }

    #[test]
    fn an_endless_answer_is_refused() {
        for mut rewriting in [Rewriting::default(), Rewriting::strict()] {
            let half = chunk(&part(&"a".repeat(MAX_ANSWER_BYTES / 2)));
            let mut add = |given: Chunk| rewriting.rewrite(given, |_| to("")).map(drop);
            assert_eq!([add(half.clone()), add(half)], [Ok(()), Ok(())]);
            assert_eq!(add(chunk(&part("a"))), Err(Unchecked::TooLong(AnswerTooLong)));
        }
    }

    #[test]
    fn too_many_choices_are_refused() {
        let choice = |index: usize| json!({"index": index, "delta": {"content": "a"}});
        let choices: Vec<Value> = (0..=MAX_CHOICES).map(choice).collect();
        for mut rewriting in [Rewriting::default(), Rewriting::strict()] {
            let written = rewriting.rewrite(chunk(&json!({"choices": choices})), |_| to(""));
            assert_eq!(written, Err(Unchecked::TooManyChoices));
        }
    }
}
