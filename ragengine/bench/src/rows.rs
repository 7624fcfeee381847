//! The measurements: each adds its rows to the table.

mod beside_ingest;
mod chats;
mod clients;
mod copies;
mod cutting;
mod filling;
mod flood;
mod grounded;
mod hybrid;
mod ingest;
mod pass_through;
mod probes;
mod profiles;
mod retrieve;
mod sessions;
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
use crate::floor::{Floor, QuestionPace};
use crate::load::{Load, LoadResult, Stop};
use crate::server::Server;
use crate::statistics::median;
use crate::table::{Comparison, Limit, Row, Table};
use crate::upstream::Upstream;

/// Name of the measured index.
const INDEX: &str = "bench";

/// State shared by all measurements. The child processes are the first fields, so that they stop before the folder is
/// removed.
pub struct Bench {
    /// The measured server.
    pub server: Server,
    /// The embedding model and FAISS, called directly.
    pub floor: Floor,
    /// The fake language model.
    pub upstream: Upstream,
    /// Programs and files that the benchmark uses.
    pub parts: Parts,
    /// Sizes and durations of the measurements.
    pub effort: Effort,
    /// Documents and questions.
    pub corpus: Corpus,
    /// Temporary folder for all files.
    pub folder: TempDir,
}

/// Measures everything, or one subject.
///
/// # Errors
///
/// If a measurement fails or returns unexpected results.
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
        Some(Subject::Clients) => {
            ingest::ingest(bench, &mut Table::default()).await?;
            clients::clients(bench, table).await?;
            pass_through::pass_through(bench, table).await?;
        }
        Some(Subject::Copies) => copies::copies(bench, table).await?,
        Some(Subject::Cutting) => cutting::cutting(bench, table).await?,
        Some(Subject::Flood) => flood::flood(bench, table).await?,
        Some(Subject::Grounded) => grounded::grounded(bench, table).await?,
        Some(Subject::Hybrid) => hybrid::hybrid(bench, table).await?,
        Some(Subject::Profiles) => {
            ingest::ingest(bench, &mut Table::default()).await?;
            profiles::profiles(bench).await?;
        }
        Some(Subject::Probes) => probes::probes(bench, table).await?,
        Some(Subject::Retrieve) => {
            ingest::ingest(bench, &mut Table::default()).await?;
            retrieve::retrieve(bench, table).await?;
        }
        Some(Subject::Sessions) => sessions::sessions(bench, table).await?,
        Some(Subject::Sync) => sync::sync(bench, table).await?,
        // These need no server.
        Some(Subject::Vectors | Subject::Weaviate) => {}
        None => everything(bench, table).await?,
    }
    let others = cpu_of_others(bench)? - others;
    let available = started.elapsed().as_secs_f64() * thread::available_parallelism()?.get() as f64;
    table.push(Row::figure("used by other processes, % of the processors", others / available * 1e2));
    Ok(())
}

async fn everything(bench: &mut Bench, table: &mut Table) -> anyhow::Result<()> {
    ingest::ingest(bench, table).await?;
    sync::sync(bench, table).await?;
    cutting::cutting(bench, table).await?;
    start::restart(bench, table).await?;
    retrieve::retrieve(bench, table).await?;
    hybrid::hybrid(bench, table).await?;
    chats::chat(bench, table).await?;
    clients::clients(bench, table).await?;
    pass_through::pass_through(bench, table).await?;
    sessions::sessions(bench, table).await?;
    grounded::grounded(bench, table).await?;
    streams::streams(bench, table).await?;
    throughput::throughput(bench, table).await?;
    beside_ingest::beside_ingest(bench, table).await?;
    flood::flood(bench, table).await?;
    probes::probes(bench, table).await?;
    copies::copies(bench, table).await
}

/// Processor time of the machine used by other processes and virtual machines so far, in seconds. A large share makes
/// the results unreliable.
fn cpu_of_others(bench: &Bench) -> anyhow::Result<f64> {
    let own = cpu::of_this_process_and_ended_children()? + cpu::of_process(bench.server.id())?;
    Ok(cpu::of_machine()?.as_secs_f64() - own.as_secs_f64())
}

impl Bench {
    /// One request body per question.
    fn bodies(&self, body: impl Fn(&str) -> Value) -> Arc<[Bytes]> {
        self.corpus.questions.iter().map(|question| Bytes::from(body(question).to_string())).collect()
    }

    /// Searches by vectors only, as the floor searches.
    fn retrievals(&self) -> Load {
        self.retrievals_by("dense")
    }

