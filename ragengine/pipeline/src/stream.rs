//! Streams of server-sent events: cutting the bytes into events, and putting the sources onto the right one.

mod marking;

pub use marking::{Marking, Ready, Usage, usage, with_fields};

/// The largest event that is held. A chunk of an answer has a few hundred bytes.
pub const MAX_EVENT_BYTES: usize = 4 << 20;

/// An event longer than [`MAX_EVENT_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {MAX_EVENT_BYTES} bytes")]
pub struct EventTooLong;

/// Cuts a stream of bytes into events, wherever the pieces end.
#[derive(Debug, Default)]
pub struct Events {
    buffer: Vec<u8>,
    searched: usize,
}

impl Events {
    /// Takes the next piece of the stream.
    ///
    /// # Errors
    ///
    /// [`EventTooLong`] when the event that has not ended yet is too long.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), EventTooLong> {
        if self.buffer.len() + piece.len() > MAX_EVENT_BYTES {
            return Err(EventTooLong);
        }
        self.buffer.extend_from_slice(piece);
        Ok(())
    }

    /// Whether no event has begun.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The next whole event with the empty line that ends it, as it came.
    pub fn next_event(&mut self) -> Option<Vec<u8>> {
        let Some(end) = event_end(&self.buffer, self.searched) else {
            // An end may straddle two pieces: its longest form has four bytes.
            self.searched = self.buffer.len().saturating_sub(3);
            return None;
        };
        self.searched = 0;
        let rest = self.buffer.split_off(end);
        Some(std::mem::replace(&mut self.buffer, rest))
    }

    /// What is left when the stream has ended: the beginning of an event without its end.
    pub fn rest(self) -> Vec<u8> {
        self.buffer
    }
}

/// Where the first event at or after `from` ends, behind its empty line.
fn event_end(bytes: &[u8], from: usize) -> Option<usize> {
    (from..bytes.len()).filter(|&at| bytes[at] == b'\n').find_map(|at| match bytes.get(at + 1..)? {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
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
    // Most chunks are ruled out without being parsed.
    if !data.contains("\"finish_reason\"") {
        return false;
    }
    let chunk: serde_json::Value = serde_json::from_str(data).unwrap_or_default();
    chunk["choices"].as_array().is_some_and(|choices| choices.iter().any(|choice| choice["finish_reason"].is_string()))
}

/// A JSON object with one more field at its end, every other byte as it was. Nothing when the text is not an object.
pub fn with_field(object: &str, name: &str, value: &str) -> Option<String> {
    let body = object.trim_end().strip_suffix('}')?;
    let separator = match body.trim_start().strip_prefix('{')?.trim().is_empty() {
        true => "",
        false => ",",
    };
    Some(format!("{body}{separator}\"{name}\":{value}}}"))
}

/// An event with this data.
pub fn event(data: &str) -> String {
    format!("data: {data}\n\n")
}

#[cfg(test)]
mod tests;
