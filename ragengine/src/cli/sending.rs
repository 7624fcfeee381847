//! Sends documents to a server in batches, for the commands that read them from files.

use std::collections::HashMap;
use std::fmt::Display;

use anyhow::bail;
use indicatif::{ProgressBar, ProgressStyle};
use ragengine_client::wire::Document;
use ragengine_client::{Client, ClientError, content_hash};

/// Most documents and bytes in one request: few enough for the progress bar to move, many enough to hide latency.
const BATCH: (usize, usize) = (64, 1 << 20);

/// The outcome.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Documents that the server has stored.
    pub sent: usize,
    /// Documents that were the same already, and were not sent.
    pub unchanged: usize,
    /// Documents that could not be read, or that the server refused, each with the reason.
    pub left_out: Vec<String>,
}

impl Sent {
    /// Fails with the list of what was left out, unless there is nothing. `what` names it.
    ///
    /// # Errors
    ///
    /// When something was left out.
    pub fn require_all(&self, what: &str) -> anyhow::Result<()> {
        match self.left_out.as_slice() {
            [] => Ok(()),
            left_out => bail!("{} {what} could not be sent:\n  {}", left_out.len(), left_out.join("\n  ")),
        }
    }
}

/// Documents on their way to an index.
pub struct Sending<'a> {
    client: &'a Client,
    index: &'a str,
    known: &'a HashMap<String, String>,
    batch: Vec<Document>,
    batch_bytes: usize,
    sent: Sent,
}

impl<'a> Sending<'a> {
    /// Begins to send. `known` has the hashes of [`known_documents`].
    pub fn new(client: &'a Client, index: &'a str, known: &'a HashMap<String, String>) -> Self {
        Self { client, index, known, batch: Vec::new(), batch_bytes: 0, sent: Sent::default() }
    }

    /// Adds a document, unless the server has the same one.
    ///
    /// # Errors
    ///
    /// When the server does not answer, or refuses the request and not only a document.
    pub async fn add(&mut self, document: Document) -> Result<(), ClientError> {
        if self.is_unchanged(&document) {
            self.sent.unchanged += 1;
            return Ok(());
        }
        self.batch_bytes += document.text.len();
        self.batch.push(document);
        if self.batch.len() >= BATCH.0 || self.batch_bytes >= BATCH.1 {
            self.send_batch().await?;
        }
        Ok(())
    }

    /// Notes that something could not be read.
    pub fn leave_out(&mut self, name: &dyn Display, reason: &dyn Display) {
        self.sent.left_out.push(format!("{name}: {reason}"));
    }

    /// Sends the rest.
    ///
    /// # Errors
    ///
    /// As [`Self::add`].
    pub async fn finish(mut self) -> Result<Sent, ClientError> {
        self.send_batch().await?;
        Ok(self.sent)
    }

    fn is_unchanged(&self, document: &Document) -> bool {
        let known = document.doc_id.as_ref().and_then(|doc_id| self.known.get(doc_id));
        known.is_some_and(|hash| *hash == content_hash(&document.text, &document.metadata))
    }

    /// Sends the batch. If the server refuses it, sends its documents one by one, so that only invalid ones are left
    /// out.
    async fn send_batch(&mut self) -> Result<(), ClientError> {
        self.batch_bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        if batch.is_empty() {
            return Ok(());
        }
        match self.client.add(self.index, batch.clone()).await {
            Ok(_) => self.sent.sent += batch.len(),
            Err(error) if !error.is_document_error() => return Err(error),
            Err(_) => {
                for document in batch {
                    self.send_one(document).await?;
                }
            }
        }
        Ok(())
    }

    async fn send_one(&mut self, document: Document) -> Result<(), ClientError> {
        let doc_id = document.doc_id.clone().unwrap_or_default();
        match self.client.add(self.index, vec![document]).await {
            Ok(_) => self.sent.sent += 1,
            Err(error) if !error.is_document_error() => return Err(error),
            Err(error) => self.leave_out(&doc_id, &error),
        }
        Ok(())
    }
}

/// The hashes of a source's documents in an index, by their ids.
///
/// # Errors
///
/// When the server does not answer or refuses.
pub async fn known_documents(
    client: &Client,
    index: &str,
    source: &str,
) -> Result<HashMap<String, String>, ClientError> {
    let known = client.source_documents(index, source).await?;
    Ok(known.into_iter().map(|document| (document.doc_id, document.content_hash)).collect())
}

/// A bar that counts `unit`. Hidden unless standard error is a terminal.
pub fn progress_bar(length: u64, unit: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    let template = format!("{{bar:40}} {{pos}}/{{len}} {unit}, {{elapsed}} elapsed, {{eta}} left");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}
