use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};
use ragengine_parsers::worker::WorkerCommand;
use ragengine_parsers::{Content, Format, Input, Limits, ParseError, Parsed, Parser};
use tokio::sync::mpsc;

use crate::{WORKER, bad_files};

/// Long enough for every file that ends by itself, on any machine.
const LIMITS: Limits = Limits {
    max_file_bytes: 64 << 20,
    max_document_bytes: 2 << 20,
    max_documents: 100_000,
    max_seconds: 120,
    max_memory_bytes: 64 << 20,
};

pub fn all() -> Vec<Trial> {
    vec![
        trial("a_page_is_read_in_the_worker", a_page_is_read_in_the_worker),
        trial("a_page_that_is_nested_too_deeply_says_so", a_page_that_is_nested_too_deeply_says_so),
        trial("a_page_that_explodes_is_out_of_memory", a_page_that_explodes_is_out_of_memory),
        trial("a_pdf_that_explodes_is_out_of_memory", a_pdf_that_explodes_is_out_of_memory),
        trial("a_pdf_that_hangs_takes_too_long", a_pdf_that_hangs_takes_too_long),
    ]
}

fn trial(name: &str, test: fn() -> Result<(), Failed>) -> Trial {
    Trial::test(name, test)
}

fn parser(limits: Limits) -> Parser {
    let program = std::env::current_exe().unwrap();
    Parser::new(WorkerCommand { program, arguments: vec![WORKER.into()] }, limits)
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

async fn read(parser: &mut Parser, path: &Path) -> Result<String, ParseError> {
    let format = Format::of(path.to_str().unwrap(), None).unwrap();
    let (sender, mut receiver) = mpsc::channel(1);
    let input = Input { format, charset: None, content: Content::File(path.to_owned()) };
    parser.parse(input, &sender).await?;
    match receiver.recv().await.unwrap() {
        Parsed::Document(document) => Ok(document.text),
        Parsed::Problem(problem) => panic!("{problem:?}"),
    }
}

fn good_page(folder: &Path) -> PathBuf {
    let path = folder.join("good.html");
    std::fs::write(&path, "<h1>Good</h1>").unwrap();
    path
}

/// After whatever a file did, the next one is read as if nothing had been.
fn then_a_good_file(limits: Limits, bad: impl Fn(&Path) -> PathBuf, error: &ParseError) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (bad, good) = (bad(folder.path()), good_page(folder.path()));
    run(async {
        let mut parser = parser(limits);
        for _ in 0..2 {
            assert_eq!(read(&mut parser, &good).await.as_deref(), Ok("# Good"));
            assert_eq!(read(&mut parser, &bad).await.as_ref(), Err(error));
        }
        assert_eq!(read(&mut parser, &good).await.as_deref(), Ok("# Good"));
    });
    Ok(())
}

fn a_page_is_read_in_the_worker() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let good = good_page(folder.path());
    assert_eq!(run(read(&mut parser(LIMITS), &good)).as_deref(), Ok("# Good"));
    Ok(())
}

fn a_page_that_is_nested_too_deeply_says_so() -> Result<(), Failed> {
    let error = ParseError::Malformed("its elements are nested more than 256 deep".to_owned());
    then_a_good_file(LIMITS, |folder| bad_files::nested_page(folder, 10_000), &error)
}

fn a_page_that_explodes_is_out_of_memory() -> Result<(), Failed> {
    let error = ParseError::OutOfMemory { max_bytes: LIMITS.max_memory_bytes };
    then_a_good_file(LIMITS, |folder| bad_files::wide_page(folder, 1_000_000), &error)
}

fn a_pdf_that_explodes_is_out_of_memory() -> Result<(), Failed> {
    let error = ParseError::OutOfMemory { max_bytes: LIMITS.max_memory_bytes };
    then_a_good_file(LIMITS, |folder| bad_files::pdf_bomb(folder, 10 << 10), &error)
}

fn a_pdf_that_hangs_takes_too_long() -> Result<(), Failed> {
    let limits = Limits { max_seconds: 2, ..LIMITS };
    then_a_good_file(limits, bad_files::pdf_that_hangs, &ParseError::TookTooLong { max_seconds: 2 })
}
