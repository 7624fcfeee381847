//! The measurements: each adds its rows to the table.

mod beside_ingest;
mod chats;
mod copies;
mod cutting;
mod flood;
mod ingest;
mod pass_through;
mod probes;
mod retrieve;
mod start;
mod streams;
mod sync;
mod throughput;
mod worst;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::args::{Parts, Subject};
use crate::corpus::Corpus;
use crate::cpu;
use crate::effort::Effort;
use crate::floor::{Floor, Pace};
use crate::load::{Load, Outcome, Stop};
use crate::server::Server;
use crate::statistics::median;
use crate::table::{Comparison, Limit, Row, Table};
use crate::upstream::Upstream;

/// The index that is asked.
const INDEX: &str = "bench";

/// What all measurements share. The child processes come first, so that they end before their folder does.
pub struct Bench {
    /// The server.
    pub server: Server,
    /// The model and FAISS, called directly.
    pub floor: Floor,
    /// The language model.
    pub upstream: Upstream,
    /// Programs and files.
    pub parts: Parts,
    /// How much is measured.
    pub effort: Effort,
    /// Documents and questions.
    pub corpus: Corpus,
    /// Where everything is written.
    pub folder: TempDir,
}

/// Measures everything, or one subject.
///
/// # Errors
///
/// When something could not be measured, or was not what it should be.
pub async fn measure(bench: &mut Bench, only: Option<Subject>, table: &mut Table) -> anyhow::Result<()> {
    let (others, started) = (cpu_of_others(bench)?, Instant::now());
    match only {
        Some(Subject::PassThrough) => pass_through::pass_through(bench, table).await?,
        Some(Subject::Chat) => {
            ingest::ingest(bench, &mut Table::default()).await?;
            chats::chat(bench, table).await?;
        }
        Some(Subject::Streams) => {
            ingest::fill(bench).await?;
            streams::streams(bench, table).await?;
        }
        Some(Subject::BesideIngest) => {
            ingest::fill(bench).await?;
            beside_ingest::beside_ingest(bench, table).await?;
        }
        Some(Subject::Copies) => copies::copies(bench, table).await?,
        Some(Subject::Cutting) => cutting::cutting(bench, table).await?,
        Some(Subject::Flood) => flood::flood(bench, table).await?,
        Some(Subject::Probes) => probes::probes(bench, table).await?,
        Some(Subject::Retrieve) => {
            ingest::ingest(bench, &mut Table::default()).await?;
            retrieve::retrieve(bench, table).await?;
        }
        Some(Subject::Sync) => sync::sync(bench, table).await?,
        Some(Subject::Vectors) => {}
        None => everything(bench, table).await?,
    }
    let others = cpu_of_others(bench)? - others;
    let available = started.elapsed().as_secs_f64() * thread::available_parallelism()?.get() as f64;
    table.push(Row::figure("taken meanwhile by others, % of the processors", others / available * 1e2));
    Ok(())
}

async fn everything(bench: &mut Bench, table: &mut Table) -> anyhow::Result<()> {
    ingest::ingest(bench, table).await?;
    sync::sync(bench, table).await?;
    cutting::cutting(bench, table).await?;
    start::restart(bench, table).await?;
    retrieve::retrieve(bench, table).await?;
    chats::chat(bench, table).await?;
    pass_through::pass_through(bench, table).await?;
    streams::streams(bench, table).await?;
    throughput::throughput(bench, table).await?;
    beside_ingest::beside_ingest(bench, table).await?;
    flood::flood(bench, table).await?;
    probes::probes(bench, table).await?;
    copies::copies(bench, table).await
}

/// Seconds of processor time that others than this program and its children have had of the machine, or have kept from it. Much of it
/// means that the figures are not to be trusted.
fn cpu_of_others(bench: &Bench) -> anyhow::Result<f64> {
    let own = cpu::of_this_process_and_ended_children()? + cpu::of_process(bench.server.id())?;
    Ok(cpu::of_machine()?.as_secs_f64() - own.as_secs_f64())
}

impl Bench {
    /// One request for each question.
    fn bodies(&self, body: impl Fn(&str) -> Value) -> Arc<[Bytes]> {
        self.corpus.questions.iter().map(|question| Bytes::from(body(question).to_string())).collect()
    }

