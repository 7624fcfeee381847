//! Finds out which parts of documents must be written, and splits their texts.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{Incoming, Mode, WriteOutcome, slow};
use crate::IndexError;
use crate::chunking::{Chunk, ChunkingError, Sizes, SplitType, Stopped, Work, cut};
use crate::document_name::DocumentName;
use crate::record::ChunkRecord;
use crate::store::Reader;
use ragengine_compute::Waiter;

/// A chunk and its vector. The vector is empty until the chunk is embedded.
pub struct PreparedChunk {
    chunk: Chunk,
    /// The name of its document, if the model embeds it with each chunk.
    name: Option<Arc<str>>,
    hash: [u8; 32],
    pub(super) vector: Vec<f32>,
}

impl PreparedChunk {
    fn new(chunk: Chunk, name: Option<Arc<str>>, vector: Vec<f32>) -> Self {
        let hash = Sha256::digest(embedded_text(&chunk, name.as_deref())).into();
        Self { chunk, name, hash, vector }
    }

    fn embedded_text(&self) -> String {
        embedded_text(&self.chunk, self.name.as_deref())
    }

    /// The chunk.
    pub fn chunk(&self) -> &Chunk {
        &self.chunk
    }

    /// The hash of its embedded text.
    pub fn hash(&self) -> [u8; 32] {
        self.hash
    }

    /// Its vector, of length 1.
    pub fn vector(&self) -> &[f32] {
        &self.vector
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

/// The text that is embedded for a chunk: the name of its document, the heading, and the text.
fn embedded_text(chunk: &Chunk, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{name}\n{}", chunk.embedded_text()),
        None => chunk.embedded_text(),
    }
}

/// A document that is ready to be written, or that needs no write.
pub struct Prepared {
    /// The document.
    pub incoming: Incoming,
    /// What writing it does.
    pub outcome: WriteOutcome,
    /// What must be written.
    pub change: DocumentChange,
}

/// A document that was split and embedded elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// The document.
    pub document: Incoming,
    /// The chunks in order, each with a vector of length 1.
    pub chunks: Vec<(Chunk, Vec<f32>)>,
}

impl Embedded {
    /// Checks the vectors in the same way as those of the embedding model.
    pub(crate) fn prepare(self, dimensions: usize) -> Result<Prepared, IndexError> {
        self.chunks.iter().try_for_each(|(_, vector)| check_vector(vector, dimensions))?;
        let chunks = self.chunks.into_iter().map(|(chunk, vector)| PreparedChunk::new(chunk, None, vector)).collect();
        Ok(Prepared {
            incoming: self.document,
            outcome: WriteOutcome::Written,
            change: DocumentChange::Everything(chunks),
        })
    }
}

/// The part of a document that must be written.
pub enum DocumentChange {
    /// Nothing.
    Nothing,
    /// Only its revision.
    Revision,
    /// All of it, with these chunks.
    Everything(Vec<PreparedChunk>),
}

impl Prepared {
    pub(super) fn is_unchanged(&self) -> bool {
        matches!(self.change, DocumentChange::Nothing)
    }

    /// The number of chunks to write.
    pub(super) fn chunks(&self) -> usize {
        match &self.change {
            DocumentChange::Everything(chunks) => chunks.len(),
            DocumentChange::Nothing | DocumentChange::Revision => 0,
        }
    }

    fn chunks_mut(&mut self) -> &mut [PreparedChunk] {
        match &mut self.change {
            DocumentChange::Everything(chunks) => chunks,
            DocumentChange::Nothing | DocumentChange::Revision => &mut [],
        }
    }
}

/// Prepared documents. Some of their chunks still lack a vector.
pub struct Unembedded {
    documents: Vec<Prepared>,
    missing: Vec<([u8; 32], String)>,
}

/// A document that is stored, as far as writers compare with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDocument {
    /// The hash of its text and metadata.
    pub content_hash: String,
    /// The name of the source it comes from.
    pub source: Option<String>,
    /// The revision that its source reported.
    pub revision: Option<String>,
}

