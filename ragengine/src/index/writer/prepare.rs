use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use ragengine_client::wire::sources::MAX_REVISION_BYTES;
use ragengine_client::wire::{Document, Metadata};
use ragengine_client::{content_hash, default_doc_id};
use sha2::{Digest, Sha256};

use super::{Fate, Mode, slow};
use crate::index::IndexError;
use crate::index::chunking::{Caller, Chunk, ChunkingError, Sizes, SplitType, Stopped, Work, cut};
use crate::index::record::{ChunkRecord, DocumentRecord};
use crate::index::store::{Reader, StoreError};

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
pub fn check_documents(documents: Vec<Document>, limits: Limits, caller: &Caller) -> Result<Vec<Incoming>, IndexError> {
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

/// A chunk and its vector, which is empty until it has been embedded.
pub struct PreparedChunk {
    chunk: Chunk,
    hash: [u8; 32],
    pub(super) vector: Vec<f32>,
}

impl PreparedChunk {
    fn new(chunk: Chunk, vector: Vec<f32>) -> Self {
        Self { hash: Sha256::digest(chunk.embedded_text()).into(), chunk, vector }
    }

    pub(super) fn record(&self, document: u64, ordinal: u32) -> ChunkRecord {
        ChunkRecord {
            document,
            ordinal,
            heading: self.chunk.heading.clone(),
            text: self.chunk.text.clone(),
            hash: self.hash,
        }
    }

    pub(super) fn page(&self) -> Option<u32> {
        self.chunk.page
    }
}

/// A document that is ready to be written, or that needs no writing.
pub struct Prepared {
    pub(super) incoming: Incoming,
    pub(super) fate: Fate,
    pub(super) change: Change,
}

/// A document that was cut and embedded elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// The document.
    pub document: Incoming,
    /// Its chunks in their order, each with a vector of length 1.
    pub chunks: Vec<(Chunk, Vec<f32>)>,
}

impl Embedded {
    /// Checks the vectors, as those of an embedding model are.
    pub(in crate::index) fn prepare(self, dimensions: usize) -> Result<Prepared, IndexError> {
        self.chunks.iter().try_for_each(|(_, vector)| check_vector(vector, dimensions))?;
        let chunks = self.chunks.into_iter().map(|(chunk, vector)| PreparedChunk::new(chunk, vector)).collect();
        Ok(Prepared { incoming: self.document, fate: Fate::Written, change: Change::Everything(chunks) })
    }
}

/// What has to be written of a document.
pub enum Change {
    /// Nothing.
    Nothing,
    /// Its revision: all else is the same already.
    Revision,
    /// All of it, with these chunks.
    Everything(Vec<PreparedChunk>),
}

impl Prepared {
    pub(super) fn is_unchanged(&self) -> bool {
        matches!(self.change, Change::Nothing)
    }

    /// How many chunks are written.
    pub(super) fn chunks(&self) -> usize {
        match &self.change {
            Change::Everything(chunks) => chunks.len(),
            Change::Nothing | Change::Revision => 0,
        }
    }

    fn chunks_mut(&mut self) -> &mut [PreparedChunk] {
        match &mut self.change {
            Change::Everything(chunks) => chunks,
            Change::Nothing | Change::Revision => &mut [],
        }
    }
}

/// Prepared documents of which some chunks still lack a vector.
pub struct Unembedded {
    documents: Vec<Prepared>,
    missing: Vec<([u8; 32], String)>,
}

/// Where vectors of chunks may be that need no embedding.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The index.
    pub reader: &'a Reader,
    /// Another generation of it, made with the same model.
    pub donor: Option<&'a Reader>,
}

impl Known<'_> {
    fn vector(&self, hash: &[u8; 32]) -> Result<Option<Vec<f32>>, StoreError> {
        match (self.reader.vector_by_hash(hash)?, self.donor) {
            (None, Some(donor)) => donor.vector_by_hash(hash),
            (found, _) => Ok(found),
        }
    }
}

