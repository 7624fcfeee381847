//! Streams of server-sent events: splits the bytes into events and adds the sources to the event that ends the answer.

mod answering;
mod chunk;
mod closing;
mod marking;
mod relaying;
mod rewriting;
mod strict;
mod tokens;
mod whole;

pub use answering::{Answering, Piece, Reader, Writer};
pub use chunk::{Chunk, Delta, Said};
pub use marking::{Marking, Ready, Usage, with_fields};
pub use relaying::{Broken, Relaying, Verdict};
pub use rewriting::{Change, Rewriting};
pub use strict::{MAX_CHOICES, MAX_HELD_CALL_BYTES, ToolCall, UNCHECKED, Unchecked};
pub use tokens::{AnswerTooLong, MAX_ANSWER_BYTES, TokenReader, token_event};
pub use whole::{Choice, Whole, as_events, with_changes};

/// The largest event that is buffered, in bytes. A chunk of an answer has a few hundred bytes.
pub const MAX_EVENT_BYTES: usize = 4 << 20;

/// The error for an event longer than [`MAX_EVENT_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {MAX_EVENT_BYTES} bytes")]
pub struct EventTooLong;

/// Splits a stream of bytes into events, regardless of how the bytes are cut into pieces.
#[derive(Debug, Default)]
pub struct Events {
    pending: Vec<u8>,
    searched: usize,
}

impl Events {
    /// Adds the next piece of the stream. Calls `whole` with each event that is complete now, including its empty line.
    ///
    /// # Errors
    ///
    /// [`EventTooLong`] if the unfinished event exceeds [`MAX_EVENT_BYTES`].
    pub fn push(&mut self, piece: &[u8], whole: impl FnMut(&[u8])) -> Result<(), EventTooLong> {
        if self.pending.len() + piece.len() > MAX_EVENT_BYTES {
            return Err(EventTooLong);
        }
        if self.pending.is_empty() {
            let taken = each_event(piece, 0, whole);
            self.pending.extend_from_slice(&piece[taken..]);
        } else {
            self.pending.extend_from_slice(piece);
            let taken = each_event(&self.pending, self.searched, whole);
            self.pending.drain(..taken);
        }
        // The end of an event may span two pieces. Its longest form has four bytes.
        self.searched = self.pending.len().saturating_sub(3);
        Ok(())
    }

    /// Whether no unfinished event is buffered.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// The bytes that remain when the stream has ended: an event without its empty line.
    pub fn rest(self) -> Vec<u8> {
        self.pending
    }
}

/// Calls `whole` with every complete event. The first event does not end before `searched`. Returns where the last one
/// ends.
fn each_event(bytes: &[u8], searched: usize, mut whole: impl FnMut(&[u8])) -> usize {
    let (mut start, mut from) = (0, searched);
    while let Some(end) = event_end(bytes, from) {
        whole(&bytes[start..end]);
        (start, from) = (end, end);
    }
    start
}

/// Returns the position after the first event that ends at or after `from`, including its empty line.
fn event_end(bytes: &[u8], from: usize) -> Option<usize> {
    memchr::memchr_iter(b'\n', &bytes[from..]).find_map(|at| match bytes.get(from + at + 1..)? {
        [b'\n', ..] => Some(from + at + 2),
        [b'\r', b'\n', ..] => Some(from + at + 3),
        _ => None,
    })
}

/// The data of an event. None if it has more than one `data:` line, which no OpenAI-compatible server sends.
pub fn data(event: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(event).ok()?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
    match (lines.next(), lines.next()) {
        (Some(data), None) => Some(data.trim()),
        _ => None,
    }
}

/// Whether this chunk of an answer has a finish reason.
pub fn is_finish(data: &str) -> bool {
    // Nearly all chunks have a null here, so they are not parsed.
    if values_of(data, "\"finish_reason\"").all(|value| value.starts_with("null")) {
        return false;
    }
    let chunk: serde_json::Value = serde_json::from_str(data).unwrap_or_default();
    chunk["choices"].as_array().is_some_and(|choices| choices.iter().any(|choice| choice["finish_reason"].is_string()))
}

/// The text after each place where this name looks like a field. It may also be part of a string. `quoted` is the name
/// in quotes.
fn values_of<'a>(data: &'a str, quoted: &'a str) -> impl Iterator<Item = &'a str> {
    let behind = memchr::memmem::find_iter(data.as_bytes(), quoted).map(|at| data[at + quoted.len()..].trim_start());
    behind.filter_map(|rest| rest.strip_prefix(':').map(str::trim_start))
}

/// Formats an event with this data.
pub fn event(data: &str) -> String {
    format!("data: {data}\n\n")
}

/// Formats an event of this type with this data, which must be one line.
pub fn typed_event(kind: &str, data: &str) -> String {
    format!("event: {kind}\ndata: {data}\n\n")
}

#[cfg(test)]
mod tests;
