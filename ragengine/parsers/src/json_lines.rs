use std::io::BufRead;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use crate::metadata::{Metadata, bounded, put_date, put_title, put_url};
use crate::rows::Rows;
use crate::{Limits, ParseError, Parsed, ParsedDocument, Stopped};

/// Maximum length of a row's `metadata`, in bytes of JSON.
const MAX_METADATA_BYTES: usize = 16 << 10;

/// The used fields of a row, as raw JSON. Other fields are ignored.
#[derive(Debug, Deserialize)]
struct Row<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    doc_id: Option<&'a RawValue>,
    #[serde(borrow)]
    title: Option<&'a RawValue>,
    #[serde(borrow)]
    url: Option<&'a RawValue>,
    #[serde(borrow)]
    date: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

/// Parses JSON Lines: each line is a document.
pub(crate) fn parse(
    mut reader: impl BufRead,
    limits: &Limits,
    emit: &mut dyn FnMut(Parsed) -> Result<(), Stopped>,
) -> Result<(), ParseError> {
    // Twice the document's limit, for other fields and escapes.
    let max_line_bytes = limits.max_document_bytes.saturating_mul(2);
    let mut rows = Rows::new("line", limits, emit);
    let mut line = Vec::new();
    for number in 1_u64.. {
        match read_line(&mut reader, &mut line, max_line_bytes)? {
            Line::End => break,
            Line::TooLong => rows.take(number, Err(format!("it is longer than {max_line_bytes} bytes")))?,
            Line::Whole => {
                let text = if number == 1 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line) } else { &line };
                if !text.trim_ascii().is_empty() {
                    rows.take(number, document(text))?;
                }
            }
        }
    }
    rows.finish()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Whole,
    TooLong,
    End,
}

/// Reads a line into the buffer. A line that is too long is skipped without storing it.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>, max_bytes: usize) -> Result<Line, ParseError> {
    line.clear();
    let mut is_too_long = false;
    loop {
        let available = reader.fill_buf()?;
        if available.is_empty() {
            return Ok(match (is_too_long, line.is_empty()) {
                (true, _) => Line::TooLong,
                (false, true) => Line::End,
                (false, false) => Line::Whole,
            });
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let piece = &available[..end.unwrap_or(available.len())];
        is_too_long |= line.len() + piece.len() > max_bytes;
        if !is_too_long {
            line.extend_from_slice(piece);
        }
        let used = piece.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(if is_too_long { Line::TooLong } else { Line::Whole });
        }
    }
}

fn document(line: &[u8]) -> Result<ParsedDocument, String> {
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err("it is not a JSON object".to_owned());
    }
    let row: Row<'_> = serde_json::from_slice(line).map_err(|error| message(&error))?;
    let text = row.text.or(row.content).or(row.body).ok_or("it has no text, content or body")?;
    let text = string(text).ok_or("its text must be a string")?;
    let mut metadata = row.metadata.map(object).transpose()?.unwrap_or_default();
    if let Some(title) = row.title.and_then(string) {
        put_title(&mut metadata, &title);
    }
    if let Some(url) = row.url.and_then(string) {
        put_url(&mut metadata, &url);
    }
    if let Some(date) = row.date.and_then(string) {
        put_date(&mut metadata, &date);
    }
    let key = row.id.or(row.doc_id).map(|id| key(id).ok_or("its id must be a string or a number")).transpose()?;
    Ok(ParsedDocument { key, text, metadata })
}

fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

fn key(raw: &RawValue) -> Option<String> {
    string(raw).or_else(|| Some(serde_json::from_str::<Number>(raw.get()).ok()?.to_string()))
}

fn object(raw: &RawValue) -> Result<Metadata, String> {
    if raw.get().len() > MAX_METADATA_BYTES {
        return Err(format!("its metadata is longer than {MAX_METADATA_BYTES} bytes"));
    }
    let members: Map<String, Value> =
        serde_json::from_str(raw.get()).map_err(|_| "its metadata must be an object".to_owned())?;
    Ok(members.into_iter().filter_map(|(name, value)| Some((name, bounded(value)?))).collect())
}

/// Removes the line number from an error, which is always 1 because each line is parsed separately.
fn message(error: &serde_json::Error) -> String {
    let words = error.to_string();
    let (words, _) = words.rsplit_once(" at line ").unwrap_or((&words, ""));
    match error.classify() {
        serde_json::error::Category::Data => words.to_owned(),
        _ => format!("it is not JSON: {words} at column {}", error.column()),
    }
}

#[cfg(test)]
mod tests;
