mod client;
mod tally;

use std::fs;

use anyhow::{Context as _, ensure};
use client::{Client, READERS};
use serde_json::{Value, json};
use tally::Tally;
use tokio::task::JoinSet;

use super::ingest::{add, mebibytes, numbered};
use super::{Bench, INDEX};
use crate::http::Connection;
use crate::memory::MemoryWatch;
use crate::server::Server;
use crate::table::{Limit, Row, Table};

/// Number of consecutive floods. Memory that each leaves behind must not add up.
const FLOODS: usize = 3;

/// Limit of the additional memory, in MiB. Some bodies have the maximum size and need a multiple of it after parsing.
const MEMORY_LIMIT: Limit = Limit::AtMost(450.0);

/// Floods the server with more clients than it admits: some send large or expensive bodies, some never read, some
/// disconnect. Measures the server's memory and the outcomes of the clients, on two separate servers: one whose low
/// limits are all reached, and one with default limits.
pub async fn flood(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    flood_server(bench, "low limits", &low_limits(), table).await?;
    flood_server(bench, "default limits", &json!({}), table).await
}

async fn flood_server(bench: &Bench, kind: &str, limits: &Value, table: &mut Table) -> anyhow::Result<()> {
    let count = bench.effort.clients_of_a_flood;
    let folder = bench.folder.path().join(format!("flood, {kind}"));
    fs::create_dir_all(&folder)?;
    let mut server = Server::start_limited(&bench.parts, &folder, bench.upstream.address(), limits).await?;
    let measured = measure(bench, &server, kind).await;
    let (more_bytes, tally) = measured.with_context(|| server.condition())?;
    let name = |what: &str| format!("flood of {count} clients, {kind}: {what}");
    let of_each = |what: &str, part: usize| Row::figure(&name(what), part as f64 / FLOODS as f64);
    let memory = Row::figure(&name("peak memory above idle, MiB"), mebibytes(more_bytes));
    table.push(memory.with_limit(MEMORY_LIMIT));
    table.push(of_each("clients that wait for a reply", tally.all()));
    table.push(of_each("answered", tally.answered()));
    table.push(of_each("refused with 429", tally.refused()));
    table.push(of_each("timed out with 503 or 504", tally.timed_out()));
    table.push(of_each("disconnected while sending", tally.cut_off()));
    table.push(Row::figure(&name("time to answer, p50, s"), tally.seconds(0.5)));
    table.push(Row::figure(&name("time to answer, p99, s"), tally.seconds(0.99)));
    Ok(())
}

/// Returns the peak memory above idle, in bytes, and the outcomes of all clients.
async fn measure(bench: &Bench, server: &Server, kind: &str) -> anyhow::Result<(u64, Tally)> {
    let mut connection = Connection::open(server.address()).await?;
    add(&mut connection, INDEX, &numbered(&bench.corpus.spare)).await?;
    require_answers(bench, server).await?;
    let watch = MemoryWatch::begin(server.id())?;
    watch.reset_peak()?;
    let mut tally = Tally::default();
    for number in 1..=FLOODS {
        eprintln!("flood, {kind}: {number} of {FLOODS}");
        one_flood(bench, server, &mut tally).await?;
    }
    Ok((watch.peak_above_idle()?, tally))
}

async fn one_flood(bench: &Bench, server: &Server, tally: &mut Tally) -> anyhow::Result<()> {
    let (mut silent, mut clients) = (JoinSet::new(), JoinSet::new());
    for (number, client) in Client::mixed().take(bench.effort.clients_of_a_flood).enumerate() {
        let run = client.run(server.address(), client.request(number, &bench.corpus));
        let clients = if client == Client::NeverReads { &mut silent } else { &mut clients };
        clients.spawn(async move { anyhow::Ok((client, run.await.with_context(|| format!("{client:?}"))?)) });
    }
    while let Some(ended) = clients.join_next().await {
        let (client, outcome) = ended??;
        tally.add(client, outcome)?;
    }
    // The clients that never read are still connected and must not affect others.
    require_answers(bench, server).await?;
    ensure!(silent.try_join_next().is_none(), "a client that never reads has finished");
    Ok(())
}

/// Checks that a single client is answered.
async fn require_answers(bench: &Bench, server: &Server) -> anyhow::Result<()> {
    for client in READERS {
        let outcome = client.run(server.address(), client.request(0, &bench.corpus)).await?;
        ensure!(outcome.is_answered(client), "{client:?} alone: {outcome:?}");
    }
    Ok(())
}

fn low_limits() -> Value {
    json!({
        "maxBodiesBytes": 32 << 20,
        "maxRunningReads": 8,
        "maxWaitingReads": 50,
        "maxRunningChats": 8,
        "maxWaitingChats": 50,
        "maxRunningWrites": 4,
        "maxWaitingWrites": 20,
        "sendTimeoutSeconds": 5,
    })
}
