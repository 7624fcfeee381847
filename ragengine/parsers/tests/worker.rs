//! Files in a worker: one that is well, those that hang, explode or end it, and one that is well again.
//!
//! The worker is this program, started again: so the tests are run by a harness that leaves its output alone.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "worker/bad_files.rs"]
mod bad_files;
#[path = "worker/cases.rs"]
mod cases;

use std::process::ExitCode;

use libtest_mimic::Arguments;

/// The argument that makes this program a worker.
const WORKER: &str = "--serve-as-worker";
/// The argument, before a folder, that makes this program a parent whose worker hangs.
const HANG: &str = "--hang";

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == WORKER) {
        let served = ragengine_parsers::worker::serve(std::io::stdin(), std::io::stdout());
        return if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let mut arguments = std::env::args_os().skip_while(|argument| argument != HANG).skip(1);
    if let Some(folder) = arguments.next() {
        cases::hang(folder.as_ref());
        return ExitCode::SUCCESS;
    }
    libtest_mimic::run(&Arguments::from_args(), cases::all()).exit_code()
}
