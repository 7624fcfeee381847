use std::io::BufReader;

use crate::metadata::{Metadata, put_split_type};
use crate::{
    CodeLanguage, Format, Input, Limits, ParseError, Parsed, ParsedDocument, Stopped, decode, html, json_lines,
    markdown, pdf, table,
};

/// Parses one file in this process and passes its items to `emit`. Only formats with rows can have several documents,
/// which are passed on while the file is read.
///
/// Web pages and PDF files can take unlimited time and memory here, or crash the process: [`Parser`](crate::Parser)
/// parses them in a separate process.
///
/// # Errors
///
/// Why parsing failed or stopped.
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

/// Parses a file as one document. Formats with rows are treated as plain text.
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

/// Reads a text file. One that is too long for a document is not read completely.
fn read_text(input: Input, limits: &Limits) -> Result<String, ParseError> {
    // In any other encoding, a character is at most twice as long as in UTF-8.
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
