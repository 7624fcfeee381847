//! Sends documents to the server in batches.

use ragengine_client::ClientError;
use ragengine_client::wire::Document;

use crate::server::Server;

/// The maximum number of documents and bytes in one request. It balances round trips against the size of a request.
const BATCH: (usize, usize) = (64, 1 << 20);

/// A document to send.
#[derive(Debug)]
pub struct Outgoing {
    /// The path of the file of the document.
    pub path: String,
    /// The document, with its id.
    pub document: Document,
}

/// A document that the server refused.
#[derive(Debug)]
pub struct Refused {
    /// The path of its file.
    pub path: String,
    /// The reply of the server.
    pub reason: ClientError,
}

/// The documents that are not sent yet.
#[derive(Debug, Default)]
pub struct Outbox {
    waiting: Vec<Outgoing>,
    bytes: usize,
}

impl Outbox {
    /// Adds a document, and sends a batch when it is full. Returns the documents of the batch that the server refused.
    ///
    /// # Errors
    ///
    /// When the server does not answer, or refuses a request for a reason other than a document.
    pub async fn send(&mut self, server: &Server, outgoing: Outgoing) -> Result<Vec<Refused>, ClientError> {
        let bytes = outgoing.document.text.len();
        let refused = if self.bytes + bytes > BATCH.1 { self.flush(server).await? } else { Vec::new() };
        self.bytes += bytes;
        self.waiting.push(outgoing);
        if self.waiting.len() >= BATCH.0 { self.flush(server).await } else { Ok(refused) }
    }

    /// Sends all waiting documents. If the server refuses the batch, sends its documents one by one, so that only
    /// invalid documents are left out.
    ///
    /// # Errors
    ///
    /// As [`Self::send`].
    pub async fn flush(&mut self, server: &Server) -> Result<Vec<Refused>, ClientError> {
        self.bytes = 0;
        let (paths, documents): (Vec<_>, Vec<_>) =
            self.waiting.drain(..).map(|outgoing| (outgoing.path, outgoing.document)).unzip();
        if documents.is_empty() {
            return Ok(Vec::new());
        }
        match server.add(&documents).await {
            Ok(()) => return Ok(Vec::new()),
            Err(error) if !error.is_document_error() => return Err(error),
            Err(_) => {}
        }
        let mut refused = Vec::new();
        for (path, document) in paths.into_iter().zip(documents) {
            match server.add(&[document]).await {
                Ok(()) => {}
                Err(reason) if reason.is_document_error() => refused.push(Refused { path, reason }),
                Err(error) => return Err(error),
            }
        }
        Ok(refused)
    }
}
