//! What readers see of an index: the store's latest snapshot, and everything in memory that was derived from it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use ragengine_client::wire::Metadata;
use roaring::RoaringTreemap;

use super::filter::{Filter, MetadataIndex};
use super::record::{DocumentRecord, IndexRecord};
use super::store::Reader;
use super::vectors::VectorSet;
use super::{IndexError, IndexSize};

/// Vectors handed to FAISS at once when an index is loaded.
const LOAD_BATCH: usize = 4096;

/// One document that was written: what it replaces, what it is now, and its vectors.
pub struct Written {
    /// Its number.
    pub number: u64,
    /// What it was.
    pub before: Option<DocumentRecord>,
    /// What it is.
    pub after: DocumentRecord,
    /// The vectors of its chunks, one after the other.
    pub vectors: Vec<f32>,
}

/// What an index has of a source.
#[derive(Default)]
struct SourceView {
    numbers: RoaringTreemap,
    chunks: u64,
    text_bytes: u64,
}

/// The state behind an index's lock.
pub struct View {
    reader: Arc<Reader>,
    /// The rows of each document, by its number, which is the order in which documents were added.
    rows: BTreeMap<u64, Range<u64>>,
    metadata: MetadataIndex,
    sources: HashMap<String, SourceView>,
    vectors: VectorSet,
    text_bytes: u64,
}

impl View {
    /// Derives everything from a store.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn load(reader: Arc<Reader>, record: &IndexRecord) -> Result<Self, IndexError> {
        let mut view = Self {
            reader: Arc::clone(&reader),
            rows: BTreeMap::new(),
            metadata: MetadataIndex::default(),
            sources: HashMap::new(),
            vectors: VectorSet::new(record.vector_index, record.dimensions)?,
            text_bytes: 0,
        };
        reader.each_document(|number, document| view.insert(number, &document, &document.metadata()))?;
        let mut rows = Vec::with_capacity(LOAD_BATCH);
        let mut vectors = Vec::with_capacity(LOAD_BATCH * record.dimensions);
        reader.each_vector(|row, vector| {
            rows.push(row);
            vectors.extend_from_slice(vector);
            if rows.len() == LOAD_BATCH {
                view.vectors.add(&rows, &vectors)?;
                rows.clear();
                vectors.clear();
            }
            Ok::<(), IndexError>(())
        })?;
        view.vectors.add(&rows, &vectors)?;
        Ok(view)
    }

    /// The store's snapshot that this view was derived from.
    pub fn reader(&self) -> &Arc<Reader> {
        &self.reader
    }

    /// The vectors.
    pub fn vectors(&self) -> &VectorSet {
        &self.vectors
    }

    /// The vectors, for a rebuild.
    pub fn vectors_mut(&mut self) -> &mut VectorSet {
        &mut self.vectors
    }

    /// Sizes.
    pub fn size(&self) -> IndexSize {
        IndexSize {
            documents: self.rows.len() as u64,
            chunks: self.vectors.alive() as u64,
            text_bytes: self.text_bytes,
        }
    }

    /// Shows documents that have been written, and the snapshot that has them.
    ///
    /// # Errors
    ///
    /// When FAISS refuses a vector. All vectors are checked before they are stored, so this does not happen to good ones.
    pub fn apply_writes(&mut self, written: &[Written], reader: Arc<Reader>) -> Result<(), IndexError> {
        self.reader = reader;
        for document in written {
            if let Some(before) = &document.before {
                self.remove(document.number, before);
            }
            self.insert(document.number, &document.after, &document.after.metadata());
            self.vectors.add(&document.after.rows().collect::<Vec<_>>(), &document.vectors)?;
        }
        Ok(())
    }

    /// Hides documents that have been deleted.
    pub fn apply_deletes(&mut self, deleted: &[(u64, DocumentRecord)], reader: Arc<Reader>) {
        self.reader = reader;
        for (number, document) in deleted {
            self.remove(*number, document);
        }
    }

    /// The rows of the documents that pass a filter, in order. None when every document does.
    pub fn rows_matching(&self, filter: &Filter) -> Option<Vec<Range<u64>>> {
        if filter.is_empty() {
            return None;
        }
        let numbers = self.metadata.matching(filter);
        Some(numbers.iter().filter_map(|number| self.rows.get(&number).cloned()).collect())
    }

    /// A page of the numbers of the documents that pass a filter, in the order in which they were added, and how many there are.
    pub fn page(&self, filter: &Filter, offset: usize, limit: usize) -> (Vec<u64>, usize) {
        if filter.is_empty() {
            return (self.rows.keys().skip(offset).take(limit).copied().collect(), self.rows.len());
        }
        page_of(&self.metadata.matching(filter), offset, limit)
    }

    /// The same for the documents of a source.
    pub fn page_of_source(&self, source: &str, offset: usize, limit: usize) -> (Vec<u64>, usize) {
        self.sources.get(source).map_or((Vec::new(), 0), |source| page_of(&source.numbers, offset, limit))
    }

    /// The sources that have documents.
    pub fn source_names(&self) -> BTreeSet<String> {
        self.sources.keys().cloned().collect()
    }

    /// The numbers of a source's documents, in the order in which they were added.
    pub fn numbers_of_source(&self, source: &str) -> Vec<u64> {
        self.sources.get(source).map_or_else(Vec::new, |source| source.numbers.iter().collect())
    }

    /// Sizes of a source.
    pub fn source_size(&self, source: &str) -> IndexSize {
        self.sources.get(source).map_or_else(IndexSize::default, |source| IndexSize {
            documents: source.numbers.len(),
            chunks: source.chunks,
            text_bytes: source.text_bytes,
        })
    }

    fn insert(&mut self, number: u64, document: &DocumentRecord, metadata: &Metadata) {
        self.rows.insert(number, document.rows());
        self.metadata.insert(number, metadata);
        if let Some(source) = &document.source {
            let source = self.sources.entry(source.clone()).or_default();
            source.numbers.insert(number);
            source.chunks += u64::from(document.chunks);
            source.text_bytes += document.text_bytes;
        }
        self.text_bytes += document.text_bytes;
    }

    fn remove(&mut self, number: u64, document: &DocumentRecord) {
        self.rows.remove(&number);
        self.metadata.remove(number, &document.metadata());
        if let Some(name) = &document.source
            && let Some(source) = self.sources.get_mut(name)
        {
            source.numbers.remove(number);
            source.chunks -= u64::from(document.chunks);
            source.text_bytes -= document.text_bytes;
            if source.numbers.is_empty() {
                self.sources.remove(name);
            }
        }
        self.vectors.remove(&document.rows());
        self.text_bytes -= document.text_bytes;
    }
}

fn page_of(numbers: &RoaringTreemap, offset: usize, limit: usize) -> (Vec<u64>, usize) {
    let page = numbers.iter().skip(offset).take(limit).collect();
    (page, usize::try_from(numbers.len()).unwrap_or(usize::MAX))
}
