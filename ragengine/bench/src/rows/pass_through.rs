use anyhow::ensure;
use serde_json::Value;

use super::clients::CLIENTS;
use super::{Bench, latency};
use crate::http::Connection;
use crate::load::{Load, Stop};
use crate::nginx::{Buffering, Nginx};
use crate::server::{LOG_FORMAT, LOG_LEVEL};
use crate::table::{Comparison, Limit, Row, Table};

/// Compares chats without an index with Debian's nginx in front of the same language model. Both write logs: the server
/// with its settings, nginx one line per request.
pub async fn pass_through(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let (program, folder) = (&bench.parts.nginx, bench.folder.path());
    let nginx = Nginx::start(program, folder, bench.upstream.address(), Buffering::On).await?;
    require_no_sources(&bench.passed_through()).await?;
    for clients in CLIENTS {
        with_clients(bench, &nginx, clients, table).await?;
    }
    Ok(())
}

async fn with_clients(bench: &Bench, nginx: &Nginx, clients: usize, table: &mut Table) -> anyhow::Result<()> {
    let workers = nginx.processes()?;
    let ours = Load { clients, stop: Stop::After(bench.effort.turn), ..bench.passed_through() };
    let theirs = Load { address: nginx.address(), ..ours.clone() };
    let mut comparison = Comparison::default();
    let mut rates = Comparison::default();
    let mut tails = Comparison::default();
    let mut results = Vec::new();
    for round in 1..=bench.effort.rounds {
        eprintln!("pass-through, {clients} clients: round {round} of {}", bench.effort.rounds);
        let (measured, floor) = (bench.run(&ours).await?, theirs.run(&workers).await?);
        comparison.push(measured.cpu_ms(), floor.cpu_ms());
        rates.push(measured.rate(), floor.rate());
        tails.push(measured.latency_ms(0.99), floor.latency_ms(0.99));
        results.push(measured);
    }
    let plural = if clients == 1 { "" } else { "s" };
    let name = format!("pass-through chat, {clients} client{plural}, log.level {LOG_LEVEL}, log.format {LOG_FORMAT}");
    let limit = Limit::AtMost(3.0);
    table.push(comparison.row(&format!("{name}, against nginx with its log, CPU ms a request")).with_limit(limit));
    table.push(rates.row(&format!("{name}, against nginx with its log, chats a second")));
    table.push(Row::figure(&format!("{name}, p50 ms"), latency(&results, 0.5)));
    table.push(tails.row(&format!("{name}, against nginx with its log, p99 ms")));
    Ok(())
}

async fn require_no_sources(load: &Load) -> anyhow::Result<()> {
    let reply = Connection::open(load.address).await?.post(load.path, load.bodies[0].clone()).await?;
    let reply: Value = serde_json::from_slice(&reply)?;
    ensure!(reply["source_nodes"].is_null(), "a chat without an index has sources: {reply}");
    Ok(())
}
