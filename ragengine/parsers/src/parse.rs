use std::io::BufReader;

use crate::metadata::{Metadata, put_split_type};
use crate::{
    CodeLanguage, Format, Input, Limits, ParseError, Parsed, ParsedDocument, Stopped, decode, html, json_lines,
    markdown, pdf, table,
};

/// Reads one file and hands out what it holds, one document after another, in this process. Only what has rows may hold several documents, and
/// those are handed out while it is read.
///
/// Web pages and PDF files can take any time and memory here, or end the process: [`Parser`](crate::Parser) reads those in a process of their own.
///
/// # Errors
///
/// Why there are no documents, or no more of them.
pub fn parse(
    input: &Input,
    limits: &Limits,
    emit: &mut dyn FnMut(Parsed) -> Result<(), Stopped>,
) -> Result<(), ParseError> {
    match input.format {
        Format::JsonLines => json_lines::parse(BufReader::new(input.content.open(limits)?), limits, emit),
        Format::Csv => table::parse(input.content.open(limits)?, table::Separator::CommaOrSemicolon, limits, emit),
        Format::Tsv => table::parse(input.content.open(limits)?, table::Separator::Tab, limits, emit),
        _ => Ok(emit(Parsed::Document(parse_whole(input.clone(), limits)?))?),
    }
}

/// Reads a file that is one document. One of rows is a text like any other here.
pub(crate) fn parse_whole(input: Input, limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let document = match input.format {
        Format::Text | Format::JsonLines | Format::Csv | Format::Tsv => plain(read_text(input, limits)?),
        Format::Code(language) => code(read_text(input, limits)?, language),
        Format::Markdown => markdown::parse(&read_text(input, limits)?),
        Format::Html => {
            let bytes = input.content.read(limits)?;
            let charset = input.charset.or_else(|| decode::declared_in_html(&bytes));
            html::parse(&decode::decode(bytes, charset.as_deref())?)?
        }
        Format::Pdf => pdf::parse(input.content.read(limits)?, limits)?,
    };
    if document.text.trim().is_empty() {
        return Err(ParseError::Empty);
    }
    if document.text.len() > limits.max_document_bytes {
        return Err(too_long(limits));
    }
    Ok(document)
}

fn plain(text: String) -> ParsedDocument {
    ParsedDocument { key: None, text, metadata: Metadata::new() }
}

fn code(text: String, language: CodeLanguage) -> ParsedDocument {
    let mut metadata = Metadata::new();
    put_split_type(&mut metadata, "code");
    metadata.insert("language".to_owned(), language.name().into());
    ParsedDocument { key: None, text, metadata }
}

/// A file that is one text. One that is longer than a document may be is not read to its end.
fn read_text(input: Input, limits: &Limits) -> Result<String, ParseError> {
    // A character of UTF-8 is at least half as long as in any other encoding.
    let max_bytes = limits.max_document_bytes.saturating_mul(2) as u64;
    let text_limits = Limits { max_file_bytes: limits.max_file_bytes.min(max_bytes), ..*limits };
    let bytes = input.content.read(&text_limits).map_err(|error| match error {
        ParseError::FileTooLarge { .. } if max_bytes < limits.max_file_bytes => too_long(limits),
        other => other,
    })?;
    decode::decode(bytes, input.charset.as_deref())
}

fn too_long(limits: &Limits) -> ParseError {
    ParseError::DocumentTooLarge { max_bytes: limits.max_document_bytes }
}
