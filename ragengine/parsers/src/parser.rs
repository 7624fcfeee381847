use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::worker::{Confinement, Exchange, Worker, WorkerCommand, warn_once};
use crate::{Input, Limits, ParseError, Parsed, ParsedDocument, Stopped, parse};

/// Parses files in turn. Formats that can take unlimited time and memory are parsed in a worker, which is reused for
/// later files and replaced if it is lost.
pub struct Parser {
    command: WorkerCommand,
    limits: Limits,
    worker: Option<Worker>,
    confinement: Option<Confinement>,
}

impl Parser {
    /// Creates a parser. Its worker starts with the first file that needs one.
    pub fn new(command: WorkerCommand, limits: Limits) -> Self {
        Self { command, limits, worker: None, confinement: None }
    }

    /// The kernel restrictions of the latest worker. None if there was none yet. Missing restrictions are also logged,
    /// once for all parsers of this process.
    pub fn confinement(&self) -> Option<Confinement> {
        self.confinement
    }

    /// Parses a file and sends its items while it is read. Waits while the channel is full, and stops when it is
    /// closed.
    ///
    /// # Errors
    ///
    /// Why parsing failed or stopped. Some documents may have been sent.
    pub async fn parse(&mut self, input: Input, documents: &mpsc::Sender<Parsed>) -> Result<(), ParseError> {
        if !input.format.needs_worker() {
            return parse_here(input, self.limits, documents.clone()).await;
        }
        let document = self.parse_in_worker(&input).await?;
        documents.send(Parsed::Document(document)).await.map_err(|_| ParseError::Stopped)
    }

    async fn parse_in_worker(&mut self, input: &Input) -> Result<ParsedDocument, ParseError> {
        if let Some(worker) = self.worker.take() {
            match self.read_with(worker, input).await {
                // Memory of earlier files may have been the cause, so that a new worker is tried.
                Err(ParseError::OutOfMemory { .. }) => {}
                result => return result,
            }
        }
        let worker = Worker::start(&self.command).await?;
        self.confinement = Some(worker.confinement());
        warn_once(worker.confinement());
        self.read_with(worker, input).await
    }

    /// Parses a file with this worker, and keeps the worker if it can continue. If this future is dropped, the worker
    /// is killed.
    async fn read_with(&mut self, mut worker: Worker, input: &Input) -> Result<ParsedDocument, ParseError> {
        match worker.read(input, &self.limits).await {
            Exchange::Answered(result) => {
                self.worker = Some(worker);
                result
            }
            Exchange::Last(result) => result,
            Exchange::Lost(error) => Err(error),
        }
    }
}

async fn parse_here(input: Input, limits: Limits, documents: mpsc::Sender<Parsed>) -> Result<(), ParseError> {
    let task = spawn_blocking(move || {
        parse(&input, &limits, &mut |parsed| documents.blocking_send(parsed).map_err(|_| Stopped))
    });
    task.await.unwrap_or_else(|error| Err(ParseError::Failed(error.to_string())))
}
