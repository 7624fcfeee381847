//! An answer from an index on its way to the client: what the language model says is read as deltas and written as
//! deltas, so that something between the two can hold text back or change it. An event that nothing has changed goes on
//! as the bytes that it came as.

use bytes::Bytes;

use super::chunk::{Chunk, Said};
use super::closing::Head;
use super::marking::with_fields;
use super::{Broken, EventTooLong, Events, Ready, Usage, Verdict, event};

/// A piece of a stream, and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The piece as it came.
    pub raw: Bytes,
    /// The events that end in it, in their order. The first may have begun in an earlier piece.
    pub chunks: Vec<Chunk>,
}

/// Reads the pieces of a stream as what they say. It holds at most one event that has not ended.
#[derive(Debug, Default)]
pub struct Reader {
    events: Events,
    has_ended: bool,
}

impl Reader {
    /// Reads the next piece.
    ///
    /// # Errors
    ///
    /// [`EventTooLong`], as [`Events::push`].
    pub fn push(&mut self, raw: Bytes) -> Result<Piece, EventTooLong> {
        let (mut chunks, mut has_ended) = (Vec::new(), self.has_ended);
        let within = raw.as_ptr_range();
        self.events.push(&raw, |event| {
            // An event that began in an earlier piece is a copy.
            let event = match within.contains(&event.as_ptr()) {
                true => raw.slice_ref(event),
                false => Bytes::copy_from_slice(event),
            };
            let chunk = Chunk::read(event);
            has_ended = has_ended || chunk.ends_the_answer();
            chunks.push(chunk);
        })?;
        self.has_ended = has_ended;
        Ok(Piece { raw, chunks })
    }

    /// Reads what is left when the stream has ended: an event without an empty line behind it. None if nothing is left.
    ///
    /// # Errors
    ///
    /// [`Broken::Early`] if the answer did not come to its end and carries no error. What is left is dropped, because
    /// an error behind it could not be read.
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

/// Writes what is said, with fields of ours on the event that says why the answer ended. Where none does, they get an
/// event of their own before the mark of the end. It takes note of what goes by.
#[derive(Debug, Default)]
pub struct Writer {
    /// Names and JSON values, until they have been written.
    fields: Vec<(&'static str, String)>,
    head: Head,
    usage: Option<Usage>,
    has_words: bool,
    has_error: bool,
    is_done: bool,
}

impl Writer {
    /// One that writes these fields: names and JSON values.
    pub fn new(fields: Vec<(&'static str, String)>) -> Self {
        Self { fields, ..Self::default() }
    }

    /// The bytes of the events that end in a piece. They are the piece itself if nothing was changed.
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

    /// Whether a word of the answer has gone by.
    pub fn has_words(&self) -> bool {
        self.has_words
    }

    /// Whether the mark of the end has gone by.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// What became of the answer, as far as it has gone by.
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

    /// The mark of the end with an event of ours before it, when nothing has carried our fields. An answer that failed
    /// has none.
    fn before_the_end(&mut self, mark: &Chunk) -> Option<Bytes> {
        if self.fields.is_empty() || self.has_error {
            return None;
        }
        let closing = with_fields(&self.head.closing_chunk(), &std::mem::take(&mut self.fields))?;
        Some((event(&closing) + std::str::from_utf8(&mark.raw).ok()?).into())
    }
}

/// Reads an answer and writes it, with nothing between the two. The fuzz target compares it with
/// [`Relaying`](super::Relaying).
#[derive(Debug, Default)]
pub struct Answering {
    reader: Reader,
    writer: Writer,
    has_ended: bool,
}

impl Answering {
    /// An answer that gets these fields: names and JSON values.
    pub fn new(fields: Vec<(&'static str, String)>) -> Self {
        Self { writer: Writer::new(fields), ..Self::default() }
    }

    /// What to send for the next piece: the whole events that end in it.
    ///
    /// # Errors
    ///
    /// [`Broken::TooLong`]. What was pushed before has been sent; of this piece nothing is.
    pub fn push(&mut self, piece: &Bytes) -> Result<Ready, Broken> {
        let sent = self.writer.write(self.reader.push(piece.clone())?);
        Ok(match sent.as_ptr_range() == piece.as_ptr_range() {
            true => Ready::AsItCame,
            false => Ready::Bytes(sent.into()),
        })
    }

    /// What to send last, when the stream has ended.
    ///
    /// # Errors
    ///
    /// As [`Reader::end`].
    pub fn end(&mut self) -> Result<Vec<u8>, Broken> {
        let rest = self.reader.end()?.map(|piece| self.writer.write(piece)).unwrap_or_default();
        self.has_ended = true;
        Ok(rest.into())
    }

    /// What became of the answer, once its end or the mark of it has gone by.
    pub fn verdict(&self) -> Option<Verdict> {
        (self.has_ended || self.writer.is_done()).then(|| self.writer.verdict())
    }
}
