//! Tests of workers: with valid files, with files that hang, exhaust the memory or crash the worker, and of the
//! worker's confinement.
//!
//! The worker is this program, started again. The tests therefore use a harness that leaves standard output alone.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "worker/bad_files.rs"]
mod bad_files;
#[path = "worker/cases.rs"]
mod cases;
#[path = "worker/confinement.rs"]
mod confinement;
#[path = "worker/formats.rs"]
mod formats;
#[path = "worker/kernel.rs"]
mod kernel;
#[path = "worker/prying.rs"]
mod prying;
#[path = "any_bytes/strategies.rs"]
mod strategies;

use std::io;
use std::process::ExitCode;

use libtest_mimic::Arguments;

/// The argument that makes this program a worker.
const WORKER: &str = "--serve-as-worker";
/// The argument, followed by a folder, that makes this program a parent whose worker hangs.
const HANG: &str = "--hang";

fn main() -> ExitCode {
    match role() {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        None => {
            let tests = [cases::all(), confinement::all(), formats::all()].into_iter().flatten().collect();
            libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
        }
    }
}

/// Runs the role that a test has given this program. None if the tests were started.
fn role() -> Option<io::Result<()>> {
    let arguments: Vec<String> = std::env::args().collect();
    if let Err(error) = kernel::Missing::of_arguments(&arguments).forget() {
        return Some(Err(error));
    }
    let after = |name| Some(&arguments[arguments.iter().position(|argument| argument == name)? + 1..]);
    if after(WORKER).is_some() {
        return Some(ragengine_parsers::worker::serve(io::stdin(), io::stdout()));
    }
    if let Some(arguments) = after(confinement::PRY) {
        return Some(confinement::pry(arguments));
    }
    if after(confinement::OVERFLOW).is_some() {
        return Some(confinement::overflow());
    }
    if let Some([file]) = after(confinement::TWO_WORKERS) {
        confinement::read_with_two_workers(file.as_ref());
        return Some(Ok(()));
    }
    let folder = after(HANG)?.first()?;
    cases::hang(folder.as_ref());
    Some(Ok(()))
}
