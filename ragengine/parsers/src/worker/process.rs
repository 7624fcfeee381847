use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use tokio::process::{Child, Command};

use crate::metadata::cut;
use crate::{Limits, ParseError};

/// What is told of a worker that did not start, in bytes.
const MAX_TOLD_BYTES: usize = 300;

/// How a worker is started: a program that calls [`serve`](super::serve) with its standard input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerCommand {
    /// Where the program is: usually `std::env::current_exe()`.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl WorkerCommand {
    /// Starts it. It gets no environment of ours: what is secret in it is no business of a parser.
    pub(super) fn start(&self) -> Result<Child, ParseError> {
        Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            // Else this library starts threads, and takes memory for each, when a program is loaded that it is a part of. An older Landlock would not
            // restrict them.
            .env("OPENBLAS_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| ParseError::NoWorker(error.to_string()))
    }
}

/// Why a worker ended before it was given any file: no fault of a file.
pub(super) fn why_it_did_not_start(status: ExitStatus, last_words: &str) -> ParseError {
    let how = how_it_ended(status);
    ParseError::NoWorker(match cut(last_words.trim(), MAX_TOLD_BYTES) {
        "" => how,
        words => format!("{how}: {words}"),
    })
}

/// Why a worker ended in the middle of a file, from how it ended and what it said last.
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
    fn how_a_worker_ended_says_why() {
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
    fn a_worker_that_does_not_start_says_why() {
        for (last_words, words) in [
            ("", "no parser can be started: it ended with exit code 127"),
            ("libm.so.6: not found\n", "no parser can be started: it ended with exit code 127: libm.so.6: not found"),
        ] {
            assert_eq!(why_it_did_not_start(ExitStatus::from_raw(127 << 8), last_words).to_string(), words);
        }
    }
}
