use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use ragengine_parsers::worker::WorkerCommand;
use ragengine_parsers::{Content, Format, Input, Limits, ParseError, Parsed, Parser};
use tokio::sync::mpsc;

use crate::{HANG, WORKER, bad_files};

/// Long enough for every test file that does not hang, on any machine.
pub const LIMITS: Limits = Limits {
    max_file_bytes: 64 << 20,
    max_document_bytes: 2 << 20,
    max_documents: 100_000,
    max_seconds: 120,
    max_memory_bytes: 64 << 20,
};

/// The greeting of a worker.
const GREETING: &str = r#"{"confinement": {"files": true, "network": true, "calls": true}}"#;

pub fn all() -> Vec<Trial> {
    vec![
        trial("a_page_is_read_in_the_worker", a_page_is_read_in_the_worker),
        trial("a_page_that_is_nested_too_deeply_is_refused", a_page_that_is_nested_too_deeply_is_refused),
        trial("a_page_that_needs_too_much_memory_is_refused", a_page_that_needs_too_much_memory_is_refused),
        trial("a_pdf_that_needs_too_much_memory_is_refused", a_pdf_that_needs_too_much_memory_is_refused),
        trial("a_pdf_that_hangs_times_out", a_pdf_that_hangs_times_out),
        trial("a_worker_is_kept_for_the_next_file", a_worker_is_kept_for_the_next_file),
        trial("a_worker_does_not_inherit_the_environment", a_worker_does_not_inherit_the_environment),
        trial("a_worker_that_ends_is_replaced", a_worker_that_ends_is_replaced),
        trial("a_worker_that_is_full_is_replaced", a_worker_that_is_full_is_replaced),
        trial("the_failed_start_of_a_worker_is_explained", the_failed_start_of_a_worker_is_explained),
        trial("bytes_go_to_the_worker", bytes_go_to_the_worker),
        trial("parsing_stops_when_the_channel_is_closed", parsing_stops_when_the_channel_is_closed),
        trial("a_worker_ends_with_its_parent", a_worker_ends_with_its_parent),
    ]
}

/// Runs a parent that is killed while its worker parses a file.
pub fn hang(folder: &Path) {
    let path = bad_files::pdf_that_hangs(folder);
    let mut parser = Parser::new(noted(folder), LIMITS);
    let _ = run(read(&mut parser, &path));
}

fn trial(name: &str, test: fn() -> Result<(), Failed>) -> Trial {
    Trial::test(name, test)
}

/// A worker that appends its process id to the file `started`, one line for each start.
fn noted(folder: &Path) -> WorkerCommand {
    shell(folder, "echo $$ >> \"$1/started\"; exec \"$2\" \"$3\"")
}

fn shell(folder: &Path, script: &str) -> WorkerCommand {
    let program = std::env::current_exe().unwrap();
    let arguments = ["-c".into(), script.into(), "sh".into(), folder.into(), program.into(), WORKER.into()];
    WorkerCommand { program: "/bin/sh".into(), arguments: arguments.into() }
}

fn starts(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("started")).unwrap_or_default().lines().count()
}

pub fn parser(limits: Limits) -> Parser {
    let program = std::env::current_exe().unwrap();
    Parser::new(WorkerCommand { program, arguments: vec![WORKER.into()] }, limits)
}

pub fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

pub async fn read(parser: &mut Parser, path: &Path) -> Result<String, ParseError> {
    let format = Format::of(path.to_str().unwrap(), None).unwrap();
    let (sender, mut receiver) = mpsc::channel(1);
    let input = Input { format, charset: None, content: Content::File(path.to_owned()) };
    parser.parse(input, &sender).await?;
    match receiver.recv().await.unwrap() {
        Parsed::Document(document) => Ok(document.text),
        Parsed::Problem(problem) => panic!("{problem:?}"),
    }
}

pub fn good_page(folder: &Path) -> PathBuf {
    let path = folder.join("good.html");
    std::fs::write(&path, "<h1>Good</h1>").unwrap();
    path
}

