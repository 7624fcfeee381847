//! The program `ragengine-bench`: the running server against the floor of its parts, in one run on one machine.
//!
//! ```text
//! args ── what the command line says      effort ── how much is measured
//! corpus ── documents and questions, the same ones every time
//! upstream ── a language model that has its answer ready
//! server, nginx ── child processes        child ── their end, whatever happens
//! floor ── the embedding model and FAISS, called directly
//! http, load ── connections, and loops of requests over them
//! event_stream, stream_load ── the same for streamed answers
//! cpu, memory, log ── what the system and the server say about a process
//! clock, open_files ── what all tasks share
//! vectors ── a large index, without a server
//! rows ── the measurements                statistics, table ── what is made of them, and the verdicts
//! ```
//!
//! Processor time is compared, and only within a run: machines are shared, and what the same work costs changes
//! from one second to the next, by a half and more. Whatever is compared is therefore measured in short turns, and the median of
//! the turns' ratios counts.

mod args;
mod child;
mod clock;
mod corpus;
mod cpu;
mod effort;
mod event_stream;
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

// The server's own, so that the floor's memory comes from the same allocator.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// A limit was missed.
const MISSED: u8 = 1;
/// Nothing could be measured.
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
    // A floor that is being measured need not be waited for.
    runtime.shutdown_background();
    result
}

async fn measure(arguments: &Arguments) -> anyhow::Result<Table> {
    let effort = Effort::of(arguments);
    let mut table = Table::default();
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
    // Two ends of each stream are in this program, and two in the server. A flood has no more clients.
    open_files::allow(4 * effort.streams_at_once as u64)?;
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let upstream = Upstream::start().await?;
    eprintln!("starting the server, and loading the floor's model");
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

/// Done when the process gets SIGTERM or SIGINT.
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
