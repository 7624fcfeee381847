use std::process::ExitStatus;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::Confinement;
use super::outgoing::{Outgoing, SendError};
use super::process::{WorkerCommand, why_it_did_not_start, why_it_ended};
use super::protocol::{Greeting, MAX_GREETING_BYTES, ParseOutcome, Reply, Request, max_reply_bytes};
use crate::{Input, Limits, ParseError, ParsedDocument};

/// Maximum length of a worker's error output that is kept, in bytes.
const MAX_LAST_WORDS_BYTES: u64 = 4 << 10;
/// Timeout of starting a worker.
const MAX_START: Duration = Duration::from_secs(60);
/// Timeout of waiting for the end of a worker that has closed its output.
const MAX_EXIT: Duration = Duration::from_secs(5);

const INVALID_REPLY: &str = "its reply is invalid";

/// A running worker. Dropping it kills its process.
pub(crate) struct Worker {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    errors: ChildStderr,
    confinement: Confinement,
}

/// The result of parsing a file in a worker, and the state of the worker.
pub(crate) enum Exchange {
    /// The worker is ready for the next file.
    Answered(Result<ParsedDocument, ParseError>),
    /// The worker must be replaced before the next file.
    Last(Result<ParsedDocument, ParseError>),
    /// The worker has ended or is no longer reliable.
    Lost(ParseError),
}

impl Worker {
    /// Starts a worker and waits until it is ready.
    ///
    /// # Errors
    ///
    /// The worker cannot be started, or does not become ready in time.
    pub(crate) async fn start(command: &WorkerCommand) -> Result<Self, ParseError> {
        let mut process = command.start()?;
        let (Some(input), Some(output), Some(errors)) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take())
        else {
            return Err(ParseError::NoWorker("it has no pipes".to_owned()));
        };
        let output = BufReader::new(output);
        let mut worker = Self { process, input, output, errors, confinement: Confinement::default() };
        let greeting = timeout(MAX_START, worker.greeting()).await;
        let late = |_| ParseError::NoWorker(format!("it was not ready within {} s", MAX_START.as_secs()));
        worker.confinement = greeting.map_err(late)??.confinement;
        Ok(worker)
    }

    /// The kernel restrictions of the worker.
    pub(crate) fn confinement(&self) -> Confinement {
        self.confinement
    }

    /// Parses a file, with a timeout.
    pub(crate) async fn read(&mut self, input: &Input, limits: &Limits) -> Exchange {
        let max_seconds = limits.max_seconds;
        timeout(Duration::from_secs(max_seconds.into()), self.exchange(input, limits))
            .await
            .unwrap_or(Exchange::Lost(ParseError::TookTooLong { max_seconds }))
    }

    async fn greeting(&mut self) -> Result<Greeting, ParseError> {
        match self.line(MAX_GREETING_BYTES).await {
            Some(Ok(greeting)) => Ok(greeting),
            Some(Err(_)) => Err(ParseError::NoWorker(INVALID_REPLY.to_owned())),
            None => Err(match self.end().await {
                Ok((status, last_words)) => why_it_did_not_start(status, &last_words),
                Err(reason) => ParseError::NoWorker(reason),
            }),
        }
    }

    async fn exchange(&mut self, input: &Input, limits: &Limits) -> Exchange {
        // If the file cannot be opened, nothing was sent and the worker can be kept.
        let content = match Outgoing::open(&input.content, limits).await {
            Ok(content) => content,
            Err(error) => return Exchange::Answered(Err(error)),
        };
        match self.ask(input, content, limits).await {
            Ok(()) => {}
            // The worker's error output is more informative than the failed write.
            Err(SendError::Worker) => return Exchange::Lost(self.end_reason(limits).await),
            Err(SendError::File(error)) => return Exchange::Lost(error),
        }
        match self.line(max_reply_bytes(limits)).await {
            Some(Ok(Reply { outcome, is_last: false })) => Exchange::Answered(result_of(outcome)),
            Some(Ok(Reply { outcome, is_last: true })) => Exchange::Last(result_of(outcome)),
            Some(Err(_)) => Exchange::Lost(ParseError::Failed(INVALID_REPLY.to_owned())),
            None => Exchange::Lost(self.end_reason(limits).await),
        }
    }

    async fn ask(&mut self, input: &Input, content: Outgoing<'_>, limits: &Limits) -> Result<(), SendError> {
        let (charset, bytes) = (input.charset.clone(), content.bytes());
        let request = Request { format: input.format, charset, bytes, limits: *limits };
        let mut line =
            serde_json::to_vec(&request).map_err(|error| SendError::File(ParseError::Failed(error.to_string())))?;
        line.push(b'\n');
        self.input.write_all(&line).await.map_err(|_| SendError::Worker)?;
        content.send(&mut self.input).await
    }

    /// Reads a line from the worker. None if the worker has ended, also in the middle of a line.
    async fn line<T: DeserializeOwned>(&mut self, max_bytes: u64) -> Option<serde_json::Result<T>> {
        let mut line = Vec::new();
        let count = (&mut self.output).take(max_bytes).read_until(b'\n', &mut line).await.ok()?;
        let is_whole = line.ends_with(b"\n") || count as u64 == max_bytes;
        is_whole.then(|| serde_json::from_slice(&line))
    }

    async fn end_reason(&mut self, limits: &Limits) -> ParseError {
        match self.end().await {
            Ok((status, last_words)) => why_it_ended(status, &last_words, limits),
            Err(reason) => ParseError::Failed(reason),
        }
    }

    /// Waits for the end of the worker and returns its exit status and error output. It is an error if the worker does
    /// not end.
    async fn end(&mut self) -> Result<(ExitStatus, String), String> {
        let gone = async {
            let mut words = Vec::new();
            let mut errors = (&mut self.errors).take(MAX_LAST_WORDS_BYTES);
            let _ = errors.read_to_end(&mut words).await;
            let status = self.process.wait().await;
            (status, String::from_utf8_lossy(&words).into_owned())
        };
        match timeout(MAX_EXIT, gone).await {
            Ok((Ok(status), words)) => Ok((status, words)),
            Ok((Err(error), _)) => Err(error.to_string()),
            Err(_) => Err("it closed its output but did not end".to_owned()),
        }
    }
}

fn result_of(outcome: ParseOutcome) -> Result<ParsedDocument, ParseError> {
    match outcome {
        ParseOutcome::Parsed(document) => Ok(document),
        ParseOutcome::Failed(error) => Err(error),
    }
}
