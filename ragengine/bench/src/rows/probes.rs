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

/// A probe is due after each such time, a hundred times as often as Kubernetes asks. Those of one connection queue: at a shorter interval than
/// one takes beside what has both processors, the figure would be the length of the queue.
const INTERVAL: Duration = Duration::from_millis(100);

/// Turns that it goes on for.
const TURNS: u32 = 30;

/// What Kubernetes asks, while every route of a server of its own gets the worst that it can be asked for, by a client each that asks again and
/// again. It may be refused, and it may take as long as it takes: whether the server lives has to be told at once.
pub async fn probes(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let folder = bench.folder.path().join("probes");
    fs::create_dir_all(&folder)?;
    let mut server = Server::start_limited(&bench.parts, &folder, bench.upstream.address(), &json!({})).await?;
    let measured = measure(bench, &server).await;
    let milliseconds = measured.with_context(|| server.condition())?;
    let name = |what: &str| format!("GET /livez while every route gets its worst input, {what} ms");
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
        .map(|(path, body)| ask_again_and_again(server.address(), path, body, Arc::clone(&is_over)))
        .collect();
    eprintln!("probes beside the worst of every route");
    let (address, length) = (server.address(), TURNS * bench.effort.turn);
    let probed = tokio::task::spawn_blocking(move || probe_alone(address, length)).await?;
    is_over.store(true, Ordering::Relaxed);
    // Whoever still waits for a reply need not get it. One that has failed says why.
    while let Some(ended) = clients.try_join_next() {
        ensure!(ended?? > 0, "a client that asks for the worst got no reply");
    }
    probed
}

/// Probes from a separate thread. The clients' threads are busy with their bodies: a probe that waits there would count as the server's time.
fn probe_alone(address: SocketAddr, length: Duration) -> anyhow::Result<Vec<f64>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connection = Connection::open(address).await?;
        probe(&mut connection, length).await
    })
}

/// How long after they were due probes were answered, in milliseconds. Those that fall due while one waits are late, too.
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

/// Whatever the reply: one that refuses is as good as another. Who is refused while sending may find the connection closed.
async fn ask_again_and_again(
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
