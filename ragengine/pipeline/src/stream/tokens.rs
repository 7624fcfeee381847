//! Streams an answer as events of type `token`, which have only its text (`POST /query`).

use serde_json::{Value, json};

use super::chunk::{Chunk, Said};
use super::{Piece, Usage, Verdict, typed_event};

/// The longest answer, in bytes. It is held in memory until its end.
pub const MAX_ANSWER_BYTES: usize = 4 << 20;

/// The error for an answer longer than [`MAX_ANSWER_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the answer is longer than {MAX_ANSWER_BYTES} bytes")]
pub struct AnswerTooLong;

/// Writes the text of an answer as `token` events, and collects it. Reasoning and tool calls are left out.
#[derive(Debug, Default)]
pub struct TokenWriter {
    text: String,
    usage: Option<Usage>,
    error: Option<String>,
    is_done: bool,
}

impl TokenWriter {
    /// The event with the text of a piece. Empty if it has none.
    ///
    /// # Errors
    ///
    /// [`AnswerTooLong`]. Nothing of this piece is collected.
    pub fn write(&mut self, piece: &Piece) -> Result<String, AnswerTooLong> {
        let mut text = String::new();
        for chunk in &piece.chunks {
            match &chunk.said {
                Said::Answer { deltas, usage, has_error, .. } => {
                    self.usage = usage.or(self.usage);
                    if *has_error {
                        self.error.get_or_insert_with(|| message(chunk));
                    }
                    deltas.iter().filter(|delta| delta.choice == 0).for_each(|delta| text.push_str(&delta.text));
                }
                Said::Done => self.is_done = true,
                Said::Nothing => {}
            }
        }
        if self.text.len() + text.len() > MAX_ANSWER_BYTES {
            return Err(AnswerTooLong);
        }
        self.text.push_str(&text);
        Ok(if text.is_empty() { text } else { typed_event("token", &json!({"text": text}).to_string()) })
    }

    /// The text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether `[DONE]` has been read.
    pub fn is_done(&self) -> bool {
        self.is_done
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
    message.unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::{Reader, event};
    use super::*;

    fn delta(text: &str) -> String {
        event(&json!({"choices": [{"index": 0, "delta": {"content": text}}]}).to_string())
    }

    /// Reads a stream in pieces of this size and writes it. Returns the texts of the events, and the writer.
    fn written(stream: &str, piece_bytes: usize) -> (Vec<String>, TokenWriter) {
        let (mut reader, mut writer, mut texts) = (Reader::default(), TokenWriter::default(), Vec::new());
        for piece in stream.as_bytes().chunks(piece_bytes) {
            let piece = reader.push(Bytes::copy_from_slice(piece)).unwrap();
            let event = writer.write(&piece).unwrap();
            if !event.is_empty() {
                let data = event.strip_prefix("event: token\ndata: ").unwrap().strip_suffix("\n\n").unwrap();
                let data: Value = serde_json::from_str(data).unwrap();
                texts.push(data["text"].as_str().unwrap().to_owned());
            }
        }
        (texts, writer)
    }

    #[test]
    fn the_texts_of_the_events_are_the_answer() {
        let role = event(r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#);
        let thought = event(r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}"#);
        let other = event(r#"{"choices":[{"index":1,"delta":{"content":"no"}}]}"#);
        let last = event(
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
        );
        let stream =
            [role, thought, delta("Tell them"), ": ping\n\n".to_owned(), delta("\nnow \"ü\""), other, last].concat();
        for piece_bytes in [1, 7, 10_000] {
            let (texts, mut writer) = written(&stream, piece_bytes);
            assert_eq!(texts.concat(), "Tell them\nnow \"ü\"");
            assert_eq!((writer.text(), writer.is_done()), (&*texts.concat(), false));
            let usage = Some(Usage { prompt_tokens: 3, completion_tokens: 2 });
            assert_eq!(writer.verdict(), Verdict { usage, has_error: false });
            let done = Reader::default().push(Bytes::from_static(b"data: [DONE]\n\n")).unwrap();
            assert_eq!((writer.write(&done), writer.is_done()), (Ok(String::new()), true));
        }
    }

    #[test]
    fn an_error_has_its_message() {
        for (error, message) in [
            (r#"{"error":{"message":"out of memory"}}"#, "out of memory"),
            (r#"{"error":"out of memory"}"#, "out of memory"),
            (r#"{"error":{"code":500}}"#, "no message"),
        ] {
            let (texts, writer) = written(&(delta("Tell") + &event(error)), 1);
            assert_eq!((texts.concat(), writer.error()), ("Tell".to_owned(), Some(message)));
            assert!(writer.verdict().has_error);
        }
    }

    #[test]
    fn a_long_answer_is_refused() {
        let mut writer = TokenWriter::default();
        let piece = |bytes: usize| Reader::default().push(delta(&"a".repeat(bytes)).into()).unwrap();
        assert!(writer.write(&piece(MAX_ANSWER_BYTES - 100)).is_ok());
        assert_eq!(writer.write(&piece(101)), Err(AnswerTooLong));
        assert_eq!(writer.text().len(), MAX_ANSWER_BYTES - 100);
    }
}
