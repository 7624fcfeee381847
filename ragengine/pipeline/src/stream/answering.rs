//! Streams an answer from an index to the client. The answer is read as typed deltas and written as typed deltas, so a
//! step between the two can hold text back or change it. An unchanged event keeps its original bytes.

use bytes::Bytes;

use super::chunk::{Chunk, Said};
use super::closing::Head;
use super::marking::with_fields;
use super::{Broken, EventTooLong, Events, Ready, Usage, Verdict, event};

/// A piece of a stream and the events in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The original bytes of the piece.
    pub raw: Bytes,
    /// The events that end in it, in order. The first may have begun in an earlier piece.
    pub chunks: Vec<Chunk>,
}

/// Parses the pieces of a stream into events. It buffers at most one unfinished event.
#[derive(Debug, Default)]
pub struct Reader {
    events: Events,
    has_ended: bool,
}

impl Reader {
    /// Parses the next piece.
    ///
    /// # Errors
    ///
    /// [`EventTooLong`], see [`Events::push`].
    pub fn push(&mut self, raw: Bytes) -> Result<Piece, EventTooLong> {
        let (mut chunks, mut has_ended) = (Vec::new(), self.has_ended);
        let within = raw.as_ptr_range();
        self.events.push(&raw, |event| {
            // An event that began in an earlier piece is not part of this one, so it is copied.
            let is_inside = within.contains(&event.as_ptr());
            let event = if is_inside { raw.slice_ref(event) } else { Bytes::copy_from_slice(event) };
            let chunk = Chunk::read(event);
            has_ended = has_ended || chunk.ends_the_answer();
            chunks.push(chunk);
        })?;
        self.has_ended = has_ended;
        Ok(Piece { raw, chunks })
    }

    /// Parses what remains when the stream has ended: an event without an empty line after it. None if nothing remains.
    ///
    /// # Errors
    ///
    /// [`Broken::Early`] if the answer is incomplete and carries no error. The remaining bytes are then dropped,
    /// because the client could not parse an error after them.
    pub fn end(&mut self) -> Result<Option<Piece>, Broken> {
        let raw = Bytes::from(std::mem::take(&mut self.events).rest());
        let chunk = Chunk::read(raw.clone());
        self.has_ended = self.has_ended || chunk.ends_the_answer();
        match (self.has_ended, raw.is_empty()) {
            (false, _) => Err(Broken::Early),
            (true, true) => Ok(None),
            (true, false) => Ok(Some(Piece { raw, chunks: vec![chunk] })),
        }
    }
}

/// Writes the events of an answer and adds our fields to the event with the finish reason. If no event has one, the
/// fields get a separate event before `[DONE]`. It records what it has written.
#[derive(Debug, Default)]
pub struct Writer {
    /// Names and JSON values. Empty once they are written.
    fields: Vec<(&'static str, String)>,
    head: Head,
    usage: Option<Usage>,
    has_words: bool,
    has_error: bool,
    is_done: bool,
}

impl Writer {
    /// Adds these fields, given as names and JSON values.
    pub fn new(fields: Vec<(&'static str, String)>) -> Self {
        Self { fields, ..Self::default() }
    }

    /// Adds these fields, which were not known at the beginning. They must come before the event with the finish reason.
    pub fn add_fields(&mut self, fields: Vec<(&'static str, String)>) {
        self.fields.extend(fields);
    }

    /// The bytes of the events that end in a piece. This is the piece itself if nothing was changed.
    pub fn write(&mut self, piece: Piece) -> Bytes {
        let Piece { raw, chunks } = piece;
        let within = raw.as_ptr_range();
        let mut is_as_it_came = chunks.iter().map(|chunk| chunk.raw.len()).sum::<usize>() == raw.len();
        let mut written = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let came_at = chunk.raw.as_ptr();
            let bytes = self.write_event(chunk);
            is_as_it_came &= bytes.as_ptr() == came_at && within.contains(&came_at);
            written.push(bytes);
        }
        if is_as_it_came { raw } else { written.concat().into() }
    }

    /// Whether any content has been written: text, reasoning, a refusal or a tool call.
    pub fn has_words(&self) -> bool {
        self.has_words
    }

    /// Whether `[DONE]` has been written.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// The tokens and the error that have been seen so far.
    pub fn verdict(&self) -> Verdict {
        Verdict { usage: self.usage, has_error: self.has_error }
    }

    fn write_event(&mut self, chunk: Chunk) -> Bytes {
        match &chunk.said {
            Said::Answer { usage, has_words, has_error, .. } => {
                self.usage = usage.or(self.usage);
                self.has_words |= has_words;
                self.has_error |= has_error;
                self.with_our_fields(&chunk)
            }
            Said::Done => {
                self.is_done = true;
                self.before_the_end(&chunk)
            }
            Said::Nothing => None,
        }
        .unwrap_or(chunk.raw)
    }

    /// The event with our fields. None if they do not belong on this event.
    fn with_our_fields(&mut self, chunk: &Chunk) -> Option<Bytes> {
        if self.fields.is_empty() {
            return None;
        }
        let data = chunk.data()?;
        if !chunk.is_finish() {
            self.head.notice(data);
            return None;
        }
        let marked = with_fields(data, &std::mem::take(&mut self.fields))?;
        let (before, behind) = std::str::from_utf8(&chunk.raw).ok()?.split_once(data)?;
        Some(format!("{before}{marked}{behind}").into())
    }

    /// `[DONE]` after a separate event with our fields, or nothing if the answer failed: a client that stops at `[DONE]`
    /// would take it for whole. None if the fields are written already.
    fn before_the_end(&mut self, mark: &Chunk) -> Option<Bytes> {
        if self.fields.is_empty() {
            return None;
        }
        if self.has_error {
            return Some(Bytes::new());
        }
        let closing = with_fields(&self.head.closing_chunk(), &std::mem::take(&mut self.fields))?;
        Some((event(&closing) + std::str::from_utf8(&mark.raw).ok()?).into())
    }
}

/// A [`Reader`] and a [`Writer`] with no step between them. The fuzz target compares it with
/// [`Relaying`](super::Relaying).
#[derive(Debug, Default)]
pub struct Answering {
    reader: Reader,
    writer: Writer,
    has_ended: bool,
}

impl Answering {
    /// Adds these fields, given as names and JSON values, to an answer.
    pub fn new(fields: Vec<(&'static str, String)>) -> Self {
        Self { writer: Writer::new(fields), ..Self::default() }
    }

    /// The bytes to send for the next piece: the complete events that end in it.
    ///
    /// # Errors
    ///
    /// [`Broken::TooLong`]. Earlier pieces have been sent. Nothing of this piece is sent.
    pub fn push(&mut self, piece: &Bytes) -> Result<Ready, Broken> {
        let sent = self.writer.write(self.reader.push(piece.clone())?);
        let is_untouched = sent.as_ptr_range() == piece.as_ptr_range();
        Ok(if is_untouched { Ready::AsItCame } else { Ready::Bytes(sent.into()) })
    }

    /// The bytes to send last, when the stream has ended.
    ///
    /// # Errors
    ///
    /// See [`Reader::end`].
    pub fn end(&mut self) -> Result<Vec<u8>, Broken> {
        let rest = self.reader.end()?.map(|piece| self.writer.write(piece)).unwrap_or_default();
        self.has_ended = true;
        Ok(rest.into())
    }

    /// The tokens and the error of the answer. None until its end or `[DONE]` has been seen.
    pub fn verdict(&self) -> Option<Verdict> {
        (self.has_ended || self.writer.is_done()).then(|| self.writer.verdict())
    }
}
