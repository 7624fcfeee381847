//! Bounded output of a template.

use std::io::{self, ErrorKind, Write};

use serde_json::Value;

/// Maximum output in multiples of the messages. A template writes every message once; some write tool calls twice.
const MAX_REPETITIONS: usize = 4;

/// Maximum output in addition to the messages, in bytes. The longest templates add a few kilobytes.
const MAX_OWN_BYTES: usize = 1 << 20;

/// A text of bounded length.
pub(super) struct BoundedOutput {
    bytes: Vec<u8>,
    max_bytes: usize,
}

impl BoundedOutput {
    /// Creates an output with the limit for these messages.
    pub fn for_messages(messages: &[Value]) -> Self {
        let sent: usize = messages.iter().map(bytes_of).sum();
        Self { bytes: Vec::with_capacity(sent), max_bytes: sent * MAX_REPETITIONS + MAX_OWN_BYTES }
    }

    /// The written text.
    pub fn into_text(self) -> String {
        // Jinja writes whole strings, so that the bytes are always valid UTF-8.
        String::from_utf8(self.bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

impl Write for BoundedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.max_bytes {
            return Err(io::Error::new(ErrorKind::FileTooLarge, "the template writes too much"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The approximate length of the value as JSON in bytes, without escapes.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(bytes_of).sum::<usize>() + 2,
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + 6 + bytes_of(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_has_about_the_length_of_its_json() {
        let long = "x".repeat(1000);
        for value in [
            json!(null),
            json!(false),
            json!(1.5),
            json!(""),
            json!("x"),
            json!([]),
            json!([1, "x"]),
            json!({"": ""}),
            json!({"role": "user", "content": [{"type": "text", "text": "Hi"}]}),
            json!({"": long}),
            json!({"n": [long]}),
        ] {
            let (counted, written) = (bytes_of(&value), value.to_string().len());
            assert!((written..=written * 2 + 8).contains(&counted), "{value:.40}: {counted} and {written}");
        }
    }

    #[test]
    fn a_template_writes_at_most_four_times_the_messages_and_a_megabyte() {
        let messages = [json!("x".repeat(998)), json!("y".repeat(1998))];
        let mut output = BoundedOutput::for_messages(&messages);
        let text = "z".repeat(3000 * 4 + (1 << 20));
        output.write_all(&text.as_bytes()[..1000]).unwrap();
        assert!(output.write(&text.as_bytes()[999..]).is_err());
        assert_eq!(output.write(&text.as_bytes()[1000..]).unwrap(), text.len() - 1000);
        assert!(output.write(b"z").is_err());
        assert_eq!(output.into_text(), text);
    }
}
