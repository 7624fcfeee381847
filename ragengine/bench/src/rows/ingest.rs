use std::time::Instant;

use anyhow::ensure;
use bytes::Bytes;
use hyper::Method;
use ragengine_client::wire::{AddDocuments, Document, IndexDescription};
use serde_json::json;

use super::{Bench, INDEX};
use crate::http::Connection;
use crate::statistics::median;
use crate::table::{Comparison, Limit, Row, Table};
use crate::{cpu, memory};

/// Documents in one request, which is one turn of some seconds on both cores.
pub(super) const BATCH: usize = 64;

/// Index for the documents of the warm-up, which are not measured.
const WARM_UP: &str = "warm-up";

/// Compares adding the documents with embedding their texts, and measures the peak memory.
pub async fn ingest(bench: &mut Bench, table: &mut Table) -> anyhow::Result<()> {
    let mut connection = Connection::open(bench.server.address()).await?;
    warm_up(bench, &mut connection).await?;
    let mut comparison = Comparison::default();
    let mut rates = Vec::new();
    let mut vectors = Vec::new();
    let documents = numbered(&bench.corpus.documents);
    for batch in documents.chunks(BATCH) {
        eprintln!("ingest: {} of {} documents", vectors.len(), documents.len());
        let count = batch.len() as f64;
        let before = cpu::of_process(bench.server.id())?;
        let started = Instant::now();
        add(&mut connection, INDEX, batch).await?;
        rates.push(count / started.elapsed().as_secs_f64());
        let measured = cpu::of_process(bench.server.id())?.saturating_sub(before);
        let floor = bench.floor.embed(batch.iter().map(|document| document.text.clone()).collect()).await?;
        comparison.push(measured.as_secs_f64() * 1e3 / count, floor.cpu.as_secs_f64() * 1e3 / count);
        vectors.extend(floor.vectors);
    }
    let peak = memory::of_process(bench.server.id())?.peak;
    bench.floor.index(&vectors)?;
    require_one_chunk_each(&mut connection, documents.len() as u64).await?;
    table.push(comparison.row("ingest, CPU ms a document").with_limit(Limit::AtMost(1.1)));
    table.push(Row::figure("peak memory of start and ingest, MiB", mebibytes(peak)).with_limit(Limit::AtMost(300.0)));
    table.push(Row::figure("ingest, documents a second", median(&rates)));
    Ok(())
}

/// Adds the documents without measuring, for measurements that need them.
pub async fn fill(bench: &Bench) -> anyhow::Result<()> {
    let mut connection = Connection::open(bench.server.address()).await?;
    for (number, batch) in numbered(&bench.corpus.documents).chunks(BATCH).enumerate() {
        eprintln!("adding documents: {} of {}", number * BATCH, bench.corpus.documents.len());
        add(&mut connection, INDEX, batch).await?;
    }
    Ok(())
}

async fn warm_up(bench: &Bench, connection: &mut Connection) -> anyhow::Result<()> {
    let spare = &bench.corpus.spare;
    add(connection, WARM_UP, &numbered(spare)).await?;
    connection.send(Method::DELETE, &format!("/indexes/{WARM_UP}"), Bytes::new()).await?;
    bench.floor.embed(spare.clone()).await?;
    Ok(())
}

pub(super) async fn add(connection: &mut Connection, index_name: &str, documents: &[Document]) -> anyhow::Result<()> {
    let body = AddDocuments { index_name: index_name.to_owned(), documents: documents.to_vec() };
    connection.post("/index", serde_json::to_vec(&body)?.into()).await?;
    Ok(())
}

/// Checks that each document is one chunk, so that server and floor embed the same texts.
async fn require_one_chunk_each(connection: &mut Connection, documents: u64) -> anyhow::Result<()> {
    let index: IndexDescription = serde_json::from_value(connection.get(&format!("/indexes/{INDEX}")).await?)?;
    ensure!(
        (index.documents, index.chunks) == (documents, documents),
        "{documents} documents became {} in {} chunks: each must be one chunk",
        index.documents,
        index.chunks
    );
    Ok(())
}

/// Documents whose ids are their positions, with a value that a tenth of them have.
pub(super) fn numbered(texts: &[String]) -> Vec<Document> {
    let document = |(position, text): (usize, &String)| Document {
        doc_id: Some(position.to_string()),
        text: text.clone(),
        metadata: [("tenth".to_owned(), json!(position % 10))].into_iter().collect(),
        ..Document::default()
    };
    texts.iter().enumerate().map(document).collect()
}

/// Bytes in MiB.
pub(super) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
