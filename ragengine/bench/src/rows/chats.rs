use anyhow::ensure;
use serde_json::{Value, json};

use super::{Bench, CHAT, MANY_CLIENTS, index_chat_request, rate};
use crate::http::Connection;
use crate::load::{Load, Stop};
use crate::server::MAX_DISTANCE;
use crate::table::{Row, Table};

/// Chunks that a chat looks at: `retrieval.minTopK`.
const LOOKED_AT: usize = 100;

/// Squared distances of normalised vectors are not above this: every chunk is near enough.
const ANY_DISTANCE: f64 = 4.0;

/// A model whose tokenizer is known. Its window is that of the settings.
const KNOWN_MODEL: &str = "gpt-4o";

/// Chunks that fit into the prompt when all of those that are looked at are near enough, at least.
const FITTING: usize = 8;

/// Chat with retrieval, against embedding the question and searching.
pub async fn chat(bench: &mut Bench, table: &mut Table) -> anyhow::Result<()> {
    let load = bench.chats();
    require_sources(&load, 1).await?;
    let name = "chat with retrieval";
    let compared = bench.against_the_floor(name, &load, LOOKED_AT).await?;
    let many = Load { clients: MANY_CLIENTS, stop: Stop::After(4 * bench.effort.turn), ..load };
    let many = bench.run(&many).await?;
    compared.push_to(table, name);
    table.push(Row::figure("chat with retrieval, 1 client, chats a second", rate(&compared.outcomes)));
    table.push(Row::figure("chat with retrieval, 32 clients, chats a second", many.rate()));
    all_candidates(bench, table).await
}

/// The same where every chunk that is looked at is near enough: each of them is rendered, and its tokens are counted or known.
async fn all_candidates(bench: &mut Bench, table: &mut Table) -> anyhow::Result<()> {
    bench.server.restart_with_max_distance(ANY_DISTANCE).await?;
    let request = |question: &str| {
        let mut request = index_chat_request(question);
        request["model"] = json!(KNOWN_MODEL);
        request
    };
    let load = bench.one_client(CHAT, bench.bodies(request));
    // Tokens that have been counted once are known from then on: the first turn is not the one to measure.
    require_sources(&load, FITTING).await?;
    let name = "chat with retrieval, 100 candidates near enough";
    let compared = bench.against_the_floor(name, &load, LOOKED_AT).await?;
    compared.push_to(table, name);
    table.push(Row::figure(&format!("{name}, 1 client, chats a second"), rate(&compared.outcomes)));
    bench.server.restart_with_max_distance(MAX_DISTANCE).await
}

/// A chat that found nothing would be passed through, which costs less. It warms up, too.
async fn require_sources(load: &Load, at_least: usize) -> anyhow::Result<()> {
    let mut connection = Connection::open(load.address).await?;
    let mut with_sources = 0;
    for body in load.bodies.iter() {
        let reply: Value = serde_json::from_slice(&connection.post(load.path, body.clone()).await?)?;
        with_sources += usize::from(reply["source_nodes"].as_array().is_some_and(|nodes| nodes.len() >= at_least));
    }
    let asked = load.bodies.len();
    ensure!(
        with_sources * 10 >= asked * 9,
        "only {with_sources} of {asked} chats were given {at_least} or more chunks"
    );
    Ok(())
}
