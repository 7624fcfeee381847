use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use hyper::Method;
use serde_json::json;
use tokio::task::JoinSet;

use super::ingest::{add, numbered};
use super::worst::computations;
use super::{Bench, INDEX};
use crate::http::Connection;
use crate::server::Server;
use crate::statistics::percentile;
use crate::table::{Limit, Row, Table};

/// Interval between probes: 1% of the default of Kubernetes. Probes share one connection, so a shorter interval would
/// measure the queue on that connection while both processors are busy.
const INTERVAL: Duration = Duration::from_millis(100);

/// Duration of the measurement, in turns.
const TURNS: u32 = 30;

/// Measures the liveness probe of a separate server while one client per route repeats the most expensive request.
/// These requests may be rejected or slow, but the probe must be answered immediately.
pub async fn probes(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let folder = bench.folder.path().join("probes");
    fs::create_dir_all(&folder)?;
    let mut server = Server::start_limited(&bench.parts, &folder, bench.upstream.address(), &json!({})).await?;
    let measured = measure(bench, &server).await;
    let milliseconds = measured.with_context(|| server.condition())?;
    let name = |what: &str| format!("GET /livez while every route gets its most expensive input, {what} ms");
    table.push(Row::figure(&name("p99"), percentile(&milliseconds, 0.99)).with_limit(Limit::AtMost(100.0)));
    table.push(Row::figure(&name("p50"), percentile(&milliseconds, 0.5)));
    table.push(Row::figure(&name("longest"), percentile(&milliseconds, 1.0)));
    Ok(())
}

async fn measure(bench: &Bench, server: &Server) -> anyhow::Result<Vec<f64>> {
    let mut connection = Connection::open(server.address()).await?;
    add(&mut connection, INDEX, &numbered(&bench.corpus.spare)).await?;
    let is_over = Arc::new(AtomicBool::new(false));
    let mut clients: JoinSet<anyhow::Result<usize>> = computations()
        .into_iter()
        .map(|(path, body)| repeat_request(server.address(), path, body, Arc::clone(&is_over)))
        .collect();
    eprintln!("probes during the most expensive requests of every route");
    let (address, length) = (server.address(), TURNS * bench.effort.turn);
    let probed = tokio::task::spawn_blocking(move || probe_alone(address, length)).await?;
    is_over.store(true, Ordering::Relaxed);
    // Only finished clients are checked for errors; requests that still run are dropped.
    while let Some(ended) = clients.try_join_next() {
        ensure!(ended?? > 0, "a client with expensive requests got no reply");
    }
    probed
}

/// Probes from a separate thread, because the threads of the clients are busy and would delay the probes.
fn probe_alone(address: SocketAddr, length: Duration) -> anyhow::Result<Vec<f64>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connection = Connection::open(address).await?;
        probe(&mut connection, length).await
    })
}

/// Latency of each probe from its due time, in milliseconds. A slow probe also delays the following ones.
async fn probe(connection: &mut Connection, length: Duration) -> anyhow::Result<Vec<f64>> {
    let began = Instant::now();
    let mut milliseconds = Vec::new();
    let mut due = Duration::ZERO;
    while due < length {
        tokio::time::sleep(due.saturating_sub(began.elapsed())).await;
        connection.send(Method::GET, "/livez", Bytes::new()).await?;
        milliseconds.push((began.elapsed() - due).as_secs_f64() * 1e3);
        due += INTERVAL;
    }
    Ok(milliseconds)
}

/// Repeats a request until `is_over`. Rejections count as replies, as does a connection that the server closes while
/// the body is sent.
async fn repeat_request(
    address: SocketAddr,
    path: &'static str,
    body: Bytes,
    is_over: Arc<AtomicBool>,
) -> anyhow::Result<usize> {
    let mut replies = 0;
    while !is_over.load(Ordering::Relaxed) {
        let mut connection = Connection::open(address).await?;
        match connection.reply(Method::POST, path, body.clone()).await {
            Ok((status, reply)) => {
                let words = || String::from_utf8_lossy(&reply).chars().take(300).collect::<String>();
                ensure!(
                    !status.is_server_error() || matches!(status.as_u16(), 503 | 504),
                    "{path}: {status}: {}",
                    words()
                );
                replies += 1;
            }
            Err(error) if error.chain().any(|cause| cause.is::<hyper::Error>()) => replies += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(replies)
}