/// What is stored already.
pub trait Known {
    /// A document. None if there is none of this id.
    fn document(&self, doc_id: &str) -> Result<Option<KnownDocument>, IndexError>;

    /// The vector of a chunk, by the hash of its embedded text. None if it is not known.
    fn vector(&self, hash: &[u8; 32]) -> Result<Option<Vec<f32>>, IndexError>;
}

/// The stores that may have a chunk's vector already.
#[derive(Clone, Copy)]
pub(super) struct KnownVectors<'a> {
    /// The store of the index.
    pub reader: &'a Reader,
    /// The store of another generation, made with the same model.
    pub donor: Option<&'a Reader>,
}

impl Known for KnownVectors<'_> {
    fn document(&self, doc_id: &str) -> Result<Option<KnownDocument>, IndexError> {
        let Some(number) = self.reader.number(doc_id)? else { return Ok(None) };
        let Some(record) = self.reader.document(number)? else { return Ok(None) };
        let revision = self.reader.revisions([number])?.pop().flatten();
        Ok(Some(KnownDocument { content_hash: record.content_hash, source: record.source, revision }))
    }

    fn vector(&self, hash: &[u8; 32]) -> Result<Option<Vec<f32>>, IndexError> {
        match (self.reader.vector_by_hash(hash)?, self.donor) {
            (None, Some(donor)) => Ok(donor.vector_by_hash(hash)?),
            (found, _) => Ok(found),
        }
    }
}

/// The documents of an index whose vectors are asked for later, see [`Unembedded::hashes`].
impl Known for HashMap<String, KnownDocument> {
    fn document(&self, doc_id: &str) -> Result<Option<KnownDocument>, IndexError> {
        Ok(self.get(doc_id).cloned())
    }

    fn vector(&self, _hash: &[u8; 32]) -> Result<Option<Vec<f32>>, IndexError> {
        Ok(None)
    }
}

/// How documents are split.
#[derive(Clone, Copy)]
pub struct Cutting<'a> {
    /// The sizes of chunks.
    pub sizes: Sizes,
    /// Whether a chunk is embedded with the name of its document.
    pub has_document_names: bool,
    /// Counts the tokens of a text.
    pub count_tokens: &'a dyn Fn(&str) -> usize,
    /// The client that waits. Splitting stops when it disconnects.
    pub caller: &'a Waiter,
}

/// Finds out what must be written, splits it, and reuses the vectors of chunks that are in the index already.
///
/// # Errors
///
/// If a text cannot be split, or the store fails.
pub fn prepare(
    known: &impl Known,
    incoming: Vec<Incoming>,
    mode: Mode,
    cutting: Cutting<'_>,
) -> Result<Unembedded, IndexError> {
    let mut documents = Vec::with_capacity(incoming.len());
    let mut missing = Vec::new();
    let mut asked = HashSet::new();
    for incoming in incoming {
        let stored = known.document(&incoming.doc_id)?;
        let outcome = outcome(stored.as_ref(), &incoming, mode);
        let change = match outcome {
            WriteOutcome::Written => DocumentChange::Everything(chunks(&incoming, cutting)?),
            WriteOutcome::Unchanged if has_new_revision(stored.as_ref(), &incoming) => DocumentChange::Revision,
            WriteOutcome::Unchanged | WriteOutcome::NotFound => DocumentChange::Nothing,
        };
        let mut prepared = Prepared { incoming, outcome, change };
        for chunk in prepared.chunks_mut() {
            match known.vector(&chunk.hash)? {
                Some(vector) => chunk.vector = vector,
                None if asked.insert(chunk.hash) => missing.push((chunk.hash, chunk.embedded_text())),
                None => {}
            }
        }
        documents.push(prepared);
    }
    Ok(Unembedded { documents, missing })
}

fn outcome(known: Option<&KnownDocument>, incoming: &Incoming, mode: Mode) -> WriteOutcome {
    match (known, mode) {
        (Some(known), _) if incoming.is_what(&known.content_hash, known.source.as_deref()) => WriteOutcome::Unchanged,
        (None, Mode::UpdateOnly) => WriteOutcome::NotFound,
        _ => WriteOutcome::Written,
    }
}

