//! Checks the documents of a request, and assigns ids to those without one.

use std::sync::Arc;
use std::time::Duration;

use ragengine_client::wire::sources::MAX_REVISION_BYTES;
use ragengine_client::wire::{Document, Metadata};
use ragengine_client::{content_hash, default_doc_id};
use ragengine_compute::Waiter;

use crate::IndexError;
use crate::chunking::SplitType;

const MAX_ID_BYTES: usize = 512;

/// Limits on documents.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most documents in one request.
    pub max_documents: usize,
    /// The longest text of a document, in bytes.
    pub max_document_bytes: usize,
    /// The longest metadata of a document, as JSON, in bytes.
    pub max_metadata_bytes: usize,
    /// The limit on the processor time for splitting a document of `max_document_bytes`.
    pub cut_timeout: Duration,
}

/// The least processor time for splitting a document, however short: the machine may be slow.
const MIN_CUT_TIMEOUT: Duration = Duration::from_secs(2);

impl Limits {
    /// The time limit for a document of this size: its share of the limit for the longest one.
    fn cut_within(&self, bytes: usize) -> Duration {
        let part = bytes as f64 / self.max_document_bytes.max(1) as f64;
        self.cut_timeout.mul_f64(part.min(1.0)).max(MIN_CUT_TIMEOUT).min(self.cut_timeout)
    }
}

/// A checked document with an id. Cheap to clone.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    /// The document's id.
    pub doc_id: String,
    /// The text.
    pub text: Arc<str>,
    /// The metadata.
    pub metadata: Arc<Metadata>,
    /// The name of the source it comes from.
    pub source: Option<String>,
    /// The hash of its text and metadata.
    pub content_hash: String,
    /// The revision that its source reported.
    pub revision: Option<String>,
    /// The limit on the processor time for splitting it. None: unlimited.
    pub cut_within: Option<Duration>,
}

impl Incoming {
    /// Whether it equals an existing document, except for the revision.
    pub(super) fn is_what(&self, content_hash: &str, source: Option<&str>) -> bool {
        self.content_hash == content_hash && self.source.as_deref() == source
    }
}

/// Checks documents, and assigns ids to those without one. Computes hashes, so it needs processor time.
///
/// # Errors
///
/// [`IndexError::Document`] for the first invalid document, [`IndexError::ShuttingDown`] if the client has
/// disconnected.
pub fn check_documents(documents: Vec<Document>, limits: Limits, caller: &Waiter) -> Result<Vec<Incoming>, IndexError> {
    if documents.len() > limits.max_documents {
        let reason = format!("the request has more than {} documents: split it", limits.max_documents);
        return Err(IndexError::Document { position: limits.max_documents, reason });
    }
    documents
        .into_iter()
        .enumerate()
        .map(|(position, document)| {
            if caller.has_left() {
                return Err(IndexError::ShuttingDown);
            }
            check(document, limits).map_err(|reason| IndexError::Document { position, reason })
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
        "" => Err(format!("its {name} is empty: omit it or set a value")),
        long if long.len() > max_bytes => Err(format!("its {name} is longer than {max_bytes} bytes")),
        odd if odd.chars().any(char::is_control) => Err(format!("its {name} has control characters")),
        _ => Ok(()),
    }
}
