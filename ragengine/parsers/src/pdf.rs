//! Parses PDF files page by page with hayro-interpret. It forbids unsafe code, reads lazily (a file of images takes no
//! more memory than its bytes), and interprets pages as a renderer does, so that fonts, encodings and forms are handled
//! as displayed. It yields glyphs with positions; this module combines them to words, lines and paragraphs.

mod glyphs;
mod line;
mod paragraphs;

use glyphs::Glyphs;
use hayro_interpret::hayro_syntax::object::DateTime;
use hayro_interpret::hayro_syntax::page::Page;
use hayro_interpret::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use hayro_interpret::kurbo::{Affine, Rect};
use hayro_interpret::{Context, InterpreterCache, InterpreterSettings, RenderContent, interpret_page};

use crate::metadata::{Metadata, put_date, put_split_type, put_title};
use crate::{Limits, ParseError, ParsedDocument};

/// Titles that programs write for untitled documents.
const NO_TITLES: [&str; 4] = ["untitled", "(anonymous)", "anonymous", "(unspecified)"];

/// Parses a PDF file. Its pages are separated by form feeds.
///
/// # Errors
///
/// The file is invalid, is encrypted, or has no text or too much text.
pub(crate) fn parse(bytes: Vec<u8>, limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let pdf = Pdf::new(bytes).map_err(refused)?;
    let mut pages = Vec::new();
    let mut total_bytes = 0;
    // Shared objects of the pages, such as fonts, are read once.
    let cache = InterpreterCache::new();
    for page in pdf.pages().iter() {
        let text = page_text(&pdf, page, &cache);
        total_bytes += text.len() + 1;
        if total_bytes > limits.max_document_bytes {
            return Err(ParseError::DocumentTooLarge { max_bytes: limits.max_document_bytes });
        }
        pages.push(text);
    }
    if pages.iter().all(String::is_empty) {
        return Err(ParseError::NoTextOnPages);
    }
    Ok(ParsedDocument { key: None, text: pages.join("\u{c}"), metadata: metadata(&pdf) })
}

fn page_text<'a>(pdf: &'a Pdf, page: &Page<'a>, cache: &InterpreterCache<'a>) -> String {
    let settings = InterpreterSettings { render_content: RenderContent::PAGE, ..InterpreterSettings::default() };
    // Only relative positions of glyphs matter, so that no page transform is needed.
    let mut context = Context::new(Affine::IDENTITY, Rect::new(0.0, 0.0, 1.0, 1.0), cache, pdf.xref(), settings);
    let mut glyphs = Glyphs::default();
    interpret_page(page, &mut context, &mut glyphs);
    paragraphs::text_of(&glyphs.into_lines())
}

fn refused(error: LoadPdfError) -> ParseError {
    match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => ParseError::Encrypted,
        LoadPdfError::Decryption(_) => ParseError::Malformed("it is encrypted with an unsupported method".to_owned()),
        LoadPdfError::Invalid => ParseError::Malformed("it is not a valid PDF file".to_owned()),
    }
}

fn metadata(pdf: &Pdf) -> Metadata {
    let mut metadata = Metadata::new();
    put_split_type(&mut metadata, "pages");
    let information = pdf.metadata();
    if let Some(title) = &information.title {
        let title = text_string(title);
        if !NO_TITLES.contains(&title.trim().to_ascii_lowercase().as_str()) {
            put_title(&mut metadata, &title);
        }
    }
    if let Some(date) = information.modification_date.or(information.creation_date) {
        let DateTime { year, month, day, .. } = date;
        put_date(&mut metadata, &format!("{year:04}-{month:02}-{day:02}"));
    }
    metadata
}

/// Decodes a PDF text string: UTF-16 or UTF-8 with a byte order mark, otherwise one byte per character. PDF's encoding
/// for the latter is Latin-1 except for a few symbols.
fn text_string(bytes: &[u8]) -> String {
    let encoding = encoding_rs::Encoding::for_bom(bytes).map_or(encoding_rs::WINDOWS_1252, |(encoding, _)| encoding);
    let (text, _, _) = encoding.decode(bytes);
    text.into_owned()
}

#[cfg(test)]
mod tests;
