use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::worker::{Confinement, Exchange, Worker, WorkerCommand, warn_once};
use crate::{Input, Limits, ParseError, Parsed, ParsedDocument, Stopped, parse};

/// Reads files one after another. Those that can take any time and memory are read in a worker, which is kept for the next one and is replaced when it
/// has been lost.
pub struct Parser {
    command: WorkerCommand,
    limits: Limits,
    worker: Option<Worker>,
    confinement: Option<Confinement>,
}

impl Parser {
    /// A parser whose worker is started with the first file that needs one.
    pub fn new(command: WorkerCommand, limits: Limits) -> Self {
        Self { command, limits, worker: None, confinement: None }
    }

    /// What the kernel keeps the worker from that was started last. None before there was one. What is missing is also said in the log, once for all
    /// parsers of this process.
    pub fn confinement(&self) -> Option<Confinement> {
        self.confinement
    }

    /// Reads a file and sends what it holds, while it is read. It waits while the channel is full; when that is closed, it stops.
    ///
    /// # Errors
    ///
    /// Why there are no documents, or no more of them: some may have been sent.
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
                // What earlier files left behind may have been in the way.
                Err(ParseError::OutOfMemory { .. }) => {}
                result => return result,
            }
        }
        let worker = Worker::start(&self.command).await?;
        self.confinement = Some(worker.confinement());
        warn_once(worker.confinement());
        self.read_with(worker, input).await
    }

    /// The worker is kept when it can go on. If nobody waits for the end any more, it goes too.
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
