use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde::Deserialize;
use serde_json::Value;

use crate::ParsedDocument;
use crate::metadata::{Metadata, cut, put_date, put_split_type, put_title, put_url};

/// Maximum length of a front matter in bytes. A longer one is treated as text.
const MAX_FRONT_MATTER_BYTES: usize = 16 << 10;
/// Number of bytes that are searched for the first heading.
const MAX_TITLE_SEARCH_BYTES: usize = 64 << 10;

/// The used fields of a front matter.
#[derive(Debug, Default, Deserialize)]
struct FrontMatter {
    title: Option<Value>,
    date: Option<Value>,
    url: Option<Value>,
}

/// Parses a Markdown file. Title, date and url are taken from its front matter, which is removed from the text.
pub(crate) fn parse(text: &str) -> ParsedDocument {
    let (front_matter, body) = split_front_matter(text);
    let mut metadata = Metadata::new();
    put_split_type(&mut metadata, "markdown");
    if let Some(title) = front_matter.title.and_then(scalar).or_else(|| first_heading(body)) {
        put_title(&mut metadata, &title);
    }
    if let Some(date) = front_matter.date.and_then(scalar) {
        put_date(&mut metadata, &date);
    }
    if let Some(url) = front_matter.url.and_then(scalar) {
        put_url(&mut metadata, &url);
    }
    ParsedDocument { key: None, text: body.to_owned(), metadata }
}

/// The text of the first heading.
fn first_heading(text: &str) -> Option<String> {
    let heading = Parser::new_ext(cut(text, MAX_TITLE_SEARCH_BYTES), Options::all())
        .skip_while(|event| !matches!(event, Event::Start(Tag::Heading { .. })))
        .take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let title: String = heading
        .filter_map(|event| match event {
            Event::Text(piece) | Event::Code(piece) => Some(piece.into_string()),
            Event::SoftBreak | Event::HardBreak => Some(" ".to_owned()),
            _ => None,
        })
        .collect();
    (!title.trim().is_empty()).then(|| title.trim().to_owned())
}

/// Splits a front matter from the text: a YAML mapping between two lines of `---` at the very beginning. Anything else
/// is text.
fn split_front_matter(text: &str) -> (FrontMatter, &str) {
    let nothing = (FrontMatter::default(), text);
    let Some(rest) = text.strip_prefix("---").map(|rest| rest.trim_start_matches([' ', '\t', '\r'])) else {
        return nothing;
    };
    let Some(rest) = rest.strip_prefix('\n') else {
        return nothing;
    };
    let mut end = 0;
    for line in cut(rest, MAX_FRONT_MATTER_BYTES).split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            return match serde_saphyr::from_str(&rest[..end]) {
                Ok(front_matter) => (front_matter, &rest[end + line.len()..]),
                Err(_) => nothing,
            };
        }
        end += line.len();
    }
    nothing
}

fn scalar(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
