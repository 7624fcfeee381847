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
use crate::memory::Watch;
use crate::server::Server;
use crate::table::{Limit, Row, Table};

/// One after the other: what the first leaves behind must not add up.
const FLOODS: usize = 3;

/// What the clients may make it take. Some of their bodies are of the largest size, and many times as large once they are read into values.
const MEMORY_LIMIT: Limit = Limit::AtMost(450.0);

/// Many clients at once, more than are let in, of whom some send much, some send the worst that they can, some never read and some leave: the
/// server's memory meanwhile, and what became of them. Servers of their own are flooded: one whose limits are low enough to be met at every
/// stage, and one with the defaults.
pub async fn flood(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    one_server(bench, "low limits", &low_limits(), table).await?;
    one_server(bench, "default limits", &json!({}), table).await
}

async fn one_server(bench: &Bench, kind: &str, limits: &Value, table: &mut Table) -> anyhow::Result<()> {
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
    table.push(of_each("given up with 503 or 504", tally.given_up()));
    table.push(of_each("cut off while they sent", tally.cut_off()));
    table.push(Row::figure(&name("answered after, p50, s"), tally.seconds(0.5)));
    table.push(Row::figure(&name("answered after, p99, s"), tally.seconds(0.99)));
    Ok(())
}

/// The most memory above that of the idle server, and what became of all clients.
async fn measure(bench: &Bench, server: &Server, kind: &str) -> anyhow::Result<(u64, Tally)> {
    let mut connection = Connection::open(server.address()).await?;
    add(&mut connection, INDEX, &numbered(&bench.corpus.spare)).await?;
    require_answers(bench, server).await?;
    let watch = Watch::begin(server.id())?;
    watch.forget_peak()?;
    let mut tally = Tally::default();
    for number in 1..=FLOODS {
        eprintln!("flood, {kind}: {number} of {FLOODS}");
        one_flood(bench, server, &mut tally).await?;
    }
    Ok((watch.more_bytes_at_peak()?, tally))
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
    // Those who never read have not left, and nobody else notices.
    require_answers(bench, server).await?;
    ensure!(silent.try_join_next().is_none(), "a client that never reads has ended");
    Ok(())
}

/// Whoever comes alone is answered.
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
