//! Tests that a confined worker parses files with the same results as this process.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use libtest_mimic::{Failed, Trial};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ragengine_parsers::{Content, Format, Input, ParseError, Parsed, Parser, parse};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::WORKER;
use crate::cases::{LIMITS, parser, run};
use crate::strategies::{damaged_pdf, pieces};

/// More than the number of documents in any test file.
const MAX_DOCUMENTS: usize = 1_000;

pub fn all() -> Vec<Trial> {
    vec![
        Trial::test("each_file_is_read_as_in_this_process", each_file_is_read_as_in_this_process),
        Trial::test("a_worker_reads_every_format", a_worker_reads_every_format),
        Trial::test("any_bytes_are_read_as_in_this_process", any_bytes_are_read_as_in_this_process),
    ]
}

/// The result of parsing a file.
#[derive(Debug, PartialEq)]
struct ParseOutcome {
    parsed: Vec<Parsed>,
    result: Result<(), ParseError>,
}

fn in_this_process(input: &Input) -> ParseOutcome {
    let mut parsed = Vec::new();
    let result = parse(input, &LIMITS, &mut |next| {
        parsed.push(next);
        Ok(())
    });
    ParseOutcome { parsed, result }
}

async fn by(parser: &mut Parser, input: Input) -> ParseOutcome {
    let (sender, mut receiver) = mpsc::channel(MAX_DOCUMENTS);
    let result = parser.parse(input, &sender).await;
    let parsed = std::iter::from_fn(|| receiver.try_recv().ok()).collect();
    ParseOutcome { parsed, result }
}

fn files() -> Vec<(Format, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let paths = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (Format::of(path.to_str().unwrap(), None).unwrap(), path)).collect()
}

fn each_file_is_read_as_in_this_process() -> Result<(), Failed> {
    run(async {
        let mut parser = parser(LIMITS);
        for (format, path) in files() {
            let bytes = std::fs::read(&path).unwrap();
            for content in [Content::File(path.clone()), Content::Bytes(bytes)] {
                let input = Input { format, charset: None, content };
                assert_eq!(by(&mut parser, input.clone()).await, in_this_process(&input), "{}", path.display());
            }
        }
    });
    Ok(())
}

/// Includes formats that need no worker. A worker treats formats with rows as plain text.
fn a_worker_reads_every_format() -> Result<(), Failed> {
    let mut worker = Command::new(std::env::current_exe()?)
        .arg(WORKER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()?;
    let (mut input, output) = (worker.stdin.take().unwrap(), worker.stdout.take().unwrap());
    let mut lines = BufReader::new(output).lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    lines.next().ok_or("it says nothing")?;
    for (format, path) in files() {
        let bytes = std::fs::read(&path)?;
        let request = json!({"format": format, "charset": null, "bytes": bytes.len(), "limits": LIMITS});
        writeln!(input, "{request}")?;
        input.write_all(&bytes)?;
        input.flush()?;
        let reply = lines.next().ok_or("it does not answer")?;

        let format =
            if matches!(format, Format::JsonLines | Format::Csv | Format::Tsv) { Format::Text } else { format };
        let here = in_this_process(&Input { format, charset: None, content: Content::File(path.clone()) });
        let outcome = match (&here.parsed[..], &here.result) {
            ([Parsed::Document(document)], Ok(())) => json!({"parsed": document}),
            ([], Err(error)) => json!({"failed": error}),
            other => panic!("{other:?}"),
        };
        assert_eq!(reply["outcome"], outcome, "{}", path.display());
    }
    drop(input);
    assert!(worker.wait()?.success());
    Ok(())
}

/// On every path, a parser only makes allowed system calls.
fn any_bytes_are_read_as_in_this_process() -> Result<(), Failed> {
    let files = prop_oneof![
        pieces().prop_map(|bytes| (Format::Html, bytes)),
        pieces().prop_map(|bytes| (Format::Pdf, bytes)),
        damaged_pdf().prop_map(|bytes| (Format::Pdf, bytes)),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let parser = RefCell::new(parser(LIMITS));
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    Ok(runner.run(&files, |(format, bytes)| {
        let input = Input { format, charset: None, content: Content::Bytes(bytes) };
        let outcome = runtime.block_on(by(&mut parser.borrow_mut(), input.clone()));
        prop_assert_eq!(outcome, in_this_process(&input));
        Ok(())
    })?)
}
