use std::io::BufReader;

use crate::metadata::{Metadata, put_split_type};
use crate::{
    CodeLanguage, Format, Input, Limits, ParseError, Parsed, ParsedDocument, Stopped, decode, html, json_lines,
    markdown, pdf, table,
};

/// The error of a web page that has content and no text.
const NO_TEXT_IN_PAGE: &str =
    "the page has no text outside of navigation, footers and fields of forms: a script may add it in the browser";

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
        Format::Html => page(input, limits)?,
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

/// Parses a web page. If it has content and no text, that is an error and not an empty file: the documents that it had
/// may be in a part that cannot be read, and must not count as removed.
fn page(input: Input, limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let bytes = input.content.read(limits)?;
    let charset = input.charset.or_else(|| decode::declared_in_html(&bytes));
    let content = decode::decode(bytes, charset.as_deref())?;
    let document = html::parse(&content)?;
    if document.text.trim().is_empty() && !content.trim().is_empty() {
        return Err(ParseError::Malformed(NO_TEXT_IN_PAGE.to_owned()));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Content;

    #[test]
    fn only_a_page_without_content_is_empty() {
        let no_text = Err(NO_TEXT_IN_PAGE.to_owned());
        for (page, expected) in [
            ("<p>a</p>", Ok("a".to_owned())),
            ("", Err(ParseError::Empty.to_string())),
            (" \n", Err(ParseError::Empty.to_string())),
            ("<div id=app></div><script>start()</script>", no_text.clone()),
            ("<nav>Home</nav>", no_text),
        ] {
            let input = Input { format: Format::Html, charset: None, content: Content::Bytes(page.into()) };
            let parsed = parse_whole(input, &Limits::default());
            let found = parsed.map(|document| document.text).map_err(|error| error.to_string());
            assert_eq!(found, expected, "{page}");
        }
    }
}