/// Checks that a bad file does not affect the next one.
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

fn a_page_that_is_nested_too_deeply_is_refused() -> Result<(), Failed> {
    let error = ParseError::Malformed("its elements are nested more than 256 deep".to_owned());
    then_a_good_file(LIMITS, |folder| bad_files::nested_page(folder, 10_000), &error)
}

fn a_page_that_needs_too_much_memory_is_refused() -> Result<(), Failed> {
    let error = ParseError::OutOfMemory { max_bytes: LIMITS.max_memory_bytes };
    then_a_good_file(LIMITS, |folder| bad_files::wide_page(folder, 1_000_000), &error)
}

fn a_pdf_that_needs_too_much_memory_is_refused() -> Result<(), Failed> {
    let error = ParseError::OutOfMemory { max_bytes: LIMITS.max_memory_bytes };
    then_a_good_file(LIMITS, |folder| bad_files::pdf_bomb(folder, 10 << 10), &error)
}

fn a_pdf_that_hangs_times_out() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (bad, good) = (bad_files::pdf_that_hangs(folder.path()), good_page(folder.path()));
    // The timeout must be long enough for a new worker to parse the good page.
    let mut parser = parser(Limits { max_seconds: 5, ..LIMITS });
    run(async {
        assert_eq!(read(&mut parser, &bad).await, Err(ParseError::TookTooLong { max_seconds: 5 }));
        assert_eq!(read(&mut parser, &good).await.as_deref(), Ok("# Good"));
    });
    Ok(())
}

fn a_worker_is_kept_for_the_next_file() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let good = good_page(folder.path());
    let bad = bad_files::nested_page(folder.path(), 1_000);
    run(async {
        let mut parser = Parser::new(noted(folder.path()), LIMITS);
        for _ in 0..10 {
            assert_eq!(read(&mut parser, &good).await.as_deref(), Ok("# Good"));
            assert!(matches!(read(&mut parser, &bad).await, Err(ParseError::Malformed(_))));
        }
    });
    assert_eq!(starts(folder.path()), 1);
    Ok(())
}

fn a_worker_does_not_inherit_the_environment() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let good = good_page(folder.path());
    let command = shell(folder.path(), r#"cat /proc/$$/environ > "$1/environment"; exec "$2" "$3""#);
    run(async { assert_eq!(read(&mut Parser::new(command, LIMITS), &good).await.as_deref(), Ok("# Good")) });
    let environment = std::fs::read_to_string(folder.path().join("environment"))?;
    assert_eq!(environment, "OPENBLAS_NUM_THREADS=1\0");
    Ok(())
}

fn a_worker_that_ends_is_replaced() -> Result<(), Failed> {
    let second_time = "if test -e \"$1/started\"; then exec \"$2\" \"$3\"; fi; : > \"$1/started\"; ";
    let ready = format!("echo '{GREETING}'; ");
    for (first_time, words) in [
        ("exit 3", "no parser can be started: it ended with exit code 3"),
        ("echo broken >&2; exit 1", "no parser can be started: it ended with exit code 1: broken"),
        ("kill -9 $$", "no parser can be started: it was ended by signal 9"),
        ("echo nonsense; exec cat", "no parser can be started: its reply is invalid"),
        (&format!("{ready} exit 3"), "its parser failed: it ended with exit code 3"),
        (&format!("{ready} kill -9 $$"), "its parser failed: it was ended by signal 9"),
        (&format!("{ready} read line; exit 0"), "its parser failed: it ended with exit code 0"),
        (
            &format!("{ready} echo memory allocation of 7 bytes failed >&2; kill -6 $$"),
            "it needs more than 64 MiB of memory",
        ),
        (&format!("{ready} read line; echo nonsense; exec cat"), "its parser failed: its reply is invalid"),
        (&format!("{ready} read line; printf '{{'; exit 1"), "its parser failed: it ended with exit code 1"),
    ] {
        let folder = tempfile::tempdir()?;
        let good = good_page(folder.path());
        run(async {
            let mut parser = Parser::new(shell(folder.path(), &format!("{second_time}{first_time}")), LIMITS);
            assert_eq!(read(&mut parser, &good).await.map_err(|error| error.to_string()), Err(words.to_owned()));
            assert_eq!(read(&mut parser, &good).await.as_deref(), Ok("# Good"), "{first_time}");
        });
    }
    Ok(())
}

