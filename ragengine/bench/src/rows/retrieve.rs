use anyhow::ensure;
use ragengine_client::wire::Retrieved;

use super::{Bench, RETRIEVED};
use crate::floor::QuestionPace;
use crate::http::Connection;
use crate::table::Table;

/// Compares retrieval with embedding the question and searching.
pub async fn retrieve(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    require_same_answers(bench).await?;
    let compared = bench.compare_with_floor("/retrieve", &bench.retrievals(), RETRIEVED).await?;
    compared.push_to(table, "/retrieve");
    Ok(())
}

/// Checks that server and floor find the same chunks, so that they are comparable. Also warms up both.
async fn require_same_answers(bench: &Bench) -> anyhow::Result<()> {
    let floor = bench.floor.answer(bench.corpus.questions.clone(), 1, QuestionPace::BackToBack).await?;
    let load = bench.retrievals();
    let mut connection = Connection::open(load.address).await?;
    let mut same = 0;
    for (body, nearest) in load.bodies.iter().zip(&floor.nearest) {
        let found: Retrieved = serde_json::from_slice(&connection.post(load.path, body.clone()).await?)?;
        let first = found.results.first().and_then(|node| node.doc_id.parse().ok());
        same += usize::from(first.is_some() && first == nearest.first().copied());
    }
    // Different batches round the vectors differently, which may swap chunks of nearly equal distance.
    let asked = load.bodies.len();
    ensure!(same * 20 >= asked * 19, "the server and the floor agree on only {same} of {asked} questions");
    Ok(())
}
