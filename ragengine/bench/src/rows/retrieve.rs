use anyhow::ensure;
use ragengine_client::wire::Retrieved;

use super::{Bench, RETRIEVED};
use crate::floor::Pace;
use crate::http::Connection;
use crate::table::Table;

/// Retrieval, against embedding the question and searching.
pub async fn retrieve(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    require_same_answers(bench).await?;
    let compared = bench.against_the_floor("/retrieve", &bench.retrievals(), RETRIEVED).await?;
    compared.push_to(table, "/retrieve");
    Ok(())
}

/// A floor that finds something else would be the floor of something else. It warms up both, too.
async fn require_same_answers(bench: &Bench) -> anyhow::Result<()> {
    let floor = bench.floor.answer(bench.corpus.questions.clone(), 1, Pace::BackToBack).await?;
    let load = bench.retrievals();
    let mut connection = Connection::open(load.address).await?;
    let mut same = 0;
    for (body, nearest) in load.bodies.iter().zip(&floor.nearest) {
        let found: Retrieved = serde_json::from_slice(&connection.post(load.path, body.clone()).await?)?;
        let first = found.results.first().and_then(|node| node.doc_id.parse().ok());
        same += usize::from(first.is_some() && first == nearest.first().copied());
    }
    // The vectors were made in other batches, which rounds them differently: near ties may be turned.
    let asked = load.bodies.len();
    ensure!(same * 20 >= asked * 19, "the server and the floor agree on {same} of {asked} questions only");
    Ok(())
}
