use super::ingest::{BATCH, add, numbered};
use super::{ALTERNATION, Bench, INDEX};
use crate::http::Connection;
use crate::load::{Load, Stop};
use crate::statistics::percentile;
use crate::table::{Limit, Row, Table};

/// Compares the latency of retrievals while documents are added to the same index with that of an otherwise idle
/// server, in turns of one request of documents. All documents are changed and embedded again, so later measurements
/// find a different index.
pub async fn beside_ingest(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let load = bench.retrievals();
    let parts: Vec<Load> = load
        .bodies
        .chunks(ALTERNATION)
        .map(|bodies| Load { bodies: bodies.into(), stop: Stop::Requests(bodies.len()), ..load.clone() })
        .collect();
    let mut parts = parts.iter().cycle();
    let texts: Vec<String> = bench.corpus.documents.iter().map(|text| format!("{text} Revised.")).collect();
    let documents = numbered(&texts);
    let (mut idle, mut busy) = (Vec::new(), Vec::new());
    for (number, batch) in documents.chunks(BATCH).enumerate() {
        eprintln!("/retrieve during ingest: {} of {} documents", number * BATCH, documents.len());
        let batch = batch.to_vec();
        let mut connection = Connection::open(bench.server.address()).await?;
        let ingest = tokio::spawn(async move { add(&mut connection, INDEX, &batch).await });
        while !ingest.is_finished() {
            let Some(part) = parts.next() else { break };
            busy.push(bench.run(part).await?);
        }
        ingest.await??;
        for part in parts.by_ref().take(TURNS_IDLE) {
            idle.push(bench.run(part).await?);
        }
    }
    let seconds = |results: Vec<crate::load::LoadResult>| -> Vec<f64> {
        results.iter().flat_map(|result| result.seconds().to_vec()).collect()
    };
    let (idle, busy) = (seconds(idle), seconds(busy));
    for (fraction, name, limit) in [(0.5, "median", None), (0.99, "p99", Some(Limit::AtMost(2.0)))] {
        let (measured, floor) = (percentile(&busy, fraction) * 1e3, percentile(&idle, fraction) * 1e3);
        table.push(Row {
            name: format!("/retrieve during ingest, {name}, ms"),
            measured,
            floor: Some(floor),
            ratio: Some(measured / floor),
            spread: None,
            limit,
        });
    }
    Ok(())
}

/// Number of parts of the load in a turn without ingest.
const TURNS_IDLE: usize = 10;
