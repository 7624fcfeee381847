mod floor;
mod operation;

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use operation::Operation;
use ragengine_client::wire::IndexDescription;
use serde_json::json;

use super::Bench;
use super::ingest::mebibytes;
use crate::http::Connection;
use crate::memory::MemoryWatch;
use crate::server::Server;
use crate::table::{Comparison, Row, Table};

/// Name of the copied index.
const COPIED: &str = "copied";

/// Number of turns of each operation and its floor.
const TURNS: usize = 5;

/// Compares copies of an index with writing the same number of bytes to the same disk, and measures the server's
/// memory. Uses a separate server without other indexes.
pub async fn copies(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let chunks = bench.effort.copied_chunks;
    let folder = bench.folder.path().join("copies");
    fs::create_dir_all(&folder)?;
    let mut server = Server::start(&bench.parts, &folder, bench.upstream.address()).await?;
    let measured = measure(&mut server, &folder, chunks, table).await;
    measured.with_context(|| server.condition())
}

async fn measure(server: &mut Server, folder: &Path, chunks: usize, table: &mut Table) -> anyhow::Result<()> {
    // It is flat, because building a graph after a copy must not be measured.
    super::filling::fill(server, folder, COPIED, json!({"vectorIndex": "Flat"}), chunks).await?;
    for operation in Operation::ALL {
        eprintln!("{chunks} chunks: {}", operation.name());
        // A restart frees the memory of earlier measurements.
        server.restart().await?;
        let (comparison, bytes, more_bytes) = turns(server, folder, operation, chunks).await?;
        let name = |what: &str| format!("{chunks} chunks, {}: {what}", operation.name());
        let row = comparison.row(&name("s, against writing the same bytes with fsync"));
        let rate = bytes as f64 / 1e6 / row.measured;
        table.push(row);
        table.push(Row::figure(&name("MB per second"), rate));
        table.push(Row::figure(&name("peak memory above idle, MiB"), mebibytes(more_bytes)));
    }
    Ok(())
}

/// Returns the seconds of copies and floor, the size of a copy in bytes, and the peak memory above idle in bytes.
async fn turns(
    server: &Server,
    folder: &Path,
    operation: Operation,
    chunks: usize,
) -> anyhow::Result<(Comparison, u64, u64)> {
    let mut connection = Connection::open(server.address()).await?;
    require_chunks(&mut connection, chunks).await?;
    let source = operation.source(folder)?;
    let (mut comparison, mut bytes) = (Comparison::default(), 0);
    let watch = MemoryWatch::begin(server.id())?;
    watch.reset_peak()?;
    for _ in 0..TURNS {
        let began = Instant::now();
        operation.run(&mut connection, folder, source.clone()).await?;
        let took = began.elapsed();
        require_chunks(&mut connection, chunks).await?;
        // The words of a new index are analysed in the background, which is not a part of the next turn.
        search_by_words(&mut connection).await?;
        bytes = fs::metadata(operation.file(folder))?.len();
        let floor = floor::write(&folder.join("floor"), bytes)?;
        comparison.push(took.as_secs_f64(), floor.as_secs_f64());
    }
    Ok((comparison, bytes, watch.peak_above_idle()?))
}

async fn search_by_words(connection: &mut Connection) -> anyhow::Result<()> {
    let body = json!({"index_name": COPIED, "query": "Which words?", "pipeline": {"retrieval": "hybrid"}});
    connection.post("/retrieve", body.to_string().into()).await?;
    Ok(())
}

async fn require_chunks(connection: &mut Connection, chunks: usize) -> anyhow::Result<()> {
    let index: IndexDescription = serde_json::from_value(connection.get(&format!("/indexes/{COPIED}")).await?)?;
    ensure!(index.chunks == chunks as u64, "the index has {} chunks instead of {chunks}", index.chunks);
    Ok(())
}
