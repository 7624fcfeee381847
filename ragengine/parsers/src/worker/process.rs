use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use tokio::process::{Child, Command};

use crate::metadata::cut;
use crate::{Limits, ParseError};

/// Maximum length of the reported error output of a worker that did not start, in bytes.
const MAX_REPORTED_BYTES: usize = 300;

/// The command that starts a worker: a program that calls [`serve`](super::serve) with its standard input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The path of the program, usually `std::env::current_exe()`.
    pub program: PathBuf,
    /// The arguments of the program.
    pub arguments: Vec<OsString>,
}

impl WorkerCommand {
    /// Starts the worker with an empty environment, because this process' environment may contain secrets.
    pub(super) fn start(&self) -> Result<Child, ParseError> {
        Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            // Otherwise this library, if linked, starts threads and allocates memory for each when the program is
            // loaded. An old Landlock would not restrict them.
            .env("OPENBLAS_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| ParseError::NoWorker(error.to_string()))
    }
}

/// Describes why a worker ended before it got a file, so that the file is not the cause.
pub(super) fn why_it_did_not_start(status: ExitStatus, last_words: &str) -> ParseError {
    let how = how_it_ended(status);
    ParseError::NoWorker(match cut(last_words.trim(), MAX_REPORTED_BYTES) {
        "" => how,
        words => format!("{how}: {words}"),
    })
}

/// Describes why a worker ended while it parsed a file, from its exit status and error output.
pub(super) fn why_it_ended(status: ExitStatus, last_words: &str, limits: &Limits) -> ParseError {
    if last_words.contains("memory allocation of") {
        return ParseError::OutOfMemory { max_bytes: limits.max_memory_bytes };
    }
    if last_words.contains("has overflowed its stack") {
        return ParseError::Failed("it is nested too deeply".to_owned());
    }
    ParseError::Failed(how_it_ended(status))
}

fn how_it_ended(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("it was ended by signal {signal}"),
        (None, Some(code)) => format!("it ended with exit code {code}"),
        (None, None) => "it ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_worker_is_explained() {
        let limits = Limits::default();
        for (status, last_words, words) in [
            (6, "memory allocation of 9 bytes failed\n", "it needs more than 64 MiB of memory"),
            (6, "\nthread 'main' has overflowed its stack\n", "its parser failed: it is nested too deeply"),
            (9, "", "its parser failed: it was ended by signal 9"),
            (3 << 8, "", "its parser failed: it ended with exit code 3"),
        ] {
            let error = why_it_ended(ExitStatus::from_raw(status), last_words, &limits);
            assert_eq!(error.to_string(), words);
        }
    }

    #[test]
    fn the_failed_start_of_a_worker_is_explained() {
        for (last_words, words) in [
            ("", "no parser can be started: it ended with exit code 127"),
            ("libm.so.6: not found\n", "no parser can be started: it ended with exit code 127: libm.so.6: not found"),
        ] {
            assert_eq!(why_it_did_not_start(ExitStatus::from_raw(127 << 8), last_words).to_string(), words);
        }
    }
}