    fn retrievals(&self) -> Load {
        let bodies =
            self.bodies(|question| json!({"index_name": INDEX, "query": question, "max_node_count": RETRIEVED}));
        self.one_client("/retrieve", bodies)
    }

    fn chats(&self) -> Load {
        self.one_client(CHAT, self.bodies(index_chat_request))
    }

    fn passed_through(&self) -> Load {
        self.one_client(CHAT, self.bodies(chat_request))
    }

    /// A load of one client that asks every question once.
    fn one_client(&self, path: &'static str, bodies: Arc<[Bytes]>) -> Load {
        let stop = Stop::Requests(bodies.len());
        Load { address: self.server.address(), path, bodies, clients: 1, stop }
    }

    /// Runs a load, watching the server.
    async fn run(&self, load: &Load) -> anyhow::Result<Outcome> {
        load.run(&[self.server.id()]).await
    }

    /// Processor time of a load, which has one request for each question, against that of embedding the questions and searching.
    /// All questions are a turn; within it the sides take turns, too. The floor's questions come one right after the other: what a pause costs is
    /// the server's doing. What they cost when they come as the server's did is measured beside it.
    async fn against_the_floor(&self, name: &str, load: &Load, k: usize) -> anyhow::Result<AgainstTheFloor> {
        let mut compared = AgainstTheFloor::default();
        for round in 1..=self.effort.rounds {
            eprintln!("{name}: round {round} of {}", self.effort.rounds);
            let (mut measured, mut floor, mut back_to_back) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
            for (bodies, questions) in load.bodies.chunks(ALTERNATION).zip(self.corpus.questions.chunks(ALTERNATION)) {
                let part = Load { bodies: bodies.into(), stop: Stop::Requests(bodies.len()), ..load.clone() };
                let outcome = self.run(&part).await?;
                let pace = Pace::Every(outcome.interval());
                measured += outcome.cpu();
                compared.outcomes.push(outcome);
                // First the one that counts: like the server it finds the other's work in the caches, and not its own.
                back_to_back += self.floor.answer(questions.to_vec(), k, Pace::BackToBack).await?.cpu;
                floor += self.floor.answer(questions.to_vec(), k, pace).await?.cpu;
            }
            let milliseconds = |cpu: Duration| cpu.as_secs_f64() * 1e3 / load.bodies.len() as f64;
            compared.at_the_same_pace.push(milliseconds(measured), milliseconds(floor));
            compared.back_to_back.push(milliseconds(measured), milliseconds(back_to_back));
        }
        Ok(compared)
    }
}

/// The server against embedding and searching alone.
#[derive(Default)]
struct AgainstTheFloor {
    back_to_back: Comparison,
    at_the_same_pace: Comparison,
    outcomes: Vec<Outcome>,
}

impl AgainstTheFloor {
    fn push_to(&self, table: &mut Table, name: &str) {
        let limit = Limit::AtMost(1.3);
        table.push(self.back_to_back.row(&format!("{name}, CPU ms a request")).with_limit(limit));
        table.push(self.at_the_same_pace.row(&format!("{name}, the floor at the same pace, CPU ms a request")));
    }
}

/// A chat without an index.
fn chat_request(question: &str) -> Value {
    json!({"model": "bench", "messages": [{"role": "user", "content": question}]})
}

/// A chat from the index.
fn index_chat_request(question: &str) -> Value {
    let mut request = chat_request(question);
    request["index_name"] = json!(INDEX);
    request
}

/// The median of the loads' rates.
fn rate(outcomes: &[Outcome]) -> f64 {
    median(&outcomes.iter().map(Outcome::rate).collect::<Vec<_>>())
}

/// The median of the loads' latencies.
fn latency(outcomes: &[Outcome], fraction: f64) -> f64 {
    median(&outcomes.iter().map(|outcome| outcome.latency_ms(fraction)).collect::<Vec<_>>())
}

/// Questions that one side answers before it is the other's turn.
const ALTERNATION: usize = 10;

const CHAT: &str = "/v1/chat/completions";

/// Chunks that a retrieval asks for.
const RETRIEVED: usize = 5;

/// Clients at once where many are meant.
const MANY_CLIENTS: usize = 32;
