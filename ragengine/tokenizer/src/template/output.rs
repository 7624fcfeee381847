//! A rendering's output, with a bound.

use std::io::{self, ErrorKind, Write};

use serde_json::Value;

/// A template writes every message once, and a little around it. Some write a tool call as it was sent and once more.
const MAX_REPETITIONS: usize = 4;

/// What a template may write on its own account: the longest write some kilobytes.
const MAX_OWN_BYTES: usize = 1 << 20;

/// Text that grows up to a bound.
pub(super) struct BoundedOutput {
    bytes: Vec<u8>,
    max_bytes: usize,
}

impl BoundedOutput {
    /// Room for what a template may make of these messages.
    pub fn for_messages(messages: &[Value]) -> Self {
        let sent: usize = messages.iter().map(bytes_of).sum();
        Self { bytes: Vec::with_capacity(sent), max_bytes: sent * MAX_REPETITIONS + MAX_OWN_BYTES }
    }

    /// What was written.
    pub fn into_text(self) -> String {
        // Jinja writes whole strings, so nothing is ever replaced here.
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

/// About as many bytes as the value has in JSON; escapes are left out.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(bytes_of).sum::<usize>() + 2,
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + 6 + bytes_of(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}
