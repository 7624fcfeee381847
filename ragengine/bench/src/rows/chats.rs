use anyhow::ensure;
use serde_json::Value;

use super::{Bench, MANY_CLIENTS, rate};
use crate::http::Connection;
use crate::load::{Load, Stop};
use crate::table::{Limit, Row, Table};

/// Chunks that a chat looks at: `retrieval.minTopK`.
const LOOKED_AT: usize = 100;

/// Chat with retrieval, against embedding the question and searching.
pub async fn chat(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let load = bench.chats();
    require_sources(&load).await?;
    let (comparison, ones) = bench.against_the_floor("chat with retrieval", &load, LOOKED_AT).await?;
    let many = Load { clients: MANY_CLIENTS, stop: Stop::After(4 * bench.effort.turn), ..load };
    let many = bench.run(&many).await?;
    table.push(comparison.row("chat with retrieval, CPU ms a request").with_limit(Limit::AtMost(1.3)));
    table.push(Row::figure("chat with retrieval, 1 client, chats a second", rate(&ones)));
    table.push(Row::figure("chat with retrieval, 32 clients, chats a second", many.rate()));
    Ok(())
}

/// A chat that found nothing would be passed through, which costs less. It warms up, too.
async fn require_sources(load: &Load) -> anyhow::Result<()> {
    let mut connection = Connection::open(load.address).await?;
    let mut with_sources = 0;
    for body in load.bodies.iter() {
        let reply: Value = serde_json::from_slice(&connection.post(load.path, body.clone()).await?)?;
        with_sources += usize::from(reply["source_nodes"].as_array().is_some_and(|nodes| !nodes.is_empty()));
    }
    let asked = load.bodies.len();
    ensure!(with_sources * 10 >= asked * 9, "only {with_sources} of {asked} chats were given context");
    Ok(())
}
