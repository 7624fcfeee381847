//! The state that readers see: a snapshot of the store, and everything in memory that is derived from it.
//!
//! Readers hold the lock only to copy a few pointers. Writers prepare their changes first and hold the lock only to
//! apply them.

mod document_rows;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use document_rows::DocumentRows;
use ragengine_client::wire::Metadata;
use ragengine_pipeline::filter::Filter;
use roaring::RoaringTreemap;

use super::filter::{Candidates, MetadataIndex};
use super::full_text::TextSet;
use super::record::{DocumentRecord, IndexRecord};
use super::store::Reader;
use super::vectors::{Addition, VectorSet};
use super::{IndexError, IndexSize};

/// One document that was written or deleted.
pub struct Changed {
    /// The number of the document.
    pub number: u64,
    /// The previous record. None if the document is new.
    pub before: Option<DocumentRecord>,
    /// The new record, and the concatenated vectors of its chunks. None if the document was deleted.
    pub after: Option<(DocumentRecord, Vec<f32>)>,
}

/// Changes that are ready to be applied to the view.
pub struct ViewChange {
    documents: Vec<PreparedChange>,
    vectors: Option<Addition>,
    reader: Arc<Reader>,
}

struct PreparedChange {
    number: u64,
    before: Option<Shown>,
    after: Option<Shown>,
}

/// The properties of a document that the view has.
struct Shown {
    rows: Range<u64>,
    source: Option<String>,
    text_bytes: u64,
    metadata: Metadata,
}

impl From<&DocumentRecord> for Shown {
    fn from(document: &DocumentRecord) -> Self {
        Self {
            rows: document.rows(),
            source: document.source.clone(),
            text_bytes: document.text_bytes,
            metadata: document.metadata(),
        }
    }
}

/// The documents of a source, and their sizes.
#[derive(Default)]
struct SourceView {
    numbers: RoaringTreemap,
    chunks: u64,
    text_bytes: u64,
}

/// The documents that match a filter, at one moment.
pub struct Matching {
    candidates: Candidates,
    rows: Arc<DocumentRows>,
}

impl Matching {
    /// The rows of the documents, in order.
    pub fn rows(&self) -> Vec<Range<u64>> {
        self.rows.of(&self.candidates.matching())
    }

    /// A page of the documents' numbers, in order of creation, and how many documents there are.
    pub fn page(&self, offset: usize, limit: usize) -> (Vec<u64>, usize) {
        page_of(&self.candidates.matching(), offset, limit)
    }
}

/// The state behind an index's lock.
pub struct View {
    reader: Arc<Reader>,
    rows: Arc<DocumentRows>,
    metadata: MetadataIndex,
    sources: HashMap<String, SourceView>,
    vectors: VectorSet,
    text: TextSet,
    text_bytes: u64,
    /// See [`Self::changes`].
    changes: u64,
}

