//! `ragengine-bench` compares the running server with the minimum cost of its parts (the floor), in one run on one
//! machine.
//!
//! ```text
//! args ── the command line                effort ── sizes and durations of the measurements
//! corpus ── deterministic documents and questions
//! upstream ── a fake language model that answers immediately
//! server, nginx ── child processes        child ── stops them in all cases
//! floor ── the embedding model and FAISS, called directly
//! http, load ── connections and closed-loop load
//! event_stream, stream_load ── connections and load for streamed answers
//! cpu, memory, log ── processor time, memory and start times of processes
//! clock, open_files ── a monotonic clock, and the limit of open files
//! vectors ── a large index, without a server
//! rows ── the measurements                statistics, table ── medians, limits and output
//! ```
//!
//! Only processor times within one run are compared: on shared machines, the cost of the same work varies by 50% and
//! more from one second to the next. Both sides of a comparison therefore alternate in short turns, and the result is
//! the median of the ratios of the turns.

mod args;
mod child;
mod clock;
mod corpus;
mod cpu;
mod effort;
mod event_stream;
mod external;
mod floor;
mod http;
mod load;
mod log;
mod memory;
mod nginx;
mod open_files;
mod rows;
mod server;
mod statistics;
mod stream_load;
mod table;
mod upstream;
mod vectors;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use args::{Arguments, Parts, Subject};
use clap::Parser as _;
use corpus::Corpus;
use effort::Effort;
use floor::Floor;
use rows::Bench;
use server::Server;
use table::Table;
use tokio::signal::unix::{SignalKind, signal};
use upstream::Upstream;

// The allocator of the server, so that the floor uses the same one.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Exit code if a limit was missed.
const MISSED: u8 = 1;
/// Exit code if the measurement failed.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let misses = match &arguments.fill {
        Some(folder) => vectors::fill(folder, arguments.chunks).map(|()| 0),
        None => run(&arguments).and_then(|table| print(&table, &arguments).map(|()| table.misses())),
    };
    match misses {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(MISSED),
        Err(error) => {
            eprintln!("ragengine-bench: {error:#}");
            ExitCode::from(FAILED)
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<Table> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        let stop = stop_signal()?;
        tokio::select! {
            // Dropping the measurement ends the child processes and removes the folder.
            table = measure(arguments) => table,
            () = stop => anyhow::bail!("stopped"),
        }
    });
    // Do not wait for a running measurement of the floor.
    runtime.shutdown_background();
    result
}

async fn measure(arguments: &Arguments) -> anyhow::Result<Table> {
    let effort = Effort::of(arguments);
    let mut table = Table::default();
    if arguments.only == Some(Subject::Weaviate) {
        external::measure(effort.chunks, usize::from(arguments.nodes), &mut table).await?;
        return Ok(table);
    }
    if arguments.only != Some(Subject::Vectors) {
        measure_server(arguments, effort, &mut table).await?;
    }
    if matches!(arguments.only, None | Some(Subject::Vectors)) {
        vectors::measure(&arguments.cache, effort.chunks, effort.rounds, &mut table).await?;
    }
    Ok(table)
}

async fn measure_server(arguments: &Arguments, effort: Effort, table: &mut Table) -> anyhow::Result<()> {
    let parts = Parts::find(arguments)?;
    let corpus = Corpus::new(effort.documents, effort.questions);
    // Each stream has two sockets in this program and two in the server. A flood does not need more.
    open_files::allow(4 * effort.streams_at_once as u64)?;
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let upstream = Upstream::start().await?;
    eprintln!("starting the server and loading the model of the floor");
    let server = Server::start(&parts, folder.path(), upstream.address()).await?;
    let floor = Floor::load(&parts.model).await?;
    let mut bench = Bench { server, floor, upstream, parts, effort, corpus, folder };
    let measured = rows::measure(&mut bench, arguments.only, table).await;
    measured.with_context(|| bench.server.condition())
}

fn print(table: &Table, arguments: &Arguments) -> anyhow::Result<()> {
    let text = if arguments.markdown { table.markdown() } else { table.plain() };
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}

/// A future that completes on SIGTERM or SIGINT.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
