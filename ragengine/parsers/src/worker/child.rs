use std::process::ExitStatus;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::Confinement;
use super::outgoing::{Outgoing, Unsent};
use super::process::{WorkerCommand, why_it_did_not_start, why_it_ended};
use super::protocol::{Greeting, MAX_GREETING_BYTES, Outcome, Reply, Request, max_reply_bytes};
use crate::{Input, Limits, ParseError, ParsedDocument};

/// What a worker said last is kept, in bytes.
const MAX_LAST_WORDS_BYTES: u64 = 4 << 10;
/// How long a worker may take to be ready.
const MAX_START: Duration = Duration::from_secs(60);
/// How long a worker that has closed its output may take to be gone.
const MAX_EXIT: Duration = Duration::from_secs(5);

const NONSENSE: &str = "it said what cannot be understood";

/// A running worker. When it is dropped, its process is killed.
pub(crate) struct Worker {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    errors: ChildStderr,
    confinement: Confinement,
}

/// What became of a file in a worker.
pub(crate) enum Exchange {
    /// The worker is ready for the next file.
    Answered(Result<ParsedDocument, ParseError>),
    /// The worker is to be replaced before the next file.
    Last(Result<ParsedDocument, ParseError>),
    /// The worker is gone, or is not to be trusted any more.
    Lost(ParseError),
}

impl Worker {
    /// Starts one, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// It cannot be started, or does not say that it is ready.
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

    /// What the kernel keeps it from.
    pub(crate) fn confinement(&self) -> Confinement {
        self.confinement
    }

    /// Reads a file. However it ends, it ends in time.
    pub(crate) async fn read(&mut self, input: &Input, limits: &Limits) -> Exchange {
        let max_seconds = limits.max_seconds;
        timeout(Duration::from_secs(max_seconds.into()), self.exchange(input, limits))
            .await
            .unwrap_or(Exchange::Lost(ParseError::TookTooLong { max_seconds }))
    }

    async fn greeting(&mut self) -> Result<Greeting, ParseError> {
        match self.line(MAX_GREETING_BYTES).await {
            Some(Ok(greeting)) => Ok(greeting),
            Some(Err(_)) => Err(ParseError::NoWorker(NONSENSE.to_owned())),
            None => Err(match self.end().await {
                Ok((status, last_words)) => why_it_did_not_start(status, &last_words),
                Err(reason) => ParseError::NoWorker(reason),
            }),
        }
    }

    async fn exchange(&mut self, input: &Input, limits: &Limits) -> Exchange {
        // The worker has heard nothing of a file that cannot be opened.
        let content = match Outgoing::open(&input.content, limits).await {
            Ok(content) => content,
            Err(error) => return Exchange::Answered(Err(error)),
        };
        match self.ask(input, content, limits).await {
            Ok(()) => {}
            // What it said last tells more than that it does not listen.
            Err(Unsent::Unheard) => return Exchange::Lost(self.why_it_is_gone(limits).await),
            Err(Unsent::Unread(error)) => return Exchange::Lost(error),
        }
        match self.line(max_reply_bytes(limits)).await {
            Some(Ok(Reply { outcome, is_last: false })) => Exchange::Answered(result_of(outcome)),
            Some(Ok(Reply { outcome, is_last: true })) => Exchange::Last(result_of(outcome)),
            Some(Err(_)) => Exchange::Lost(ParseError::Failed(NONSENSE.to_owned())),
            None => Exchange::Lost(self.why_it_is_gone(limits).await),
        }
    }

    async fn ask(&mut self, input: &Input, content: Outgoing<'_>, limits: &Limits) -> Result<(), Unsent> {
        let (charset, bytes) = (input.charset.clone(), content.bytes());
        let request = Request { format: input.format, charset, bytes, limits: *limits };
        let mut line =
            serde_json::to_vec(&request).map_err(|error| Unsent::Unread(ParseError::Failed(error.to_string())))?;
        line.push(b'\n');
        self.input.write_all(&line).await.map_err(|_| Unsent::Unheard)?;
        content.send(&mut self.input).await
    }

    /// What the worker says. None when it is gone: half a line is as good as none.
    async fn line<T: DeserializeOwned>(&mut self, max_bytes: u64) -> Option<serde_json::Result<T>> {
        let mut line = Vec::new();
        let count = (&mut self.output).take(max_bytes).read_until(b'\n', &mut line).await.ok()?;
        let is_whole = line.ends_with(b"\n") || count as u64 == max_bytes;
        is_whole.then(|| serde_json::from_slice(&line))
    }

    async fn why_it_is_gone(&mut self, limits: &Limits) -> ParseError {
        match self.end().await {
            Ok((status, last_words)) => why_it_ended(status, &last_words, limits),
            Err(reason) => ParseError::Failed(reason),
        }
    }

    /// How it ended, and what it said last; or that it did not.
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
            Err(_) => Err("it said nothing more, and did not end".to_owned()),
        }
    }
}

fn result_of(outcome: Outcome) -> Result<ParsedDocument, ParseError> {
    match outcome {
        Outcome::Parsed(document) => Ok(document),
        Outcome::Failed(error) => Err(error),
    }
}
