mod floor;
mod operation;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use hyper::Method;
use operation::Operation;
use ragengine_client::wire::IndexDescription;
use serde_json::json;

use super::Bench;
use super::ingest::mebibytes;
use crate::http::Connection;
use crate::memory::Watch;
use crate::server::Server;
use crate::table::{Comparison, Row, Table};
use crate::vectors;

/// The index that is copied. It is flat: the building of a graph comes after a copy and is none of it.
const COPIED: &str = "copied";

/// Turns of each kind of copy and its floor.
const TURNS: usize = 5;

/// Copies of an index, against writing as many bytes to the same disk, and the server's memory meanwhile. It has a server of its own, with nothing
/// else in it.
pub async fn copies(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let chunks = bench.effort.copied_chunks;
    let folder = bench.folder.path().join("copies");
    fs::create_dir_all(&folder)?;
    let mut server = Server::start(&bench.parts, &folder, bench.upstream.address()).await?;
    let measured = measure(&mut server, &folder, chunks, table).await;
    measured.with_context(|| server.condition())
}

async fn measure(server: &mut Server, folder: &Path, chunks: usize, table: &mut Table) -> anyhow::Result<()> {
    fill(server, folder, chunks).await?;
    for operation in Operation::ALL {
        eprintln!("{chunks} chunks: {}", operation.name());
        // So that there is no room left over from what was measured before.
        server.restart().await?;
        let (comparison, bytes, more_bytes) = turns(server, folder, operation, chunks).await?;
        let name = |what: &str| format!("{chunks} chunks, {}: {what}", operation.name());
        let row = comparison.row(&name("s, against writing as much with fsync"));
        let rate = bytes as f64 / 1e6 / row.measured;
        table.push(row);
        table.push(Row::figure(&name("MB a second"), rate));
        table.push(Row::figure(&name("peak memory above idle, MiB"), mebibytes(more_bytes)));
    }
    Ok(())
}

/// Makes the index with the server, which knows its embedding model, and fills it without: nothing is embedded.
async fn fill(server: &mut Server, folder: &Path, chunks: usize) -> anyhow::Result<()> {
    eprintln!("filling an index with {chunks} chunks");
    let settings = Bytes::from(json!({"vectorIndex": "Flat"}).to_string());
    let mut connection = Connection::open(server.address()).await?;
    connection.send(Method::PUT, &format!("/indexes/{COPIED}"), settings).await?;
    server.stop();
    let directory = only_entry(&folder.join("data/indexes"))?;
    tokio::task::spawn_blocking(move || vectors::fill_to(&directory, chunks)).await??;
    server.restart().await
}

/// Seconds of the copies and of the floor, the bytes of a copy, and the most memory above that of the server before the first.
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
    let watch = Watch::begin(server.id())?;
    watch.forget_peak()?;
    for _ in 0..TURNS {
        let began = Instant::now();
        operation.run(&mut connection, folder, source.clone()).await?;
        let took = began.elapsed();
        require_chunks(&mut connection, chunks).await?;
        bytes = fs::metadata(operation.file(folder))?.len();
        let floor = floor::write(&folder.join("floor"), bytes)?;
        comparison.push(took.as_secs_f64(), floor.as_secs_f64());
    }
    Ok((comparison, bytes, watch.more_bytes_at_peak()?))
}

async fn require_chunks(connection: &mut Connection, chunks: usize) -> anyhow::Result<()> {
    let index: IndexDescription = serde_json::from_value(connection.get(&format!("/indexes/{COPIED}")).await?)?;
    ensure!(index.chunks == chunks as u64, "the index has {} chunks instead of {chunks}", index.chunks);
    Ok(())
}

fn only_entry(folder: &Path) -> anyhow::Result<PathBuf> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    let [entry] = entries.as_slice() else { bail!("{} indexes instead of one", entries.len()) };
    Ok(entry.clone())
}
