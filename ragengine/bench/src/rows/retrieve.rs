use anyhow::ensure;
use ragengine_client::wire::Retrieved;

use super::{Bench, RETRIEVED};
use crate::floor::QuestionPace;
use crate::http::Connection;
use crate::table::{Comparison, Limit, Table};

/// Compares retrieval with embedding the question and searching.
pub async fn retrieve(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    require_same_answers(bench).await?;
    let compared = bench.compare_with_floor("/retrieve", &bench.retrievals(), RETRIEVED).await?;
    compared.push_to(table, "/retrieve");
    hybrid(bench, table).await
}

/// Compares retrieval by vectors and words with retrieval by vectors.
async fn hybrid(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let (hybrid, dense) = (bench.retrievals_by("hybrid"), bench.retrievals());
    // Analyses the chunks, which the first search by words does.
    bench.run(&hybrid).await?;
    let mut comparison = Comparison::default();
    for round in 1..=bench.effort.rounds {
        eprintln!("/retrieve hybrid: round {round} of {}", bench.effort.rounds);
        let (of_hybrid, of_dense) = (bench.run(&hybrid).await?.cpu(), bench.run(&dense).await?.cpu());
        comparison.push(of_hybrid.as_secs_f64() * 1e3, of_dense.as_secs_f64() * 1e3);
    }
    table.push(comparison.row("/retrieve hybrid against dense, CPU").with_limit(Limit::AtMost(1.5)));
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