/// This worker answers only once.
fn a_worker_that_is_full_is_replaced() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let good = good_page(folder.path());
    let answer = r#"{"outcome": {"failed": "empty"}, "is_last": true}"#;
    let script =
        format!("echo $$ >> \"$1/started\"; echo '{GREETING}'; read line; echo '{answer}'; exec cat > \"$1/rest\"");
    run(async {
        let mut parser = Parser::new(shell(folder.path(), &script), LIMITS);
        for _ in 0..3 {
            assert_eq!(read(&mut parser, &good).await, Err(ParseError::Empty));
        }
    });
    assert_eq!(starts(folder.path()), 3);
    Ok(())
}

fn the_failed_start_of_a_worker_is_explained() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let good = good_page(folder.path());
    let command = WorkerCommand { program: folder.path().join("missing"), arguments: Vec::new() };
    let error = run(read(&mut Parser::new(command, LIMITS), &good)).unwrap_err();
    assert_eq!(error.to_string(), "no parser can be started: No such file or directory (os error 2)");
    Ok(())
}

fn bytes_go_to_the_worker() -> Result<(), Failed> {
    let page = format!("<p>{}</p>", "word ".repeat(100_000));
    let (sender, mut receiver) = mpsc::channel(1);
    run(async {
        let mut parser = parser(LIMITS);
        for charset in [None, Some("utf-8".to_owned())] {
            let content = Content::Bytes(page.clone().into_bytes());
            parser.parse(Input { format: Format::Html, charset, content }, &sender).await.unwrap();
            let parsed = receiver.recv().await.unwrap();
            assert!(matches!(parsed, Parsed::Document(document) if document.text.len() == 499_999));
        }
    });
    Ok(())
}

fn parsing_stops_when_the_channel_is_closed() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let rows = folder.path().join("rows.csv");
    std::fs::write(&rows, "a\n1\n2\n3\n")?;
    for path in [good_page(folder.path()), rows] {
        let (sender, receiver) = mpsc::channel(1);
        drop(receiver);
        let format = Format::of(path.to_str().unwrap(), None)?;
        let input = Input { format, charset: None, content: Content::File(path) };
        assert_eq!(run(parser(LIMITS).parse(input, &sender)), Err(ParseError::Stopped));
    }
    Ok(())
}

/// The parent is killed while the worker is busy, so that neither can end in an orderly way.
fn a_worker_ends_with_its_parent() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let program = std::env::current_exe()?;
    let mut parent = Command::new(program).arg(HANG).arg(folder.path()).spawn()?;
    wait_until("the worker has started", || starts(folder.path()) == 1);
    let worker = std::fs::read_to_string(folder.path().join("started"))?;
    let state = PathBuf::from(format!("/proc/{}/stat", worker.trim()));
    // The worker is busy once it has used processor time.
    wait_until("the worker is busy", || state_of(&state).is_some_and(|fields| fields[11] != "0"));

    parent.kill()?;
    parent.wait()?;
    wait_until("the worker has ended", || state_of(&state).is_none_or(|fields| fields[0] == "Z"));
    Ok(())
}

/// The fields of `/proc/PID/stat` after the name: the state is the first, the processor time the twelfth.
fn state_of(path: &Path) -> Option<Vec<String>> {
    let line = std::fs::read_to_string(path).ok()?;
    let (_, fields) = line.rsplit_once(") ")?;
    Some(fields.split(' ').map(str::to_owned).collect())
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
}
