//! One contract, several engines.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ragengine_client::wire::{ChunkPlace as WirePlace, Metadata};
use ragengine_embedding::Windows;
use ragengine_index::chunking;
use ragengine_index::listing::{Page as FaissPage, TextLength};
use ragengine_index::metrics::IndexMetrics;
use ragengine_index::record::IndexRecord;
use ragengine_index::search::{ByWords, Fusion, Query};
use ragengine_index::writer::{Embedded, Incoming};
use ragengine_index::{Analyzer, Index as FaissIndex, SearchSettings, TextKind};
use ragengine_pipeline::filter::Filter;
use ragengine_settings::{TextLanguage, VectorIndexKind};
use ragengine_vector_database::{
    Chunk, ChunkPlace, Database, DenseSearch, Document, Hit, Index, IndexShape, Selection, VectorIndex, WordSearch,
};
use serde_json::{Map, Value};
use tempfile::TempDir;

use crate::corpus::{TestChunk, TestDocument, WIDTH};

/// Small, so that lists have several pages.
const PAGE: usize = 7;

/// An index with one of the engines.
pub enum Engine {
    /// FAISS and tantivy, in a temporary folder.
    Faiss { index: Arc<FaissIndex>, _folder: TempDir },
    /// A vector database.
    External(Box<Index>),
}

/// A document in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub doc_id: String,
    pub metadata: Map<String, Value>,
    pub source: Option<String>,
}

/// A document with its text and the places of its chunks.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    pub text: String,
    pub metadata: Map<String, Value>,
    pub source: Option<String>,
    pub places: Vec<Place>,
}

/// The place of a chunk: its beginning, end, heading and page.
pub type Place = (Option<usize>, Option<usize>, Option<String>, Option<u32>);

/// A chunk that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Near {
    pub doc_id: String,
    pub ordinal: u32,
    pub text: String,
    pub distance: f32,
}

/// The namespace of a test. The server that `QDRANT_URL` names goes on, so each test has another one there.
pub fn namespace() -> &'static str {
    static NAMESPACE: LazyLock<String> = LazyLock::new(|| match std::env::var_os("QDRANT_URL") {
        Some(_) => format!("tests {:x}", fastrand::u64(..)),
        None => "tests".to_owned(),
    });
    &NAMESPACE
}

impl Engine {
    /// An empty index with FAISS.
    pub fn faiss(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let record = IndexRecord {
            model: "m".into(),
            embedding_fingerprint: "f".into(),
            dimensions: WIDTH,
            max_tokens: 100,
            overlap_tokens: 10,
            vector_index: VectorIndexKind::Flat,
        };
        let language = TextLanguage::English;
        let search = SearchSettings { exact_below_rows: 1000, ef_search: 100, n_probe: None, language };
        let mut builder = ragengine_metrics::Builder::new(Duration::from_secs(1)).unwrap();
        let metrics = IndexMetrics::new(&mut builder).unwrap();
        let index = FaissIndex::create(name, &folder.path().join("index"), record, search, &metrics).unwrap();
        Self::Faiss { index, _folder: folder }
    }

    /// An empty index in a vector database.
    pub async fn external(database: Database, name: &str, replicas: u32) -> Self {
        let vector_index = VectorIndex::Hnsw { max_connections: 32, ef_construction: 128, ef: None };
        let shape = IndexShape { vector_index, dimensions: WIDTH, replicas, shards: 1 };
        Self::External(Box::new(Index::create(database, namespace(), name, &shape).await.unwrap()))
    }

    pub async fn put(&self, documents: &[TestDocument]) {
        match self {
            Self::Faiss { index, .. } => index.put_vectors(documents.iter().map(embedded).collect()).unwrap(),
            Self::External(index) => index.put(&documents.iter().map(document).collect::<Vec<_>>()).await.unwrap(),
        }
    }

    pub async fn delete(&self, doc_ids: &[&str]) -> Vec<bool> {
        let doc_ids: Vec<String> = doc_ids.iter().map(|&doc_id| doc_id.to_owned()).collect();
        match self {
            Self::Faiss { index, .. } => index.delete(doc_ids).await.unwrap(),
            Self::External(index) => index.delete(&doc_ids).await.unwrap(),
        }
    }

    pub async fn delete_source(&self, source: &str) -> u64 {
        match self {
            Self::Faiss { index, .. } => {
                let (index, source) = (Arc::clone(index), source.to_owned());
                tokio::task::spawn_blocking(move || index.delete_source(&source).unwrap()).await.unwrap()
            }
            Self::External(index) => index.delete_source(source).await.unwrap(),
        }
    }

