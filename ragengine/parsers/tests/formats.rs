//! Snapshot tests: the documents of the files in `fixtures`.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use ragengine_parsers::{Content, Format, Input, Limits, ParseError, Parsed, parse};
use serde::Serialize;

#[derive(Debug, Serialize)]
struct ParseOutcome {
    parsed: Vec<Parsed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

fn outcome(name: &str) -> ParseOutcome {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let input = Input { format: Format::of(name, None).unwrap(), charset: None, content: Content::File(path) };
    let mut parsed = Vec::new();
    let result = parse(&input, &Limits::default(), &mut |next| {
        parsed.push(next);
        Ok(())
    });
    ParseOutcome { parsed, error: result.err().map(|error: ParseError| error.to_string()) }
}

#[test]
fn each_fixture_is_parsed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut names: Vec<String> =
        folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    for name in names {
        insta::assert_yaml_snapshot!(name.as_str(), outcome(&name));
    }
}
