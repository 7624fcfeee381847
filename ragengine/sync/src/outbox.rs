//! Documents on their way to the server, several in one request.

use ragengine_client::ClientError;
use ragengine_client::wire::Document;

use crate::server::Server;

/// Documents and bytes in one request: enough that nothing waits for the network, few enough that they are no burden.
const BATCH: (usize, usize) = (64, 1 << 20);

/// A document of a file.
#[derive(Debug)]
pub struct Outgoing {
    /// The path of its file.
    pub path: String,
    /// The document.
    pub document: Document,
}

/// A document that the server did not take.
#[derive(Debug)]
pub struct Refused {
    /// The path of its file.
    pub path: String,
    /// Why, in the server's words.
    pub reason: ClientError,
}

/// Documents that wait to be sent.
#[derive(Debug, Default)]
pub struct Outbox {
    waiting: Vec<Outgoing>,
    bytes: usize,
}

impl Outbox {
    /// Takes a document, and sends what waits when that is enough for a request.
    ///
    /// # Errors
    ///
    /// When the server does not answer, or refuses everything.
    pub async fn send(&mut self, server: &Server, outgoing: Outgoing) -> Result<Vec<Refused>, ClientError> {
        let bytes = outgoing.document.text.len();
        let refused = match self.bytes + bytes > BATCH.1 {
            true => self.flush(server).await?,
            false => Vec::new(),
        };
        self.bytes += bytes;
        self.waiting.push(outgoing);
        match self.waiting.len() >= BATCH.0 {
            true => self.flush(server).await,
            false => Ok(refused),
        }
    }

    /// Sends what waits. When the server refuses it, its documents go one by one, so that only what is wrong is left out.
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
