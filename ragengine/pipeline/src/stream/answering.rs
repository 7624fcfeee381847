//! An answer from an index on its way to the client: what the language model says is read as deltas and written as deltas, so that something
//! between the two can hold text back or change it. An event that nothing has changed goes on as the bytes that it came as.

use bytes::Bytes;

use super::chunk::{Chunk, Said};
use super::closing::Head;
use super::marking::with_fields;
use super::{Broken, EventTooLong, Events, Ready, Usage, Verdict, event};

/// Reads the pieces of a stream as what they say.
#[derive(Debug, Default)]
pub struct Reader {
    events: Events,
}

impl Reader {
    /// Whatever whole events a piece ends.
    ///
    /// # Errors
    ///
    /// [`EventTooLong`], as [`Events::push`].
    pub fn push(&mut self, piece: &Bytes) -> Result<Vec<Chunk>, EventTooLong> {
        let mut chunks = Vec::new();
        let within = piece.as_ptr_range();
        self.events.push(piece, |event| {
            // One that began in an earlier piece is a copy.
            let raw = match within.contains(&event.as_ptr()) {
                true => piece.slice_ref(event),
                false => Bytes::copy_from_slice(event),
            };
            chunks.push(Chunk::read(raw));
        })?;
        Ok(chunks)
    }

    /// What is left when the stream has ended: an event without an empty line behind it.
    pub fn rest(&mut self) -> Option<Chunk> {
        let rest = std::mem::take(&mut self.events).rest();
        (!rest.is_empty()).then(|| Chunk::read(rest.into()))
    }
}

/// Writes what is said, with fields of ours on the event that says why the answer ended. Where none does, they get an event of their own
/// before the mark of the end. It takes note of what goes by.
#[derive(Debug, Default)]
pub struct Writer {
    /// Names and JSON values, until they have been written.
    fields: Vec<(&'static str, String)>,
    head: Head,
    usage: Option<Usage>,
    has_words: bool,
    has_finished: bool,
    has_error: bool,
    is_done: bool,
}

impl Writer {
    /// One that writes these fields: names and JSON values.
    pub fn new(fields: Vec<(&'static str, String)>) -> Self {
        Self { fields, ..Self::default() }
    }

    /// The bytes of an event.
    pub fn write(&mut self, chunk: Chunk) -> Bytes {
        match &chunk.said {
            Said::Answer { usage, has_words, .. } => {
                self.usage = usage.or(self.usage);
                self.has_words |= has_words;
                self.has_finished |= chunk.is_finish();
                self.with_our_fields(&chunk)
            }
            Said::Error => {
                self.has_error = true;
                None
            }
            Said::Done => {
                self.is_done = true;
                self.before_the_end(&chunk)
            }
            Said::Nothing => None,
        }
        .unwrap_or(chunk.raw)
    }

    /// The event with our fields, when it is the one for them.
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

    /// The mark of the end with an event of ours before it, when nothing has carried our fields. An answer that failed has none.
    fn before_the_end(&mut self, mark: &Chunk) -> Option<Bytes> {
        if self.fields.is_empty() || self.has_error {
            return None;
        }
        let closing = with_fields(&self.head.closing_chunk(), &std::mem::take(&mut self.fields))?;
        Some((event(&closing) + std::str::from_utf8(&mark.raw).ok()?).into())
    }
}

/// Reads an answer and writes it. It holds at most one event that has not ended; when the stream breaks, that event is left out, because an
/// error behind it could not be read.
#[derive(Debug, Default)]
pub struct Answering {
    reader: Reader,
    writer: Writer,
    has_ended: bool,
}

impl Answering {
    /// An answer that gets these fields: names and JSON values.
    pub fn new(fields: Vec<(&'static str, String)>) -> Self {
        Self { reader: Reader::default(), writer: Writer::new(fields), has_ended: false }
    }

    /// What to send for the next piece: whatever whole events it ends.
    ///
    /// # Errors
    ///
    /// [`Broken::TooLong`]. What was pushed before has been sent; of this piece nothing is.
    pub fn push(&mut self, piece: &Bytes) -> Result<Ready, Broken> {
        let chunks = self.reader.push(piece)?;
        let mut is_as_it_came = chunks.iter().map(|chunk| chunk.raw.len()).sum::<usize>() == piece.len();
        let mut written = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let raw = chunk.raw.clone();
            let bytes = self.writer.write(chunk);
            is_as_it_came &= bytes.as_ptr() == raw.as_ptr() && piece.as_ptr_range().contains(&raw.as_ptr());
            written.push(bytes);
        }
        Ok(match is_as_it_came {
            true => Ready::AsItCame,
            false => Ready::Bytes(written.concat()),
        })
    }

    /// What to send last, when the stream has ended.
    ///
    /// # Errors
    ///
    /// [`Broken::Early`] when the answer had not come to its end, and carries no error either.
    pub fn end(&mut self) -> Result<Vec<u8>, Broken> {
        let rest = self.reader.rest().map(|chunk| self.writer.write(chunk)).unwrap_or_default();
        self.has_ended = self.writer.is_done || self.writer.has_finished || self.writer.has_error;
        if self.has_ended { Ok(rest.to_vec()) } else { Err(Broken::Early) }
    }

    /// Whether a word of the answer has gone by.
    pub fn has_words(&self) -> bool {
        self.writer.has_words
    }

    /// What became of the answer, once its end or the mark of it has gone by: a client that leaves at the mark has not left early.
    pub fn verdict(&self) -> Option<Verdict> {
        let has_come = self.has_ended || self.writer.is_done;
        has_come.then_some(Verdict { usage: self.writer.usage, has_error: self.writer.has_error })
    }
}
