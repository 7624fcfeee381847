//! Requests from the index with 1 to 256 clients, beside embedding and searching for one question after the other.

use serde_json::json;

use super::chats::CANDIDATES;
use super::ingest::mebibytes;
use super::{Bench, INDEX, RETRIEVED, latency, rate};
use crate::floor::QuestionPace;
use crate::load::{Load, Stop};
use crate::memory;
use crate::table::{Comparison, Row, Table};

/// Numbers of concurrent clients.
pub const CLIENTS: [usize; 4] = [1, 8, 32, 256];

/// Questions that the floor answers in a turn.
const FLOOR_QUESTIONS: usize = 60;

/// Measures each kind of request with each number of clients. Needs the documents in the index and in the floor.
pub async fn clients(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let filtered = |question: &str| {
        let (stages, tenth) = (json!({"retrieval": "dense"}), json!({"tenth": 0}));
        let mut body = json!({"index_name": INDEX, "query": question, "max_node_count": RETRIEVED, "pipeline": stages});
        body["metadata_filter"] = tenth;
        body
    };
    for (name, load, chunks) in [
        ("/retrieve, dense", bench.retrievals(), RETRIEVED),
        ("/retrieve, dense with a filter", bench.one_client("/retrieve", bench.bodies(filtered)), RETRIEVED),
        ("/retrieve, hybrid", bench.retrievals_by("hybrid"), RETRIEVED),
        ("chat with retrieval", bench.chats(), CANDIDATES),
    ] {
        for clients in CLIENTS {
            with_clients(bench, name, &Load { clients, ..load.clone() }, chunks, table).await?;
        }
    }
    let resident = memory::of_process(bench.server.id())?.resident;
    table.push(Row::figure("memory after 256 clients of each kind, MiB", mebibytes(resident)));
    Ok(())
}

/// The floor searches for as many chunks as the server does.
async fn with_clients(bench: &Bench, name: &str, load: &Load, chunks: usize, table: &mut Table) -> anyhow::Result<()> {
    let load = Load { stop: Stop::After(bench.effort.turn), ..load.clone() };
    let questions = &bench.corpus.questions[..FLOOR_QUESTIONS.min(bench.corpus.questions.len())];
    let (mut comparison, mut results) = (Comparison::default(), Vec::new());
    for round in 1..=bench.effort.rounds / 2 {
        eprintln!("{name}, {} clients: round {round} of {}", load.clients, bench.effort.rounds / 2);
        let result = bench.run(&load).await?;
        let floor = bench.floor.answer(questions.to_vec(), chunks, QuestionPace::BackToBack).await?.cpu;
        comparison.push(result.cpu_ms(), floor.as_secs_f64() * 1e3 / questions.len() as f64);
        results.push(result);
    }
    let named = |what: &str| format!("{name}, {} client(s): {what}", load.clients);
    table.push(comparison.row(&named("CPU ms a request")));
    table.push(Row::figure(&named("a second"), rate(&results)));
    table.push(Row::figure(&named("p50 ms"), latency(&results, 0.5)));
    table.push(Row::figure(&named("p99 ms"), latency(&results, 0.99)));
    Ok(())
}