fn has_new_revision(known: Option<&KnownDocument>, incoming: &Incoming) -> bool {
    known.is_some_and(|known| incoming.revision.is_some() && incoming.revision != known.revision)
}

/// Splits a document into chunks. A document that exceeded its time limit before is rejected immediately.
fn chunks(incoming: &Incoming, cutting: Cutting<'_>) -> Result<Vec<PreparedChunk>, IndexError> {
    let Cutting { sizes, has_document_names, count_tokens, caller } = cutting;
    let too_slow = |limit: Duration| IndexError::SlowDocument { doc_id: incoming.doc_id.clone(), limit };
    let attempt = slow::Attempt::of(incoming, sizes);
    if let Some(limit) = incoming.cut_within.filter(|_| attempt.was_too_slow()) {
        return Err(too_slow(limit));
    }
    let longest = sizes.max_passage_tokens;
    let name = has_document_names.then(|| DocumentName::of(&incoming.metadata, longest, count_tokens)).flatten();
    let sizes = sizes.beside(name.as_ref().map_or(0, |name| name.tokens));
    let name: Option<Arc<str>> = name.map(|name| name.text.into());
    // With the name, a text may have a few tokens more than the sum of both.
    let name_of =
        |chunk: &Chunk| name.clone().filter(|name| count_tokens(&embedded_text(chunk, Some(name))) <= longest);
    let split = SplitType::of(&incoming.metadata).unwrap_or(SplitType::Prose);
    let work = Work::begin(caller.clone(), incoming.cut_within);
    let chunks = match (cut(&incoming.text, split, sizes, count_tokens, &work), incoming.cut_within) {
        (Err(ChunkingError::Stopped(Stopped::Late)), Some(limit)) => {
            attempt.remember_as_too_slow();
            return Err(too_slow(limit));
        }
        (chunks, _) => chunks?,
    };
    let prepared = |chunk: Chunk| {
        let name = name_of(&chunk);
        PreparedChunk::new(chunk, name, Vec::new())
    };
    Ok(chunks.into_iter().map(prepared).collect())
}

fn check_vector(vector: &[f32], dimensions: usize) -> Result<(), IndexError> {
    if vector.len() != dimensions {
        return Err(IndexError::OtherVectors(format!("a vector of {} values instead of {dimensions}", vector.len())));
    }
    if vector.iter().any(|value| !value.is_finite()) {
        return Err(IndexError::OtherVectors("a vector with values that are not finite".to_owned()));
    }
    Ok(())
}

impl Unembedded {
    /// The hashes of the texts without a vector.
    pub fn hashes(&self) -> impl Iterator<Item = &[u8; 32]> {
        self.missing.iter().map(|(hash, _)| hash)
    }

    /// Sets vectors that are known, by the hash of the embedded text. These texts need not be embedded any more.
    ///
    /// # Errors
    ///
    /// [`IndexError::OtherVectors`] if a vector does not fit the index.
    pub fn fill(&mut self, known: &HashMap<[u8; 32], Vec<f32>>, dimensions: usize) -> Result<(), IndexError> {
        known.values().try_for_each(|vector| check_vector(vector, dimensions))?;
        for chunk in self.documents.iter_mut().flat_map(Prepared::chunks_mut) {
            if let Some(vector) = known.get(&chunk.hash) {
                chunk.vector.clone_from(vector);
            }
        }
        self.missing.retain(|(hash, _)| !known.contains_key(hash));
        Ok(())
    }

    /// Takes the texts without a vector, each once.
    pub fn texts_to_embed(&mut self) -> Vec<String> {
        self.missing.iter_mut().map(|(_, text)| std::mem::take(text)).collect()
    }

    /// Sets the vectors of [`Self::texts_to_embed`], in the same order.
    ///
    /// The vectors are checked here, because a vector of the wrong width on disk would make the index unsearchable.
    ///
    /// # Errors
    ///
    /// [`IndexError::OtherVectors`] if a vector does not fit the index.
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
