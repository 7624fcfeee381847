use serde_json::{Map, Value};

use crate::date;

/// Maximum length of a metadata value in bytes.
pub(crate) const MAX_VALUE_BYTES: usize = 1_000;
const MAX_TITLE_BYTES: usize = 300;

/// The metadata of a document.
pub(crate) type Metadata = Map<String, Value>;

/// Inserts a title, on one line and truncated to its limit. An empty one is ignored.
pub(crate) fn put_title(metadata: &mut Metadata, title: &str) {
    let title = cut(&one_line(title), MAX_TITLE_BYTES).to_owned();
    if !title.is_empty() {
        metadata.insert("title".to_owned(), Value::from(title));
    }
}

/// Inserts an absolute URL. One that is too long is ignored, because a truncated URL would be wrong.
pub(crate) fn put_url(metadata: &mut Metadata, url: &str) {
    let url = url.trim();
    let is_absolute = url.starts_with("https://") || url.starts_with("http://");
    if is_absolute
        && url.len() <= MAX_VALUE_BYTES
        && !url.contains(|character: char| character.is_whitespace() || character.is_control())
    {
        metadata.insert("url".to_owned(), Value::from(url));
    }
}

/// Inserts a date in a known format. Others are ignored.
pub(crate) fn put_date(metadata: &mut Metadata, text: &str) {
    if let Some(date) = date::parse(text) {
        metadata.insert("date".to_owned(), Value::from(date));
    }
}

/// Inserts the way to split the document into chunks.
pub(crate) fn put_split_type(metadata: &mut Metadata, split_type: &str) {
    metadata.insert("split_type".to_owned(), Value::from(split_type));
}

/// Limits the length of a value: text is truncated, and other long values are removed.
pub(crate) fn bounded(value: Value) -> Option<Value> {
    match value {
        Value::String(text) => Some(Value::from(cut(&text, MAX_VALUE_BYTES))),
        Value::Array(_) | Value::Object(_) if value.to_string().len() > MAX_VALUE_BYTES => None,
        other => Some(other),
    }
}

/// Truncates a text to at most `max_bytes` bytes.
pub(crate) fn cut(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

fn one_line(text: &str) -> String {
    // A title may be megabytes long: process only as much as can be kept, with room for white space.
    cut(text, 10 * MAX_TITLE_BYTES).split_whitespace().collect::<Vec<_>>().join(" ")
}
