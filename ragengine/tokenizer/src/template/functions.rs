//! Functions that transformers adds to Jinja.

use std::time::{SystemTime, UNIX_EPOCH};

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, ErrorKind};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use super::strftime::strftime;

/// `raise_exception(message)`: the template refuses the messages.
pub(super) fn raise_exception(message: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

/// `strftime_now(format)`: the current time in UTC.
pub(super) fn strftime_now(format: &str) -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    strftime(seconds, format)
}

/// `tojson`, which transformers replaces with Python's `json.dumps(…, ensure_ascii=False)`.
pub(super) fn to_json(value: &Value, arguments: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = arguments.get("indent")?;
    let separators: Option<(String, String)> = match arguments.get::<Option<Value>>("separators")? {
        Some(pair) => Some((pair.get_item_by_index(0)?.to_string(), pair.get_item_by_index(1)?.to_string())),
        None => None,
    };
    // Ignored, because they do not change the length of the text.
    let _ = (arguments.get::<Option<Value>>("ensure_ascii")?, arguments.get::<Option<Value>>("sort_keys")?);
    arguments.assert_all_used()?;
    match (indent, separators) {
        (Some(width), _) => write_json(value, PrettyFormatter::with_indent(" ".repeat(width.min(16)).as_bytes())),
        (None, Some((item, key))) => write_json(value, Separators { item, key }),
        (None, None) => write_json(value, Separators { item: ", ".to_owned(), key: ": ".to_owned() }),
    }
}

fn write_json(value: &Value, formatter: impl Formatter) -> Result<String, Error> {
    let mut written = Vec::new();
    let failed = |error: String| Error::new(ErrorKind::InvalidOperation, error);
    value
        .serialize(&mut Serializer::with_formatter(&mut written, formatter))
        .map_err(|error| failed(error.to_string()))?;
    String::from_utf8(written).map_err(|error| failed(error.to_string()))
}

/// JSON on one line with the given separators.
struct Separators {
    item: String,
    key: String,
}

impl Formatter for Separators {
    fn begin_array_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(self.item.as_bytes()) }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(self.item.as_bytes()) }
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(self.key.as_bytes())
    }
}
