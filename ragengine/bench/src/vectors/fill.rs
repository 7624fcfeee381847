use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use ragengine_client::wire::{Document, Metadata};
use ragengine_compute::Waiter;
use ragengine_index::Index;
use ragengine_index::chunking::Chunk;
use ragengine_index::writer::{Embedded, Limits, check_documents};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::clusters::Clusters;
use super::searches::FILTERS;
use super::{POLL, create, open};
use crate::corpus;

/// Documents of one request, as `ragengine sync` sends them at most.
const REQUEST: usize = 500;

/// A million chunks take half an hour of a processor of one's own.
const LONGEST_BUILDING: Duration = Duration::from_secs(6 * 3600);

const RESULT: &str = "filled.json";

/// How long it took.
#[derive(Debug, Serialize, Deserialize)]
pub struct Filled {
    /// Putting all chunks in.
    pub writing_seconds: f64,
    /// Starting with them and without a snapshot.
    pub start_seconds: f64,
    /// Putting them together as the kind says, and writing the snapshot.
    pub building_seconds: f64,
}

impl Filled {
    /// What the process has written.
    ///
    /// # Errors
    ///
    /// When it has not.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(folder.join(RESULT)).context("nothing is said of the filled index")?;
        Ok(serde_json::from_str(&text)?)
    }
}

/// Fills an index and builds its graph.
///
/// # Errors
///
/// When the disk refuses.
pub fn fill(folder: &Path, chunks: usize) -> anyhow::Result<()> {
    // The graph comes when all is there, so that it is built once.
    let index = create(&folder.join("index"), usize::MAX)?;
    let writing = put(&index, chunks)?;
    // Many small segments are made one meanwhile.
    wait_for(&index)?;
    drop(index);
    let began = Instant::now();
    let index = open(&folder.join("index"))?;
    let start = began.elapsed();
    let began = Instant::now();
    index.rebuild_if_due();
    wait_for(&index)?;
    let filled = Filled {
        writing_seconds: writing.as_secs_f64(),
        start_seconds: start.as_secs_f64(),
        building_seconds: began.elapsed().as_secs_f64(),
    };
    fs::write(folder.join(RESULT), serde_json::to_string(&filled)?)?;
    Ok(())
}

/// Fills an index that is there, and that no server has open.
///
/// # Errors
///
/// When the disk refuses.
pub fn fill_to(directory: &Path, chunks: usize) -> anyhow::Result<()> {
    let index = open(directory)?;
    put(&index, chunks)?;
    wait_for(&index)
}

/// Puts documents of one chunk in. Returns how long the index took for it.
fn put(index: &Arc<Index>, chunks: usize) -> anyhow::Result<Duration> {
    let clusters = Clusters::new();
    let mut writing = Duration::ZERO;
    for first in (0..chunks).step_by(REQUEST) {
        let documents = (first..chunks.min(first + REQUEST))
            .map(|number| document(number, clusters.vector(number as u64)))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let began = Instant::now();
        index.put_vectors(documents)?;
        writing += began.elapsed();
    }
    Ok(writing)
}

/// Until nobody else has the index: the thread that builds has it until all is done.
fn wait_for(index: &Arc<Index>) -> anyhow::Result<()> {
    let began = Instant::now();
    while Arc::strong_count(index) > 1 {
        ensure!(began.elapsed() < LONGEST_BUILDING, "the graph is not built after {LONGEST_BUILDING:?}");
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// A document of one chunk, with a value for each filter.
pub fn document(number: usize, vector: Vec<f32>) -> anyhow::Result<Embedded> {
    let text = corpus::document(number);
    let metadata: Metadata = FILTERS.iter().map(|(key, of)| ((*key).to_owned(), json!(number % of))).collect();
    let document = Document { doc_id: Some(number.to_string()), text: text.clone(), metadata, ..Document::default() };
    let limits = Limits {
        max_documents: 1,
        max_document_bytes: 1 << 20,
        max_metadata_bytes: 1 << 10,
        cut_timeout: Duration::from_secs(30),
    };
    let document =
        check_documents(vec![document], limits, &Waiter::default())?.pop().context("a document is missing")?;
    Ok(Embedded { document, chunks: vec![(Chunk { heading: None, page: None, text }, vector)] })
}
