//! An index of many chunks: how it is searched, against FAISS called directly and against an exact search, and what it takes.
//!
//! Its vectors are made, not embedded, and go in through the index's own interface. A process of its own fills the index and builds its
//! graph, so that the memory of this one is what a server takes that has started.
//!
//! ```text
//! clusters ── vectors that are near each other as embeddings are    exact ── the nearest of them, by comparing all
//! fill ── the process that fills the index                          sizes ── disk and memory
//! searches ── against FAISS, and with filters                       writes ── one document for each request
//! ```

mod clusters;
mod exact;
mod fill;
mod searches;
mod sizes;
mod writes;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use fill::Filled;
pub use fill::{fill, fill_to};
use ragengine_index::metrics::IndexMetrics;
use ragengine_index::record::IndexRecord;
use ragengine_index::{Index, SearchSettings};
use ragengine_metrics::Builder;
use ragengine_settings::{Search, VectorIndexKind};

use crate::child::ChildProcess;
use crate::table::{Limit, Row, Table};

/// The width of all-MiniLM-L6-v2.
const DIMENSIONS: usize = 384;

/// Chunks that a search asks for, and among which it should find the nearest.
const NEAREST: usize = 10;

/// What the documentation promises of a search with default settings.
const RECALL: Limit = Limit::AtLeast(0.95);

/// The longest start with so many chunks or fewer.
const QUICK_START: (usize, Limit) = (100_000, Limit::AtMost(5.0));

const POLL: Duration = Duration::from_millis(100);

/// Measures an index of so many chunks.
///
/// # Errors
///
/// When the disk refuses, or the index is not what it should be.
pub async fn measure(cache: &Path, chunks: usize, rounds: usize, table: &mut Table) -> anyhow::Result<()> {
    std::fs::create_dir_all(cache)?;
    let folder = tempfile::tempdir_in(cache).context("no folder for the vectors")?;
    eprintln!("filling an index with {chunks} chunks");
    let filled = filled(folder.path(), chunks).await?;
    let place = folder.path().to_owned();
    let rows = tokio::task::spawn_blocking(move || rows(&place, chunks, rounds, &filled)).await??;
    rows.into_iter().for_each(|row| table.push(row));
    Ok(())
}

/// Fills the index in a process that ends with this one.
async fn filled(folder: &Path, chunks: usize) -> anyhow::Result<Filled> {
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.arg("--fill").arg(folder).arg("--chunks").arg(chunks.to_string());
    let mut child = ChildProcess::start("the process that fills the index", &mut command)?;
    while !child.has_succeeded()? {
        tokio::time::sleep(POLL).await;
    }
    Filled::read(folder)
}

fn rows(folder: &Path, chunks: usize, rounds: usize, filled: &Filled) -> anyhow::Result<Vec<Row>> {
    ragengine_faiss::use_one_thread_per_call();
    let before = sizes::resident()?;
    let began = Instant::now();
    let index = open(&folder.join("index"))?;
    let start = began.elapsed().as_secs_f64();
    let memory = sizes::resident()?.saturating_sub(before);
    let built = index.describe("").graph_chunks;
    ensure!(built == chunks as u64, "{built} of {chunks} chunks are in the graph after a start");
    let named = |what: &str| format!("{chunks} chunks: {what}");
    let per_chunk = |bytes: u64| bytes as f64 / chunks as f64;
    let start = Row::figure(&named("start with a snapshot, s"), start);
    let mut rows = vec![
        if chunks <= QUICK_START.0 { start.with_limit(QUICK_START.1) } else { start },
        Row::figure(&named("start without a snapshot, s"), filled.start_seconds),
        Row::figure(&named("building the graph and writing its snapshot, s"), filled.building_seconds),
        Row::figure(&named("memory for each, bytes"), per_chunk(memory)),
        Row::figure(&named("disk for each, with 900 characters of text, bytes"), per_chunk(sizes::disk(folder)?)),
        Row::figure(&named("written a second, 500 in a request"), chunks as f64 / filled.writing_seconds),
    ];
    rows.extend(searches::rows(&index, folder, chunks, rounds)?.into_iter().map(|row| row.renamed(named)));
    drop(index);
    rows.extend(writes::rows(folder)?);
    Ok(rows)
}

fn open(directory: &Path) -> anyhow::Result<Arc<Index>> {
    Ok(Index::open("bench", directory, search_settings(), &metrics()?, &mut |_| {})?)
}

fn create(directory: &Path, exact_below_rows: usize) -> anyhow::Result<Arc<Index>> {
    let record = IndexRecord {
        model: "none".to_owned(),
        embedding_fingerprint: "none".to_owned(),
        dimensions: DIMENSIONS,
        max_tokens: 256,
        overlap_tokens: 25,
        vector_index: VectorIndexKind::default(),
    };
    let search = SearchSettings { exact_below_rows, ..search_settings() };
    Ok(Index::create("bench", directory, record, search, &metrics()?)?)
}

/// Which nobody reads.
fn metrics() -> anyhow::Result<Arc<IndexMetrics>> {
    Ok(IndexMetrics::new(&mut Builder::new(Duration::from_secs(1))?)?)
}

/// The defaults, which are what the documentation's promises are about.
fn search_settings() -> SearchSettings {
    let Search { exact_below_rows, ef_search, .. } = Search::default();
    SearchSettings { exact_below_rows: exact_below_rows as usize, ef_search: ef_search as usize, n_probe: None }
}