    fn retrievals_by(&self, mode: &str) -> Load {
        let body = |question: &str| {
            let stages = json!({"retrieval": mode});
            json!({"index_name": INDEX, "query": question, "max_node_count": RETRIEVED, "pipeline": stages})
        };
        self.one_client("/retrieve", self.bodies(body))
    }

    /// Searches by vectors only, in a tenth of the documents.
    fn filtered_retrievals(&self) -> Load {
        let body = |question: &str| {
            let (stages, tenth) = (json!({"retrieval": "dense"}), json!({"tenth": 0}));
            let mut body =
                json!({"index_name": INDEX, "query": question, "max_node_count": RETRIEVED, "pipeline": stages});
            body["metadata_filter"] = tenth;
            body
        };
        self.one_client("/retrieve", self.bodies(body))
    }

    fn chats(&self) -> Load {
        self.one_client(CHAT, self.bodies(index_chat_request))
    }

    fn passed_through(&self) -> Load {
        self.one_client(CHAT, self.bodies(chat_request))
    }

    /// A load with one client that sends each body once.
    fn one_client(&self, path: &'static str, bodies: Arc<[Bytes]>) -> Load {
        let stop = Stop::Requests(bodies.len());
        Load { address: self.server.address(), path, bodies, clients: 1, stop, token: None }
    }

    /// Runs a load and measures the processor time of the server.
    async fn run(&self, load: &Load) -> anyhow::Result<LoadResult> {
        load.run(&[self.server.id()]).await
    }

    /// Compares the processor time of a load, which has one request per question, with embedding the questions and
    /// searching. A turn has all questions, and both sides alternate within it. The floor answers the questions without
    /// pauses, so that the cost of pauses counts for the server. A second row has the floor at the pace of the server.
    async fn compare_with_floor(&self, name: &str, load: &Load, k: usize) -> anyhow::Result<FloorComparison> {
        let mut compared = FloorComparison::default();
        for round in 1..=self.effort.rounds {
            eprintln!("{name}: round {round} of {}", self.effort.rounds);
            let (mut measured, mut floor, mut back_to_back) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
            for (bodies, questions) in load.bodies.chunks(ALTERNATION).zip(self.corpus.questions.chunks(ALTERNATION)) {
                let part = Load { bodies: bodies.into(), stop: Stop::Requests(bodies.len()), ..load.clone() };
                let result = self.run(&part).await?;
                let pace = QuestionPace::Every(result.interval());
                measured += result.cpu();
                compared.results.push(result);
                // The floor with the limit runs first: like the server, it finds the caches filled by the other side.
                back_to_back += self.floor.answer(questions.to_vec(), k, QuestionPace::BackToBack).await?.cpu;
                floor += self.floor.answer(questions.to_vec(), k, pace).await?.cpu;
            }
            let milliseconds = |cpu: Duration| cpu.as_secs_f64() * 1e3 / load.bodies.len() as f64;
            compared.same_pace.push(milliseconds(measured), milliseconds(floor));
            compared.back_to_back.push(milliseconds(measured), milliseconds(back_to_back));
        }
        Ok(compared)
    }
}

/// The server compared with embedding and searching alone.
#[derive(Default)]
struct FloorComparison {
    back_to_back: Comparison,
    same_pace: Comparison,
    results: Vec<LoadResult>,
}

impl FloorComparison {
    fn push_to(&self, table: &mut Table, name: &str) {
        let limit = Limit::AtMost(1.3);
        table.push(self.back_to_back.row(&format!("{name}, CPU ms a request")).with_limit(limit));
        table.push(self.same_pace.row(&format!("{name}, floor at the same pace, CPU ms a request")));
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

/// Median of the rates, in requests per second.
fn rate(results: &[LoadResult]) -> f64 {
    median(&results.iter().map(LoadResult::rate).collect::<Vec<_>>())
}

/// Median of the percentile `fraction` (0 to 1) of each load, in milliseconds.
fn latency(results: &[LoadResult], fraction: f64) -> f64 {
    median(&results.iter().map(|result| result.latency_ms(fraction)).collect::<Vec<_>>())
}

/// Number of questions per side before the sides alternate.
const ALTERNATION: usize = 10;

const CHAT: &str = "/v1/chat/completions";

/// Number of chunks that a retrieval requests.
const RETRIEVED: usize = 5;

/// Number of concurrent clients in measurements with many clients.
const MANY_CLIENTS: usize = 32;
