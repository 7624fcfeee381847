//! A large index in Weaviate: writes, latencies, recall against an exact search, memory and disk.
//!
//! The documents are those of the large index with FAISS (`vectors`): one chunk each, with generated vectors. They are
//! written through the Rust interface of the index, so neither the server nor the embedding is measured.
//!
//! ```text
//! documents ── what is written      latencies ── how long searches, reads and writes take
//! ```

mod documents;
mod latencies;
#[path = "../../vector-database/tests/databases/nodes.rs"]
#[expect(
    dead_code,
    clippy::unwrap_used,
    reason = "the tests of `ragengine-vector-database` use it all, and as tests do"
)]
mod nodes;

use std::time::Instant;

use anyhow::ensure;
use nodes::Nodes;
use ragengine_pipeline::filter::Filter;
use ragengine_vector_database::{Index, IndexShape, Selection, VectorIndex};

use crate::memory;
use crate::table::{Row, Table};
use crate::vectors::{DIMENSIONS, disk};

/// Documents in one request.
const REQUEST: usize = 500;

/// The graph that `vectorIndex: auto` makes in a vector database.
const GRAPH: VectorIndex = VectorIndex::Hnsw { max_connections: 32, ef_construction: 128, ef: Some(256) };

/// Measures an index with this number of chunks on this number of nodes, each of which has all of them.
///
/// # Errors
///
/// If Weaviate fails, or finds less than it should.
pub async fn measure(chunks: usize, nodes: usize, table: &mut Table) -> anyhow::Result<()> {
    let running = Nodes::start(nodes).await;
    let shape = IndexShape { vector_index: GRAPH, dimensions: DIMENSIONS, replicas: u32::try_from(nodes)?, shards: 1 };
    let index = Index::create(running.client(0), "bench", "large", &shape).await?;
    let named = |what: &str| format!("{chunks} chunks on {nodes} node(s) of Weaviate: {what}");
    let mut push = |what: &str, value: f64| table.push(Row::figure(&named(what), value));

    eprintln!("writing {chunks} chunks to {nodes} node(s) of Weaviate");
    push("written per second, 500 per request", chunks as f64 / fill(&index, chunks).await?);
    let size = index.size(Selection::Filter(&Filter::default())).await?;
    ensure!(size.chunks == chunks as u64, "Weaviate has {} of {chunks} chunks", size.chunks);

    eprintln!("searching");
    for (what, value) in latencies::measure(&index, chunks).await? {
        push(&what, value);
    }
    let per_chunk = |bytes: u64| bytes as f64 / (chunks * nodes) as f64;
    let (mut resident, mut stored) = (0, 0);
    for node in 0..nodes {
        resident += memory::of_process(running.process_id(node))?.resident;
        stored += disk(running.folder(node))?;
    }
    push("memory of each node per chunk, bytes", per_chunk(resident));
    push("disk of each node per chunk, with 900 characters of text, bytes", per_chunk(stored));
    Ok(())
}

/// Writes all documents. Returns the seconds spent in the index.
async fn fill(index: &Index, chunks: usize) -> anyhow::Result<f64> {
    let mut maker = documents::Maker::new();
    let mut seconds = 0.0;
    for first in (0..chunks).step_by(REQUEST) {
        let documents: Vec<_> = (first..chunks.min(first + REQUEST)).map(|number| maker.document(number)).collect();
        let began = Instant::now();
        index.put(&documents).await?;
        seconds += began.elapsed().as_secs_f64();
        if first.is_multiple_of(100_000) && first > 0 {
            eprintln!("{first} chunks in {seconds:.0} s");
        }
    }
    Ok(seconds)
}
