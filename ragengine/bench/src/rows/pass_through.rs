use anyhow::ensure;
use serde_json::Value;

use super::{Bench, latency};
use crate::http::Connection;
use crate::load::{Load, Stop};
use crate::nginx::{Buffering, Nginx};
use crate::table::{Comparison, Limit, Row, Table};

/// Clients at once.
const CLIENTS: usize = 16;

/// Chats without an index, against Debian's nginx in front of the same language model.
pub async fn pass_through(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let (program, folder) = (&bench.parts.nginx, bench.folder.path());
    let nginx = Nginx::start(program, folder, bench.upstream.address(), Buffering::On).await?;
    let workers = nginx.processes()?;
    let stop = Stop::After(bench.effort.turn);
    let ours = Load { clients: CLIENTS, stop, ..bench.passed_through() };
    let theirs = Load { address: nginx.address(), ..ours.clone() };
    require_no_sources(&ours).await?;
    let mut comparison = Comparison::default();
    let mut rates = Comparison::default();
    let mut outcomes = Vec::new();
    for round in 1..=bench.effort.rounds {
        eprintln!("pass-through: round {round} of {}", bench.effort.rounds);
        let (measured, floor) = (bench.run(&ours).await?, theirs.run(&workers).await?);
        comparison.push(measured.cpu_ms(), floor.cpu_ms());
        rates.push(measured.rate(), floor.rate());
        outcomes.push(measured);
    }
    table.push(comparison.row("pass-through chat against nginx, CPU ms a request").with_limit(Limit::AtMost(3.0)));
    table.push(rates.row("pass-through chat against nginx, 16 clients, chats a second"));
    table.push(Row::figure("pass-through chat, 16 clients, p50 ms", latency(&outcomes, 0.5)));
    table.push(Row::figure("pass-through chat, 16 clients, p99 ms", latency(&outcomes, 0.99)));
    Ok(())
}

async fn require_no_sources(load: &Load) -> anyhow::Result<()> {
    let reply = Connection::open(load.address).await?.post(load.path, load.bodies[0].clone()).await?;
    let reply: Value = serde_json::from_slice(&reply)?;
    ensure!(reply["source_nodes"].is_null(), "a chat without an index has sources: {reply}");
    Ok(())
}
