use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::outgoing::{Outgoing, Unsent};
use super::process::{WorkerCommand, why_it_ended};
use super::protocol::{Outcome, Reply, Request, max_reply_bytes};
use crate::{Input, Limits, ParseError, ParsedDocument};

/// What a worker said last is kept, in bytes.
const MAX_LAST_WORDS_BYTES: u64 = 4 << 10;
/// How long a worker that has closed its output may take to be gone.
const MAX_EXIT: Duration = Duration::from_secs(5);

/// A running worker. When it is dropped, its process is killed.
pub(crate) struct Worker {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    errors: ChildStderr,
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
    /// Starts one.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub(crate) fn start(command: &WorkerCommand) -> Result<Self, ParseError> {
        let mut process = command.start()?;
        let (Some(input), Some(output), Some(errors)) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take())
        else {
            return Err(ParseError::NoWorker("it has no pipes".to_owned()));
        };
        Ok(Self { process, input, output: BufReader::new(output), errors })
    }

    /// Reads a file. However it ends, it ends in time.
    pub(crate) async fn read(&mut self, input: &Input, limits: &Limits) -> Exchange {
        let max_seconds = limits.max_seconds;
        timeout(Duration::from_secs(max_seconds.into()), self.exchange(input, limits))
            .await
            .unwrap_or(Exchange::Lost(ParseError::TookTooLong { max_seconds }))
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
            Err(Unsent::Unheard) => return Exchange::Lost(self.last_words(limits).await),
            Err(Unsent::Unread(error)) => return Exchange::Lost(error),
        }
        match self.reply(limits).await {
            Some(Ok(Reply { outcome, is_last: false })) => Exchange::Answered(result_of(outcome)),
            Some(Ok(Reply { outcome, is_last: true })) => Exchange::Last(result_of(outcome)),
            Some(Err(_)) => Exchange::Lost(ParseError::Failed("it said what cannot be understood".to_owned())),
            None => Exchange::Lost(self.last_words(limits).await),
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

    /// What the worker answers. None when it is gone: half a line is as good as none.
    async fn reply(&mut self, limits: &Limits) -> Option<serde_json::Result<Reply>> {
        let mut line = Vec::new();
        let max_bytes = max_reply_bytes(limits);
        let count = (&mut self.output).take(max_bytes).read_until(b'\n', &mut line).await.ok()?;
        let is_whole = line.ends_with(b"\n") || count as u64 == max_bytes;
        is_whole.then(|| serde_json::from_slice(&line))
    }

    async fn last_words(&mut self, limits: &Limits) -> ParseError {
        let gone = async {
            let mut words = Vec::new();
            let mut errors = (&mut self.errors).take(MAX_LAST_WORDS_BYTES);
            let _ = errors.read_to_end(&mut words).await;
            let status = self.process.wait().await;
            (status, String::from_utf8_lossy(&words).into_owned())
        };
        match timeout(MAX_EXIT, gone).await {
            Ok((Ok(status), words)) => why_it_ended(status, &words, limits),
            Ok((Err(error), _)) => ParseError::Failed(error.to_string()),
            Err(_) => ParseError::Failed("it said nothing more, and did not end".to_owned()),
        }
    }
}

fn result_of(outcome: Outcome) -> Result<ParsedDocument, ParseError> {
    match outcome {
        Outcome::Parsed(document) => Ok(document),
        Outcome::Failed(error) => Err(error),
    }
}