impl View {
    /// Builds everything from a store except the vectors and the full text, whose rows are all pending.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn of_documents(reader: Arc<Reader>, record: &IndexRecord) -> Result<Self, IndexError> {
        let mut view = Self {
            reader: Arc::clone(&reader),
            rows: Arc::default(),
            metadata: MetadataIndex::default(),
            sources: HashMap::new(),
            vectors: VectorSet::new(record.vector_index, record.dimensions),
            text: TextSet::default(),
            text_bytes: 0,
            changes: 0,
        };
        reader.each_document(|number, document| view.insert(number, Shown::from(&document)))?;
        Ok(view)
    }

    /// The rows of all documents, in order.
    pub fn rows(&self) -> Vec<Range<u64>> {
        self.rows.all()
    }

    /// The snapshot of the store that this view was derived from.
    pub fn reader(&self) -> &Arc<Reader> {
        &self.reader
    }

    /// The vectors of all documents.
    pub fn vectors(&self) -> &VectorSet {
        &self.vectors
    }

    /// The vectors, for a rebuild.
    pub fn vectors_mut(&mut self) -> &mut VectorSet {
        self.changes += 1;
        &mut self.vectors
    }

    /// The full text of all documents.
    pub fn text(&self) -> &TextSet {
        &self.text
    }

    /// The full text, for analysing chunks and merging segments.
    pub fn text_mut(&mut self) -> &mut TextSet {
        &mut self.text
    }

    /// The number of changes so far. While it is the same, so are the documents and the parts of the vectors.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The size of the index.
    pub fn size(&self) -> IndexSize {
        IndexSize {
            documents: self.rows.len() as u64,
            chunks: self.vectors.alive() as u64,
            text_bytes: self.text_bytes,
        }
    }

    /// Prepares changes, with the snapshot of the store that includes them. Only one writer may prepare changes at a
    /// time.
    ///
    /// # Errors
    ///
    /// If FAISS rejects a vector. Vectors are checked before they are stored, so this is unexpected.
    pub fn prepare(vectors: &VectorSet, changed: &[Changed], reader: Arc<Reader>) -> Result<ViewChange, IndexError> {
        let (mut added, mut rows) = (Vec::new(), Vec::new());
        let mut documents = Vec::with_capacity(changed.len());
        for Changed { number, before, after } in changed {
            if let Some((document, vectors)) = after {
                rows.extend(document.rows());
                added.extend_from_slice(vectors);
            }
            let after = after.as_ref().map(|(document, _)| Shown::from(document));
            documents.push(PreparedChange { number: *number, before: before.as_ref().map(Shown::from), after });
        }
        let vectors = (!rows.is_empty()).then(|| vectors.prepare(&rows, &added)).transpose()?;
        Ok(ViewChange { documents, vectors, reader })
    }

    /// Applies prepared changes.
    pub fn show(&mut self, change: ViewChange) {
        self.changes += 1;
        self.reader = change.reader;
        // Vectors are added first, because a document may be written and deleted by the same changes.
        change.vectors.into_iter().for_each(|addition| self.vectors.add(addition));
        for PreparedChange { number, before, after } in change.documents {
            before.into_iter().for_each(|before| self.remove(number, &before));
            after.into_iter().for_each(|after| self.insert(number, after));
        }
    }

    /// The documents that match a filter. None for an empty filter, which every document matches.
    pub fn matching(&self, filter: &Filter) -> Option<Matching> {
        (!filter.is_empty())
            .then(|| Matching { candidates: self.metadata.candidates(filter), rows: Arc::clone(&self.rows) })
    }

    /// A page of the numbers of all documents, in order of creation, and how many documents there are.
    pub fn page(&self, offset: usize, limit: usize) -> (Vec<u64>, usize) {
        (self.rows.page(offset, limit), self.rows.len())
    }

    /// The same for the documents of a source.
    pub fn page_of_source(&self, source: &str, offset: usize, limit: usize) -> (Vec<u64>, usize) {
        self.sources.get(source).map_or((Vec::new(), 0), |source| page_of(&source.numbers, offset, limit))
    }

    /// The sources that have documents.
    pub fn source_names(&self) -> BTreeSet<String> {
        self.sources.keys().cloned().collect()
    }

    /// The numbers of a source's documents, in order of creation.
    pub fn numbers_of_source(&self, source: &str) -> Vec<u64> {
        self.sources.get(source).map_or_else(Vec::new, |source| source.numbers.iter().collect())
    }

    /// The size of a source.
    pub fn source_size(&self, source: &str) -> IndexSize {
        self.sources.get(source).map_or_else(IndexSize::default, |source| IndexSize {
            documents: source.numbers.len(),
            chunks: source.chunks,
            text_bytes: source.text_bytes,
        })
    }

    fn insert(&mut self, number: u64, document: Shown) {
        let chunks = document.rows.end - document.rows.start;
        self.metadata.insert(number, &document.metadata);
        if let Some(source) = document.source {
            let source = self.sources.entry(source).or_default();
            source.numbers.insert(number);
            source.chunks += chunks;
            source.text_bytes += document.text_bytes;
        }
        self.text_bytes += document.text_bytes;
        self.text.add(document.rows.clone());
        Arc::make_mut(&mut self.rows).insert(number, document.rows);
    }

    fn remove(&mut self, number: u64, document: &Shown) {
        Arc::make_mut(&mut self.rows).remove(number);
        self.metadata.remove(number, &document.metadata);
        if let Some(name) = &document.source
            && let Some(source) = self.sources.get_mut(name)
        {
            source.numbers.remove(number);
            source.chunks -= document.rows.end - document.rows.start;
            source.text_bytes -= document.text_bytes;
            if source.numbers.is_empty() {
                self.sources.remove(name);
            }
        }
        self.vectors.remove(&document.rows);
        self.text.remove(&document.rows);
        self.text_bytes -= document.text_bytes;
    }
}

fn page_of(numbers: &RoaringTreemap, offset: usize, limit: usize) -> (Vec<u64>, usize) {
    let page = numbers.iter().skip(offset).take(limit).collect();
    (page, usize::try_from(numbers.len()).unwrap_or(usize::MAX))
}
