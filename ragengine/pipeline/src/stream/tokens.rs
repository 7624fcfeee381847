//! Streams an answer as events of type `token`, which have only its text (`POST /query`).

use serde_json::{Value, json};

use super::chunk::{Chunk, Said};
use super::strict::bounded_error;
use super::{Piece, Usage, Verdict, typed_event};

/// The longest answer, in bytes. It is held in memory until its end.
pub const MAX_ANSWER_BYTES: usize = 4 << 20;

/// The error for an answer longer than [`MAX_ANSWER_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the answer is longer than {MAX_ANSWER_BYTES} bytes")]
pub struct AnswerTooLong;

/// The event with a part of an answer. Empty if the part is.
pub fn token_event(text: &str) -> String {
    if text.is_empty() { String::new() } else { typed_event("token", &json!({"text": text}).to_string()) }
}

/// Reads the text of an answer, without reasoning and tool calls.
#[derive(Debug, Default)]
pub struct TokenReader {
    bytes: usize,
    usage: Option<Usage>,
    error: Option<String>,
    finish_reason: Option<String>,
    is_done: bool,
}

impl TokenReader {
    /// The text of a piece.
    ///
    /// # Errors
    ///
    /// [`AnswerTooLong`] if the answer is.
    pub fn read(&mut self, piece: &Piece) -> Result<String, AnswerTooLong> {
        let mut text = String::new();
        for chunk in &piece.chunks {
            match &chunk.said {
                Said::Answer { deltas, usage, has_error, .. } => {
                    self.usage = usage.or(self.usage);
                    if *has_error {
                        self.error.get_or_insert_with(|| message(chunk));
                    }
                    for delta in deltas.iter().filter(|delta| delta.choice == 0) {
                        text.push_str(&delta.text);
                        self.finish_reason = delta.finish_reason.clone().or(self.finish_reason.take());
                    }
                }
                Said::Done => self.is_done = true,
                Said::Nothing => {}
            }
        }
        self.bytes += text.len();
        if self.bytes > MAX_ANSWER_BYTES { Err(AnswerTooLong) } else { Ok(text) }
    }

    /// Whether any text has been read.
    pub fn has_text(&self) -> bool {
        self.bytes > 0
    }

    /// Whether `[DONE]` has been read.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Why the answer ended.
    pub fn finish_reason(&self) -> Option<&str> {
        self.finish_reason.as_deref()
    }

    /// The error that the stream carries, as its message.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// The tokens and whether an error has been seen so far.
    pub fn verdict(&self) -> Verdict {
        Verdict { usage: self.usage, has_error: self.error.is_some() }
    }
}

/// The message of an error that a language model sent instead of a part of the answer.
fn message(chunk: &Chunk) -> String {
    let error: Value = chunk.data().and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
    let message = [&error["error"]["message"], &error["error"], &error["message"]].into_iter().find_map(Value::as_str);
    bounded_error(message.unwrap_or("no message").to_owned())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::{Reader, event};
    use super::*;

    fn delta(text: &str) -> String {
        event(&json!({"choices": [{"index": 0, "delta": {"content": text}}]}).to_string())
    }

    /// Reads a stream in pieces of this size. Returns its text, and the reader.
    fn read(stream: &str, piece_bytes: usize) -> (String, TokenReader) {
        let (mut events, mut reader, mut text) = (Reader::default(), TokenReader::default(), String::new());
        for piece in stream.as_bytes().chunks(piece_bytes) {
            let piece = events.push(Bytes::copy_from_slice(piece)).unwrap();
            text.push_str(&reader.read(&piece).unwrap());
        }
        (text, reader)
    }

    #[test]
    fn a_part_is_an_event() {
        assert_eq!(token_event("Tell\n\"ü\""), "event: token\ndata: {\"text\":\"Tell\\n\\\"ü\\\"\"}\n\n");
        assert_eq!(token_event(""), "");
    }

    #[test]
    fn the_text_of_an_answer_is_read() {
        let role = event(r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#);
        let thought = event(r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}"#);
        let other = event(r#"{"choices":[{"index":1,"delta":{"content":"no"}}]}"#);
        let last = event(
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
        );
        assert!(!read(&(role.clone() + &thought), 1_000).1.has_text());
        let stream =
            [role, thought, delta("Tell them"), ": ping\n\n".to_owned(), delta("\nnow \"ü\""), other, last].concat();
        for piece_bytes in [1, 7, 10_000] {
            let (text, mut reader) = read(&stream, piece_bytes);
            assert_eq!((text.as_str(), reader.has_text(), reader.is_done()), ("Tell them\nnow \"ü\"", true, false));
            assert_eq!(reader.finish_reason(), Some("stop"));
            let usage = Some(Usage { prompt_tokens: 3, completion_tokens: 2 });
            assert_eq!(reader.verdict(), Verdict { usage, has_error: false });
            let done = Reader::default().push(Bytes::from_static(b"data: [DONE]\n\n")).unwrap();
            assert_eq!((reader.read(&done), reader.is_done()), (Ok(String::new()), true));
        }
    }

    #[test]
    fn an_error_has_its_message() {
        for (error, message) in [
            (r#"{"error":{"message":"out of memory"}}"#, "out of memory"),
            (r#"{"error":"out of memory"}"#, "out of memory"),
            (r#"{"error":{"code":500}}"#, "no message"),
        ] {
            let (text, reader) = read(&(delta("Tell") + &event(error)), 1);
            assert_eq!((text, reader.error()), ("Tell".to_owned(), Some(message)));
            assert!(reader.verdict().has_error);
        }
    }

    #[test]
    fn the_message_of_an_error_is_bounded() {
        let (_, reader) = read(&event(&json!({"error": {"message": "x".repeat(10_000)}}).to_string()), 1_000);
        assert_eq!(reader.error().map(str::len), Some(1_000));
    }

    #[test]
    fn a_long_answer_is_refused() {
        let mut reader = TokenReader::default();
        let piece = |bytes: usize| Reader::default().push(delta(&"a".repeat(bytes)).into()).unwrap();
        assert!(reader.read(&piece(MAX_ANSWER_BYTES - 100)).is_ok());
        assert!(reader.read(&piece(100)).is_ok());
        assert_eq!(reader.read(&piece(1)), Err(AnswerTooLong));
    }
}
