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

/// Documents in one request: the maximum of `ragengine sync`.
const REQUEST: usize = 500;

/// Timeout of a build. A million chunks take half an hour of one processor.
const BUILD_TIMEOUT: Duration = Duration::from_secs(6 * 3600);

const RESULT: &str = "filled.json";

/// Durations of filling an index.
#[derive(Debug, Serialize, Deserialize)]
pub struct FillTimes {
    /// Writing all chunks.
    pub writing_seconds: f64,
    /// Opening the index without a snapshot.
    pub start_seconds: f64,
    /// Building the graph and writing the snapshot.
    pub building_seconds: f64,
}

impl FillTimes {
    /// Reads the durations that the filling process wrote.
    ///
    /// # Errors
    ///
    /// If the file is missing or invalid.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(folder.join(RESULT)).context("the filling process wrote no durations")?;
        Ok(serde_json::from_str(&text)?)
    }
}

/// Fills a new index, builds its graph and writes the durations.
///
/// # Errors
///
/// If reading or writing the disk fails.
pub fn fill(folder: &Path, chunks: usize) -> anyhow::Result<()> {
    // `usize::MAX` postpones the graph until all chunks are written, so that it is built once.
    let index = create(&folder.join("index"), usize::MAX)?;
    let writing = put(&index, chunks)?;
    // The index merges its small segments in the background.
    wait_for(&index)?;
    drop(index);
    let began = Instant::now();
    let index = open(&folder.join("index"))?;
    let start = began.elapsed();
    let began = Instant::now();
    index.rebuild_if_due();
    wait_for(&index)?;
    let times = FillTimes {
        writing_seconds: writing.as_secs_f64(),
        start_seconds: start.as_secs_f64(),
        building_seconds: began.elapsed().as_secs_f64(),
    };
    fs::write(folder.join(RESULT), serde_json::to_string(&times)?)?;
    Ok(())
}

/// Fills an existing index that no server has open.
///
/// # Errors
///
/// If reading or writing the disk fails.
pub fn fill_to(directory: &Path, chunks: usize) -> anyhow::Result<()> {
    let index = open(directory)?;
    put(&index, chunks)?;
    wait_for(&index)
}

/// Writes documents of one chunk each. Returns the time spent in the index.
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

/// Waits until the background thread, which holds a reference to the index, has finished.
fn wait_for(index: &Arc<Index>) -> anyhow::Result<()> {
    let began = Instant::now();
    while Arc::strong_count(index) > 1 {
        ensure!(began.elapsed() < BUILD_TIMEOUT, "the graph was not built within {BUILD_TIMEOUT:?}");
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
