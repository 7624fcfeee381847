//! Whatever the bytes of a file are, it becomes documents within bounds or an error, and does not end the parser.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use ragengine_parsers::{CodeLanguage, Content, Format, Input, Limits, Parsed, parse};

const FORMATS: [Format; 8] = [
    Format::Text,
    Format::Markdown,
    Format::Html,
    Format::Pdf,
    Format::JsonLines,
    Format::Csv,
    Format::Tsv,
    Format::Code(CodeLanguage::Rust),
];
const LIMITS: Limits = Limits {
    max_file_bytes: 64 << 10,
    max_document_bytes: 8 << 10,
    max_documents: 50,
    max_seconds: 1,
    max_memory_bytes: 0,
};

/// Bytes that formats mean something by.
const PIECES: [&str; 34] = [
    "---\n",
    "title: a\n",
    "date: 2026-05-01\n",
    "# a\n",
    "- ",
    "```\n",
    "<",
    ">",
    "<main>",
    "</main>",
    "<table><tr><td>",
    "<a href=x>",
    "<svg><title>",
    "<template>",
    "<title>",
    "<meta charset=utf-16>",
    "&amp;",
    "{\"text\": \"",
    "\"}",
    "\"id\": 1,",
    "\"",
    ",",
    ";",
    "\t",
    "\n",
    "\r\n",
    "id,text\n",
    "a,b,c\n",
    "\u{feff}",
    "\0",
    "é",
    "\\u0000",
    "%PDF-1.7\n",
    "stream\n",
];

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => select(PIECES.as_slice()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..8),
    ];
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// A real file, a few of whose bytes are others.
fn damaged_pdf() -> impl Strategy<Value = Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/handbook.pdf");
    let file = std::fs::read(path).unwrap_or_default();
    vec((any::<Index>(), any::<u8>()), 1..20).prop_map(move |changes| {
        let mut file = file.clone();
        for (place, byte) in changes {
            *place.get_mut(&mut file) = byte;
        }
        file
    })
}

fn check(format: Format, bytes: Vec<u8>) -> Result<(), TestCaseError> {
    let input = Input { format, charset: None, content: Content::Bytes(bytes) };
    let mut keys = Vec::new();
    let mut is_within_bounds = true;
    let result = parse(&input, &LIMITS, &mut |parsed| {
        if let Parsed::Document(document) = parsed {
            is_within_bounds &= !document.text.trim().is_empty();
            is_within_bounds &= document.text.len() <= LIMITS.max_document_bytes && !document.text.contains('\0');
            is_within_bounds &= document.metadata.values().all(|value| value.to_string().len() < 4_000);
            keys.push(document.key);
        }
        Ok(())
    });
    prop_assert!(is_within_bounds);
    prop_assert!(keys.len() <= LIMITS.max_documents);
    prop_assert!(!keys.is_empty() || result.is_err());
    let count = keys.len();
    keys.sort();
    keys.dedup();
    prop_assert_eq!(keys.len(), count);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(format in select(FORMATS.as_slice()), bytes in pieces()) {
        check(format, bytes)?;
    }

    #[test]
    fn a_damaged_pdf_is_read_or_refused(bytes in damaged_pdf()) {
        check(Format::Pdf, bytes)?;
    }
}
