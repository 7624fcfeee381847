use anyhow::ensure;
use serde_json::{Value, json};

use super::{Bench, CHAT, MANY_CLIENTS, index_chat_request, rate};
use crate::http::Connection;
use crate::load::{Load, Stop};
use crate::server::MAX_DISTANCE;
use crate::table::{Row, Table};

/// Number of chunks that a chat searches for: `retrieval.minTopK`.
pub const CANDIDATES: usize = 100;

/// Maximum squared distance of normalised vectors: every chunk is relevant.
const ANY_DISTANCE: f64 = 4.0;

/// A model whose tokenizer is built in. The context window is that of the settings.
const KNOWN_MODEL: &str = "gpt-4o";

/// Minimum number of chunks in the prompt if all candidates are relevant.
const MIN_SOURCES: usize = 8;

/// Compares chats with retrieval with embedding the question and searching.
pub async fn chat(bench: &mut Bench, table: &mut Table) -> anyhow::Result<()> {
    let load = bench.chats();
    require_sources(&load, 1).await?;
    let name = "chat with retrieval";
    let compared = bench.compare_with_floor(name, &load, CANDIDATES).await?;
    let many = Load { clients: MANY_CLIENTS, stop: Stop::After(4 * bench.effort.turn), ..load };
    let many = bench.run(&many).await?;
    compared.push_to(table, name);
    table.push(Row::figure("chat with retrieval, 1 client, chats a second", rate(&compared.results)));
    table.push(Row::figure("chat with retrieval, 32 clients, chats a second", many.rate()));
    all_candidates(bench, table).await
}

/// Compares chats for which every candidate is relevant, so that all candidates are rendered and their tokens counted.
async fn all_candidates(bench: &mut Bench, table: &mut Table) -> anyhow::Result<()> {
    bench.server.restart_with_max_distance(ANY_DISTANCE).await?;
    let request = |question: &str| {
        let mut request = index_chat_request(question);
        request["model"] = json!(KNOWN_MODEL);
        request
    };
    let load = bench.one_client(CHAT, bench.bodies(request));
    // Token counts are cached, so the warm-up counts them before the measurement.
    require_sources(&load, MIN_SOURCES).await?;
    let name = "chat with retrieval, 100 candidates near enough";
    let compared = bench.compare_with_floor(name, &load, CANDIDATES).await?;
    compared.push_to(table, name);
    table.push(Row::figure(&format!("{name}, 1 client, chats a second"), rate(&compared.results)));
    bench.server.restart_with_max_distance(MAX_DISTANCE).await
}

/// Checks that chats find sources: a chat without sources is passed through, which costs less. Also warms up.
async fn require_sources(load: &Load, at_least: usize) -> anyhow::Result<()> {
    let mut connection = Connection::open(load.address).await?;
    let mut with_sources = 0;
    for body in load.bodies.iter() {
        let reply: Value = serde_json::from_slice(&connection.post(load.path, body.clone()).await?)?;
        with_sources += usize::from(reply["source_nodes"].as_array().is_some_and(|nodes| nodes.len() >= at_least));
    }
    let asked = load.bodies.len();
    ensure!(with_sources * 10 >= asked * 9, "only {with_sources} of {asked} chats have {at_least} or more sources");
    Ok(())
}
