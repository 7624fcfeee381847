//! Property tests: any bytes give documents within the limits or an error, and do not crash the parser.

#[path = "any_bytes/strategies.rs"]
mod strategies;

use proptest::prelude::*;
use proptest::sample::select;
use ragengine_parsers::{CodeLanguage, Content, Format, Input, Limits, Parsed, parse};
use strategies::{damaged_pdf, pieces};

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