    /// All documents that match, in the order of lists.
    pub async fn list(&self, filter: &Value) -> Vec<Listed> {
        let filter = filter_of(filter);
        let mut documents = Vec::new();
        match self {
            Self::Faiss { index, .. } => loop {
                let page = FaissPage { limit: PAGE, offset: documents.len() };
                let list = index.list(&filter, &page, TextLength { each: 0, together: 0 }).unwrap();
                documents.extend(list.documents.into_iter().map(|document| Listed {
                    doc_id: document.doc_id,
                    metadata: document.metadata,
                    source: document.source,
                }));
                if list.count < PAGE {
                    assert_eq!(list.total_items, documents.len());
                    return documents;
                }
            },
            Self::External(index) => {
                for record in all(index, Selection::Filter(&filter)).await {
                    let (doc_id, metadata, source) = (record.doc_id, record.metadata, record.source);
                    documents.push(Listed { doc_id, metadata, source });
                }
                let size = index.size(Selection::Filter(&filter)).await.unwrap();
                assert_eq!(size.documents, documents.len() as u64);
                documents
            }
        }
    }

    /// The ids of all documents that match.
    pub async fn ids(&self, filter: &Value) -> BTreeSet<String> {
        self.list(filter).await.into_iter().map(|document| document.doc_id).collect()
    }

    /// The documents of a source, with their content hashes and revisions.
    pub async fn list_source(&self, source: &str) -> Vec<(String, String, Option<String>)> {
        match self {
            Self::Faiss { index, .. } => {
                let list = index.list_source(source, &FaissPage { limit: 1000, offset: 0 }).unwrap();
                let row = |of: ragengine_client::wire::SourceDocument| (of.doc_id, of.content_hash, of.revision);
                list.documents.into_iter().map(row).collect()
            }
            Self::External(index) => {
                let records = all(index, Selection::Source(source)).await;
                records.into_iter().map(|of| (of.doc_id, of.content_hash, of.revision)).collect()
            }
        }
    }

    /// The number of documents and of chunks, and the bytes of the texts.
    pub async fn size(&self) -> (u64, u64, u64) {
        match self {
            Self::Faiss { index, .. } => {
                let size = index.size();
                (size.documents, size.chunks, size.text_bytes)
            }
            Self::External(index) => {
                let size = index.size(Selection::Filter(&Filter::default())).await.unwrap();
                (size.documents, size.chunks, size.text_bytes)
            }
        }
    }

    /// The number of documents and of chunks of a source, and the bytes of their texts.
    pub async fn source_size(&self, source: &str) -> (u64, u64, u64) {
        match self {
            Self::Faiss { index, .. } => {
                let of = index.source(source);
                (of.documents, of.chunks, of.bytes)
            }
            Self::External(index) => {
                let size = index.size(Selection::Source(source)).await.unwrap();
                (size.documents, size.chunks, size.text_bytes)
            }
        }
    }

    pub async fn whole(&self, doc_id: &str) -> Option<Whole> {
        match self {
            Self::Faiss { index, .. } => index.whole_document(doc_id).unwrap().map(|document| {
                let place = |of: WirePlace| (of.start, of.end, of.heading, of.page);
                let places = document.chunks.into_iter().map(place).collect();
                Whole { text: document.text, metadata: document.metadata, source: document.source, places }
            }),
            Self::External(index) => index.whole_document(doc_id).await.unwrap().map(|document| {
                let place = |of: ChunkPlace| (of.start, of.end, of.heading, of.page);
                let places = document.chunks.into_iter().map(place).collect();
                let record = document.record;
                Whole { text: document.text, metadata: record.metadata, source: record.source, places }
            }),
        }
    }

    /// The nearest chunks.
    pub async fn nearest(&self, vectors: &[Vec<f32>], top_k: usize, filter: &Value) -> Vec<Near> {
        let filter = filter_of(filter);
        match self {
            Self::Faiss { index, .. } => {
                let query = Query::dense(Windows::new(vectors.to_vec()).unwrap(), top_k, filter);
                read(index, &query)
            }
            Self::External(index) => {
                let search = DenseSearch { vectors, top_k, filter: &filter, has_vectors: false };
                index.nearest(&search).await.unwrap().into_iter().map(near).collect()
            }
        }
    }

