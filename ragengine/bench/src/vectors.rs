//! A large index: search time against FAISS called directly, recall against an exact search, memory and disk.
//!
//! The vectors are generated, not embedded, and are written through the Rust interface of the index. A separate process
//! fills the index and builds the graph, so that the memory of this process equals that of a server after its start.
//!
//! ```text
//! clusters ── vectors that resemble embeddings      exact ── nearest vectors, by comparing all
//! fill ── the process that fills the index          sizes ── disk and memory
//! searches ── against FAISS, and with filters       writes ── one document per request
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
pub use clusters::Clusters;
pub use exact::nearest as exact_nearest;
use fill::FillTimes;
pub use fill::{fill, fill_to};
use ragengine_index::metrics::IndexMetrics;
use ragengine_index::record::IndexRecord;
use ragengine_index::{Index, SearchSettings};
use ragengine_metrics::Builder;
use ragengine_settings::{Search, TextLanguage, VectorIndexKind};
pub use searches::{FILTERS, FIRST_QUERY};
pub use sizes::disk;

use crate::child::ChildProcess;
use crate::table::{Limit, Row, Table};

/// Dimensions of all-MiniLM-L6-v2.
pub const DIMENSIONS: usize = 384;

/// Number of chunks that a search returns, for recall@10.
pub const NEAREST: usize = 10;

/// Recall that the documentation promises for default settings.
const RECALL: Limit = Limit::AtLeast(0.95);

/// Limit of the start time, for indexes up to this number of chunks.
const QUICK_START: (usize, Limit) = (100_000, Limit::AtMost(5.0));

const POLL: Duration = Duration::from_millis(100);

/// Measures an index with this number of chunks.
///
/// # Errors
///
/// If reading or writing the disk fails, or the index returns unexpected results.
pub async fn measure(cache: &Path, chunks: usize, rounds: usize, table: &mut Table) -> anyhow::Result<()> {
    std::fs::create_dir_all(cache)?;
    let folder = tempfile::tempdir_in(cache).context("cannot create a folder for the vectors")?;
    eprintln!("filling an index with {chunks} chunks");
    let filled = filled(folder.path(), chunks).await?;
    let place = folder.path().to_owned();
    let rows = tokio::task::spawn_blocking(move || rows(&place, chunks, rounds, &filled)).await??;
    rows.into_iter().for_each(|row| table.push(row));
    Ok(())
}

/// Fills the index in a child process, which is stopped if this process exits.
async fn filled(folder: &Path, chunks: usize) -> anyhow::Result<FillTimes> {
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.arg("--fill").arg(folder).arg("--chunks").arg(chunks.to_string());
    let mut child = ChildProcess::start("the process that fills the index", &mut command)?;
    while !child.has_succeeded()? {
        tokio::time::sleep(POLL).await;
    }
    FillTimes::read(folder)
}

fn rows(folder: &Path, chunks: usize, rounds: usize, filled: &FillTimes) -> anyhow::Result<Vec<Row>> {
    ragengine_faiss::use_one_thread_per_call();
    let before = sizes::resident()?;
    let began = Instant::now();
    let index = open(&folder.join("index"))?;
    let start = began.elapsed().as_secs_f64();
    let memory = sizes::resident()?.saturating_sub(before);
    let built = index.describe("").graph_chunks;
    ensure!(built == chunks as u64, "only {built} of {chunks} chunks are in the graph after a start");
    let named = |what: &str| format!("{chunks} chunks: {what}");
    let per_chunk = |bytes: u64| bytes as f64 / chunks as f64;
    let start = Row::figure(&named("start with a snapshot, s"), start);
    let mut rows = vec![
        if chunks <= QUICK_START.0 { start.with_limit(QUICK_START.1) } else { start },
        Row::figure(&named("start without a snapshot, s"), filled.start_seconds),
        Row::figure(&named("building the graph and writing its snapshot, s"), filled.building_seconds),
        Row::figure(&named("memory per chunk, bytes"), per_chunk(memory)),
        Row::figure(&named("disk per chunk, with 900 characters of text, bytes"), per_chunk(sizes::disk(folder)?)),
        Row::figure(&named("written per second, 500 per request"), chunks as f64 / filled.writing_seconds),
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

/// Metrics that the index requires and that are not read here.
fn metrics() -> anyhow::Result<Arc<IndexMetrics>> {
    Ok(IndexMetrics::new(&mut Builder::new(Duration::from_secs(1))?)?)
}

/// Default settings, for which the documentation promises the recall.
fn search_settings() -> SearchSettings {
    let Search { exact_below_rows, ef_search, .. } = Search::default();
    SearchSettings {
        exact_below_rows: exact_below_rows as usize,
        ef_search: ef_search as usize,
        n_probe: None,
        language: TextLanguage::English,
    }
}
