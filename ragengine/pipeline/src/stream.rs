//! Streams of server-sent events: cutting the bytes into events, and putting the sources onto the right one.

mod answering;
mod chunk;
mod closing;
mod marking;
mod relaying;
mod whole;

pub use answering::{Answering, Piece, Reader, Writer};
pub use chunk::{Chunk, Delta, Said};
pub use marking::{Marking, Ready, Usage, with_fields};
pub use relaying::{Broken, Relaying, Verdict};
pub use whole::{Choice, Whole};

/// The largest event that is held. A chunk of an answer has a few hundred bytes.
pub const MAX_EVENT_BYTES: usize = 4 << 20;

/// An event longer than [`MAX_EVENT_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {MAX_EVENT_BYTES} bytes")]
pub struct EventTooLong;

/// Cuts a stream of bytes into events, wherever the pieces end.
#[derive(Debug, Default)]
pub struct Events {
    pending: Vec<u8>,
    searched: usize,
}

impl Events {
    /// Takes the next piece of the stream. `whole` sees each event that it ends, with the empty line behind it, as it came.
    ///
    /// # Errors
    ///
    /// [`EventTooLong`] when the event that has not ended yet is too long.
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
        // An end may straddle two pieces: its longest form has four bytes.
        self.searched = self.pending.len().saturating_sub(3);
        Ok(())
    }

    /// Whether no event has begun.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// What is left when the stream has ended: the beginning of an event without its end.
    pub fn rest(self) -> Vec<u8> {
        self.pending
    }
}

/// Shows every whole event; the first one does not end before `searched`. Returns where the last one ends.
fn each_event(bytes: &[u8], searched: usize, mut whole: impl FnMut(&[u8])) -> usize {
    let (mut start, mut from) = (0, searched);
    while let Some(end) = event_end(bytes, from) {
        whole(&bytes[start..end]);
        (start, from) = (end, end);
    }
    start
}

/// Where the first event at or after `from` ends, behind its empty line.
fn event_end(bytes: &[u8], from: usize) -> Option<usize> {
    memchr::memchr_iter(b'\n', &bytes[from..]).find_map(|at| match bytes.get(from + at + 1..)? {
        [b'\n', ..] => Some(from + at + 2),
        [b'\r', b'\n', ..] => Some(from + at + 3),
        _ => None,
    })
}

/// The data of an event, where it is one line as every OpenAI-compatible server writes it.
pub fn data(event: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(event).ok()?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
    match (lines.next(), lines.next()) {
        (Some(data), None) => Some(data.trim()),
        _ => None,
    }
}

/// Whether this chunk of an answer says why the answer ended.
pub fn is_finish(data: &str) -> bool {
    // Nearly all chunks have the field with null in it: they are not parsed.
    if values_of(data, "\"finish_reason\"").all(|value| value.starts_with("null")) {
        return false;
    }
    let chunk: serde_json::Value = serde_json::from_str(data).unwrap_or_default();
    chunk["choices"].as_array().is_some_and(|choices| choices.iter().any(|choice| choice["finish_reason"].is_string()))
}

/// What stands behind each place where this name is a field, maybe: a text may hold it, too. `quoted` is the name in quotes.
fn values_of<'a>(data: &'a str, quoted: &'a str) -> impl Iterator<Item = &'a str> {
    let behind = memchr::memmem::find_iter(data.as_bytes(), quoted).map(|at| data[at + quoted.len()..].trim_start());
    behind.filter_map(|rest| rest.strip_prefix(':').map(str::trim_start))
}

/// An event with this data.
pub fn event(data: &str) -> String {
    format!("data: {data}\n\n")
}

#[cfg(test)]
mod tests;
