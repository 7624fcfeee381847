use super::ingest::{BATCH, add, numbered};
use super::{ALTERNATION, Bench, INDEX};
use crate::http::Connection;
use crate::load::{Load, Stop};
use crate::statistics::percentile;
use crate::table::{Limit, Row, Table};

/// The slowest of a hundred retrievals while documents are added to the same index, against that of a server with nothing else to do. They take
/// turns, a request of documents each. All documents are changed, and each is embedded anew: what comes after finds another index.
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
    let (mut idle, mut beside) = (Vec::new(), Vec::new());
    for (number, batch) in documents.chunks(BATCH).enumerate() {
        eprintln!("/retrieve beside ingest: {} of {} documents", number * BATCH, documents.len());
        let batch = batch.to_vec();
        let mut connection = Connection::open(bench.server.address()).await?;
        let ingest = tokio::spawn(async move { add(&mut connection, INDEX, &batch).await });
        while !ingest.is_finished() {
            let Some(part) = parts.next() else { break };
            beside.push(bench.run(part).await?);
        }
        ingest.await??;
        for part in parts.by_ref().take(TURNS_IDLE) {
            idle.push(bench.run(part).await?);
        }
    }
    let seconds = |outcomes: Vec<crate::load::Outcome>| -> Vec<f64> {
        outcomes.iter().flat_map(|outcome| outcome.seconds().to_vec()).collect()
    };
    let (idle, beside) = (seconds(idle), seconds(beside));
    for (fraction, name, limit) in [(0.5, "median", None), (0.99, "p99", Some(Limit::AtMost(2.0)))] {
        let (measured, floor) = (percentile(&beside, fraction) * 1e3, percentile(&idle, fraction) * 1e3);
        table.push(Row {
            name: format!("/retrieve beside ingest, {name}, ms"),
            measured,
            floor: Some(floor),
            ratio: Some(measured / floor),
            spread: None,
            limit,
        });
    }
    Ok(())
}

/// Parts of the load in a turn without ingest.
const TURNS_IDLE: usize = 10;