/// Finds out what has to be written, cuts it, and takes over the vectors of chunks that are in the index already.
pub fn prepare(
    known: Known<'_>,
    incoming: Vec<Incoming>,
    mode: Mode,
    sizes: Sizes,
    count_tokens: impl Fn(&str) -> usize,
    caller: &Caller,
) -> Result<Unembedded, IndexError> {
    let reader = known.reader;
    let mut documents = Vec::with_capacity(incoming.len());
    let mut missing = Vec::new();
    let mut asked = HashSet::new();
    for incoming in incoming {
        let fate = fate(reader, &incoming, mode)?;
        let change = match fate {
            Fate::Written => Change::Everything(chunks(&incoming, sizes, &count_tokens, caller)?),
            Fate::Unchanged if has_new_revision(reader, &incoming)? => Change::Revision,
            Fate::Unchanged | Fate::NotFound => Change::Nothing,
        };
        let mut prepared = Prepared { incoming, fate, change };
        for chunk in prepared.chunks_mut() {
            match known.vector(&chunk.hash)? {
                Some(vector) => chunk.vector = vector,
                None if asked.insert(chunk.hash) => missing.push((chunk.hash, chunk.chunk.embedded_text())),
                None => {}
            }
        }
        documents.push(prepared);
    }
    Ok(Unembedded { documents, missing })
}

fn fate(reader: &Reader, incoming: &Incoming, mode: Mode) -> Result<Fate, IndexError> {
    Ok(match (reader.document_by_id(&incoming.doc_id)?, mode) {
        (Some(known), _) if incoming.is_what(&known) => Fate::Unchanged,
        (None, Mode::UpdateOnly) => Fate::NotFound,
        _ => Fate::Written,
    })
}

fn has_new_revision(reader: &Reader, incoming: &Incoming) -> Result<bool, IndexError> {
    let Some(number) = reader.number(&incoming.doc_id)? else { return Ok(false) };
    let known = reader.revisions([number])?.pop().flatten();
    Ok(incoming.revision.is_some() && incoming.revision != known)
}

/// The chunks of a document. One that has once been too slow is not cut again.
fn chunks(
    incoming: &Incoming,
    sizes: Sizes,
    count_tokens: &dyn Fn(&str) -> usize,
    caller: &Caller,
) -> Result<Vec<PreparedChunk>, IndexError> {
    let too_slow = |limit: Duration| IndexError::SlowDocument { doc_id: incoming.doc_id.clone(), limit };
    let attempt = slow::Attempt::of(incoming, sizes);
    if let Some(limit) = incoming.cut_within.filter(|_| attempt.was_too_slow()) {
        return Err(too_slow(limit));
    }
    let split = SplitType::of(&incoming.metadata).unwrap_or(SplitType::Prose);
    let work = Work::begin(caller.clone(), incoming.cut_within);
    let chunks = match (cut(&incoming.text, split, sizes, count_tokens, &work), incoming.cut_within) {
        (Err(ChunkingError::Stopped(Stopped::Late)), Some(limit)) => {
            attempt.remember_as_too_slow();
            return Err(too_slow(limit));
        }
        (chunks, _) => chunks?,
    };
    Ok(chunks.into_iter().map(|chunk| PreparedChunk::new(chunk, Vec::new())).collect())
}

fn check_vector(vector: &[f32], dimensions: usize) -> Result<(), IndexError> {
    if vector.len() != dimensions {
        return Err(IndexError::OtherVectors(format!("a vector of {} values, not {dimensions}", vector.len())));
    }
    if vector.iter().any(|value| !value.is_finite()) {
        return Err(IndexError::OtherVectors("a vector that is not finite".to_owned()));
    }
    Ok(())
}

impl Unembedded {
    /// The texts that have no vector yet, each once. They are given away.
    pub fn texts_to_embed(&mut self) -> Vec<String> {
        self.missing.iter_mut().map(|(_, text)| std::mem::take(text)).collect()
    }

    /// Puts in the vectors of [`Self::texts_to_embed`], in their order.
    ///
    /// What is written is checked here once more: a vector of another width on disk could not be searched any more.
    pub fn with_vectors(self, vectors: Vec<Vec<f32>>, dimensions: usize) -> Result<Vec<Prepared>, IndexError> {
        if vectors.len() != self.missing.len() {
            return Err(IndexError::OtherVectors(format!(
                "{} vectors for {} texts",
                vectors.len(),
                self.missing.len()
            )));
        }
        vectors.iter().try_for_each(|vector| check_vector(vector, dimensions))?;
        let by_hash: HashMap<[u8; 32], Vec<f32>> =
            self.missing.into_iter().map(|(hash, _)| hash).zip(vectors).collect();
        let mut documents = self.documents;
        for chunk in documents.iter_mut().flat_map(Prepared::chunks_mut) {
            if let Some(vector) = by_hash.get(&chunk.hash) {
                chunk.vector.clone_from(vector);
            }
        }
        Ok(documents)
    }
}
