use serde::Deserialize;
use serde_json::{Map, Value};

use super::closing::Head;
use super::{EventTooLong, Events, data, event, is_finish, values_of};

/// The bytes to forward for one piece of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Ready {
    /// The piece is forwarded unchanged.
    AsItCame,
    /// These bytes: complete events. Empty if no event is complete yet.
    Bytes(Vec<u8>),
}

/// The token counts of an answer, as the language model reported them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub struct Usage {
    /// Tokens in the prompt.
    #[serde(default)]
    pub prompt_tokens: u64,
    /// Tokens in the answer.
    #[serde(default)]
    pub completion_tokens: u64,
}

/// Forwards the events of an answer, adds fields to the event with the finish reason, and records what it has seen. If
/// no event has a finish reason, the fields get a separate event before `[DONE]`. Every other byte is unchanged.
#[derive(Debug, Default)]
pub struct Marking {
    events: Events,
    notes: Notes,
}

/// The fields to add, and what has been seen so far.
#[derive(Debug, Default)]
struct Notes {
    /// Names and JSON values. Empty once they are added.
    fields: Vec<(&'static str, String)>,
    head: Head,
    usage: Option<Usage>,
    has_words: bool,
    has_finished: bool,
    has_error: bool,
    is_done: bool,
}

impl Marking {
    /// Adds these fields, given as names and JSON values, to a stream.
    pub fn new(fields: Vec<(&'static str, String)>) -> Self {
        Self { events: Events::default(), notes: Notes { fields, ..Notes::default() } }
    }

    /// Adds the next piece of the stream.
    ///
    /// # Errors
    ///
    /// [`EventTooLong`], see [`Events::push`].
    pub fn push(&mut self, piece: &[u8]) -> Result<Ready, EventTooLong> {
        let begins_an_event = self.events.is_empty();
        let notes = &mut self.notes;
        // Unchanged events at the start of a piece are only counted, because most pieces then need no copy.
        let (mut unchanged, mut copied) = (0, (!begins_an_event).then(Vec::new));
        self.events.push(piece, |event| match (notes.look_at(event), &mut copied) {
            (None, None) => unchanged += event.len(),
            (None, Some(copied)) => copied.extend_from_slice(event),
            (Some(changed), Some(copied)) => copied.extend_from_slice(changed.as_bytes()),
            (Some(changed), none) => *none = Some([&piece[..unchanged], changed.as_bytes()].concat()),
        })?;
        Ok(match copied {
            Some(bytes) => Ready::Bytes(bytes),
            None if unchanged == piece.len() => Ready::AsItCame,
            None => Ready::Bytes(piece[..unchanged].to_vec()),
        })
    }

    /// The bytes that remain when the stream has ended: an event without an empty line after it.
    pub fn rest(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.events).rest();
        self.notes.look_at(&rest).map_or(rest, String::into_bytes)
    }

    /// The tokens that the language model has reported so far.
    pub fn usage(&self) -> Option<Usage> {
        self.notes.usage
    }

    /// Whether any content has been seen: text, reasoning, a refusal or a tool call.
    pub fn has_words(&self) -> bool {
        self.notes.has_words
    }

    /// Whether `[DONE]` has been seen.
    pub fn is_done(&self) -> bool {
        self.notes.is_done
    }

    /// Whether the answer is complete: a finish reason or `[DONE]` has been seen.
    pub fn is_whole(&self) -> bool {
        self.notes.is_done || self.notes.has_finished
    }

    /// Whether the language model has sent an error instead of a chunk.
    pub fn has_error(&self) -> bool {
        self.notes.has_error
    }
}

impl Notes {
    /// The event with our fields. None if they do not belong on this event.
    fn look_at(&mut self, bytes: &[u8]) -> Option<String> {
        let chunk = data(bytes)?;
        if chunk == "[DONE]" {
            self.is_done = true;
            return self.put_before(bytes);
        }
        self.has_words = self.has_words || holds_words(chunk);
        self.has_error = self.has_error || is_error(chunk);
        self.usage = usage(chunk).or(self.usage);
        let finishes = is_finish(chunk);
        self.has_finished = self.has_finished || finishes;
        if self.fields.is_empty() {
            return None;
        }
        if !finishes {
            self.head.notice(chunk);
            return None;
        }
        let marked = with_fields(chunk, &std::mem::take(&mut self.fields))?;
        let (before, behind) = std::str::from_utf8(bytes).ok()?.split_once(chunk)?;
        Some(format!("{before}{marked}{behind}"))
    }

    /// `[DONE]` after a separate event with our fields, or nothing if the answer failed: a client that stops at `[DONE]`
    /// would take it for whole. None if the fields are added already.
    fn put_before(&mut self, mark: &[u8]) -> Option<String> {
        if self.fields.is_empty() {
            return None;
        }
        if self.has_error {
            return Some(String::new());
        }
        let closing = with_fields(&self.head.closing_chunk(), &std::mem::take(&mut self.fields))?;
        Some(event(&closing) + std::str::from_utf8(mark).ok()?)
    }
}

/// Adds fields at the end of a JSON object and keeps every other byte. None if the text is not an object.
pub fn with_fields(object: &str, fields: &[(&'static str, String)]) -> Option<String> {
    let body = object.trim_end().strip_suffix('}')?;
    let is_empty = body.trim_start().strip_prefix('{')?.trim().is_empty();
    let mut marked = body.to_owned();
    for (position, (name, value)) in fields.iter().enumerate() {
        let separator = if is_empty && position == 0 { "" } else { "," };
        marked.extend([separator, "\"", name, "\":", value]);
    }
    marked.push('}');
    Some(marked)
}

/// The usage in a chunk of an answer. Most chunks are ruled out without parsing.
pub(super) fn usage(object: &str) -> Option<Usage> {
    #[derive(Deserialize)]
    struct Reported {
        usage: Option<Usage>,
    }
    if values_of(object, "\"usage\"").all(|value| value.starts_with("null")) {
        return None;
    }
    serde_json::from_str::<Reported>(object).ok()?.usage
}

/// Whether an event is an error in the form that OpenAI and vLLM send.
pub(super) fn is_error(event: &str) -> bool {
    #[derive(Deserialize)]
    struct Failed {
        #[serde(default)]
        error: Value,
    }
    let may_be = values_of(event, "\"error\"").any(|value| !value.starts_with("null"));
    may_be && serde_json::from_str::<Failed>(event).is_ok_and(|event| !event.error.is_null())
}

pub(super) fn holds_words(chunk: &str) -> bool {
    #[derive(Deserialize)]
    struct Chunk {
        #[serde(default)]
        choices: Vec<Choice>,
    }
    #[derive(Deserialize)]
    struct Choice {
        #[serde(default)]
        delta: Map<String, Value>,
    }
    let says_something = |(name, value): (&String, &Value)| {
        name != "role"
            && !value.is_null()
            && value.as_str() != Some("")
            && value.as_array().is_none_or(|all| !all.is_empty())
    };
    let chunk: Option<Chunk> = serde_json::from_str(chunk).ok();
    chunk.is_some_and(|chunk| chunk.choices.iter().any(|choice| choice.delta.iter().any(says_something)))
}