    /// The best chunks by words, without their distances.
    pub async fn by_words(&self, text: &str, top_k: usize, filter: &Value) -> Vec<(String, u32)> {
        let filter = filter_of(filter);
        let found = match self {
            Self::Faiss { index, .. } => {
                let by_words = ByWords { text: text.into(), fusion: Fusion::TextOnly, candidates: top_k };
                let query = Query { by_words: Some(by_words), ..Query::dense(vec![1.0; WIDTH], top_k, filter) };
                read(index, &query)
            }
            Self::External(index) => {
                let terms = terms_of_query(text);
                let search = WordSearch { terms: &terms, top_k, filter: &filter, has_vectors: false };
                index.by_words(&search).await.unwrap().into_iter().map(near).collect()
            }
        };
        found.into_iter().map(|near| (near.doc_id, near.ordinal)).collect()
    }
}

async fn all(index: &Index, selection: Selection<'_>) -> Vec<ragengine_vector_database::DocumentRecord> {
    let (mut records, mut after) = (Vec::new(), None);
    loop {
        let page = index.list(selection, after, PAGE).await.unwrap();
        records.extend(page.documents);
        after = page.next;
        if after.is_none() {
            return records;
        }
    }
}

fn read(index: &Arc<FaissIndex>, query: &Query) -> Vec<Near> {
    let chunks = index.search(query).unwrap().read_all().unwrap();
    let near = |chunk: ragengine_index::search::RetrievedChunk| Near {
        doc_id: chunk.doc_id,
        ordinal: chunk.ordinal,
        text: chunk.text,
        distance: chunk.found.distance,
    };
    chunks.into_iter().map(near).collect()
}

fn near(hit: Hit) -> Near {
    let distance = hit.distance.unwrap_or(f32::NAN);
    Near { doc_id: hit.document.doc_id.clone(), ordinal: hit.ordinal, text: hit.text, distance }
}

fn filter_of(filter: &Value) -> Filter {
    Filter::new(filter.as_object().unwrap()).unwrap()
}

fn embedded(document: &TestDocument) -> Embedded {
    let metadata: Metadata = document.metadata.clone();
    let incoming = Incoming {
        doc_id: document.doc_id.clone(),
        text: document.text.as_str().into(),
        metadata: Arc::new(metadata),
        source: document.source.clone(),
        content_hash: document.content_hash(),
        revision: document.revision.clone(),
        cut_within: None,
    };
    let chunk = |chunk: &TestChunk| {
        let TestChunk { text, heading, page, vector } = chunk.clone();
        (chunking::Chunk { heading, page, text }, vector)
    };
    Embedded { document: incoming, chunks: document.chunks.iter().map(chunk).collect() }
}

/// What the server makes of a document for a vector database.
pub fn document(document: &TestDocument) -> Document {
    let mut analyzer = Analyzer::new(TextLanguage::English);
    let mut begin = 0;
    let mut chunk = |chunk: &TestChunk| {
        let heading = chunk.heading.as_deref().unwrap_or_default();
        let tokens = analyzer.tokens_of_chunk(TextKind::Prose, &format!("{heading}\n{}", chunk.text));
        let terms: Vec<String> = tokens.into_iter().map(|token| token.text).collect();
        let start = document.text[begin..].find(&chunk.text).map(|place| begin + place);
        begin = start.unwrap_or(begin);
        let characters = |bytes: usize| document.text[..bytes].chars().count();
        let hash = hex_of(&chunk.text);
        let (start, end) = (start.map(characters), start.map(|start| characters(start + chunk.text.len())));
        Chunk {
            place: ChunkPlace { start, end, heading: chunk.heading.clone(), page: chunk.page, hash },
            text: chunk.text.clone(),
            terms: terms.join(" "),
            vector: chunk.vector.clone(),
        }
    };
    Document {
        chunks: document.chunks.iter().map(&mut chunk).collect(),
        doc_id: document.doc_id.clone(),
        text: document.text.clone(),
        metadata: document.metadata.clone(),
        source: document.source.clone(),
        content_hash: document.content_hash(),
        revision: document.revision.clone(),
    }
}

/// Any text that differs with the chunk's.
fn hex_of(text: &str) -> String {
    ragengine_client::content_hash(text, &Map::new())
}

/// The words of a query, as chunks have them.
pub fn terms_of_query(text: &str) -> String {
    let words = Analyzer::new(TextLanguage::English).words_of_query(text);
    let terms: BTreeSet<String> = words.into_iter().flat_map(|word| [word.in_prose, word.in_code]).collect();
    terms.into_iter().collect::<Vec<_>>().join(" ")
}
