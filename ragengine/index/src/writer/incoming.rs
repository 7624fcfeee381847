//! Documents as they were sent: checked, and given an id where they have none.

use std::sync::Arc;
use std::time::Duration;

use ragengine_client::wire::sources::MAX_REVISION_BYTES;
use ragengine_client::wire::{Document, Metadata};
use ragengine_client::{content_hash, default_doc_id};
use ragengine_compute::Waiter;

use crate::IndexError;
use crate::chunking::SplitType;
use crate::record::DocumentRecord;

const MAX_ID_BYTES: usize = 512;

/// Bounds on documents.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Documents in one request.
    pub max_documents: usize,
    /// Bytes of a document's text.
    pub max_document_bytes: usize,
    /// Bytes of a document's metadata, as JSON.
    pub max_metadata_bytes: usize,
    /// How long cutting a document of `max_document_bytes` may take.
    pub cut_timeout: Duration,
}

/// However short a document is, it may take so long to be cut: the machine may be busy.
const MIN_CUT_TIMEOUT: Duration = Duration::from_secs(2);

impl Limits {
    /// How long cutting a document may take: its part of the time of the longest one.
    fn cut_within(&self, bytes: usize) -> Duration {
        let part = bytes as f64 / self.max_document_bytes.max(1) as f64;
        self.cut_timeout.mul_f64(part.min(1.0)).max(MIN_CUT_TIMEOUT).min(self.cut_timeout)
    }
}

/// A document that has been checked and has an id. Cheap to clone.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    /// Its id.
    pub doc_id: String,
    /// Its text.
    pub text: Arc<str>,
    /// Its metadata.
    pub metadata: Arc<Metadata>,
    /// Where it comes from.
    pub source: Option<String>,
    /// The hash over its text and metadata.
    pub content_hash: String,
    /// What its source calls this state of it.
    pub revision: Option<String>,
    /// How long cutting it may take. None: as long as it takes.
    pub cut_within: Option<Duration>,
}

impl Incoming {
    /// Whether the document that is there is the same, its revision aside.
    pub(super) fn is_what(&self, known: &DocumentRecord) -> bool {
        self.content_hash == known.content_hash && self.source == known.source
    }
}

/// Checks documents as they were sent, and gives an id to those that have none. It computes hashes.
///
/// # Errors
///
/// [`IndexError::Document`] for the first that cannot be stored, [`IndexError::ShuttingDown`] when the caller has left.
pub fn check_documents(documents: Vec<Document>, limits: Limits, caller: &Waiter) -> Result<Vec<Incoming>, IndexError> {
    if documents.len() > limits.max_documents {
        let reason = format!("there are more than {} in the request: send them in parts", limits.max_documents);
        return Err(IndexError::Document { position: limits.max_documents, reason });
    }
    documents
        .into_iter()
        .enumerate()
        .map(|(position, document)| match caller.has_left() {
            true => Err(IndexError::ShuttingDown),
            false => check(document, limits).map_err(|reason| IndexError::Document { position, reason }),
        })
        .collect()
}

fn check(document: Document, limits: Limits) -> Result<Incoming, String> {
    if document.text.trim().is_empty() {
        return Err("its text is empty".to_owned());
    }
    if document.text.len() > limits.max_document_bytes {
        let bytes = document.text.len();
        return Err(format!(
            "its text has {bytes} bytes, which is more than {}: split it, or raise limits.maxDocumentBytes",
            limits.max_document_bytes
        ));
    }
    let doc_id = document.doc_id.filter(|doc_id| !doc_id.is_empty()).unwrap_or_else(|| default_doc_id(&document.text));
    check_label("doc_id", &doc_id, MAX_ID_BYTES)?;
    if let Some(source) = &document.source {
        check_label("source", source, MAX_ID_BYTES)?;
    }
    if let Some(revision) = &document.revision {
        check_label("revision", revision, MAX_REVISION_BYTES)?;
    }
    let metadata_bytes = serde_json::to_string(&document.metadata).map_or(0, |json| json.len());
    if metadata_bytes > limits.max_metadata_bytes {
        return Err(format!(
            "its metadata has {metadata_bytes} bytes, which is more than {}",
            limits.max_metadata_bytes
        ));
    }
    SplitType::of(&document.metadata)?;
    let content_hash = content_hash(&document.text, &document.metadata);
    let cut_within = Some(limits.cut_within(document.text.len()));
    Ok(Incoming {
        doc_id,
        text: document.text.into(),
        metadata: Arc::new(document.metadata),
        source: document.source,
        content_hash,
        revision: document.revision,
        cut_within,
    })
}

fn check_label(name: &str, value: &str, max_bytes: usize) -> Result<(), String> {
    match value {
        "" => Err(format!("its {name} is empty: leave it out, or give it one")),
        long if long.len() > max_bytes => Err(format!("its {name} is longer than {max_bytes} bytes")),
        odd if odd.chars().any(char::is_control) => Err(format!("its {name} has control characters")),
        _ => Ok(()),
    }
}
