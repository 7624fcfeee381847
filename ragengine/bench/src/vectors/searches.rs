use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use ragengine_faiss::{SearchOptions, VectorIndex};
use ragengine_index::Index;
use ragengine_index::search::Query;
use ragengine_pipeline::filter::Filter;
use serde_json::json;

use super::clusters::Clusters;
use super::{DIMENSIONS, NEAREST, RECALL, exact};
use crate::cpu;
use crate::table::{Comparison, Limit, Row};

/// Metadata keys, and the number of values of each. A filter on one value matches `1 / values` of the documents.
pub const FILTERS: [(&str, usize); 4] = [("half", 2), ("tenth", 10), ("hundredth", 100), ("thousandth", 1000)];

const QUERIES: usize = 200;

/// Number of the first query vector, beyond the numbers of all chunks.
pub const FIRST_QUERY: u64 = 1 << 40;

/// Measures searches without and with filters.
pub fn rows(index: &Arc<Index>, folder: &Path, chunks: usize, rounds: usize) -> anyhow::Result<Vec<Row>> {
    let clusters = Clusters::new();
    let queries: Vec<Vec<f32>> = (0..QUERIES as u64).map(|number| clusters.vector(FIRST_QUERY + number)).collect();
    let each: Vec<usize> = [1].into_iter().chain(FILTERS.map(|(_, of)| of)).collect();
    let exact = exact::nearest(&queries, chunks, &each)?;
    let plain = with_filter(&queries, &Filter::default());
    let mut rows = vec![
        against_faiss(index, folder, &plain, rounds)?,
        Row::figure("recall@10", recall(index, &plain, &exact[0])?).with_limit(RECALL),
        Row::figure("search and reading 10 chunks, CPU ms", milliseconds(|| search_and_read(index, &plain))?),
    ];
    for ((key, of), exact) in FILTERS.iter().zip(&exact[1..]) {
        let filter = Filter::new(&[((*key).to_owned(), json!(0))].into_iter().collect())?;
        let filtered = with_filter(&queries, &filter);
        let share = 100.0 / *of as f64;
        let mut turns = Comparison::default();
        for _ in 0..rounds {
            turns.push(milliseconds(|| search(index, &filtered))?, milliseconds(|| search(index, &plain))?);
        }
        let row = turns.row(&format!("search in {share} % of the documents against search in all, CPU ms"));
        rows.push(if *of == 2 { row.with_limit(Limit::AtMost(2.0)) } else { row });
        let recall = recall(index, &filtered, exact)?;
        rows.push(Row::figure(&format!("recall@10 in {share} %"), recall).with_limit(RECALL));
    }
    let first = with_new_filters(&queries)?;
    rows.push(Row::figure(
        "search in 50 % of the documents, with a filter that was not used before, CPU ms",
        milliseconds(|| search(index, &first))?,
    ));
    Ok(rows)
}

/// Queries with a different filter each, which all match half of the documents.
fn with_new_filters(vectors: &[Vec<f32>]) -> anyhow::Result<Vec<Query>> {
    let query = |(number, vector): (usize, &Vec<f32>)| {
        let filter = Filter::new(&[("half".to_owned(), json!([0, format!("not {number}")]))].into_iter().collect())?;
        Ok(Query::dense(vector.clone(), NEAREST, filter))
    };
    vectors.iter().enumerate().map(query).collect()
}

/// Compares the index with FAISS and the same kind of index, in turns.
fn against_faiss(index: &Arc<Index>, folder: &Path, queries: &[Query], rounds: usize) -> anyhow::Result<Row> {
    let faiss = faiss(folder)?;
    let direct = || {
        for query in queries {
            let found = faiss.search(query.vectors.first(), NEAREST, None, SearchOptions::default())?;
            ensure!(found.len() == NEAREST, "FAISS found {}", found.len());
        }
        Ok(())
    };
    let mut turns = Comparison::default();
    for _ in 0..rounds {
        turns.push(milliseconds(|| search(index, queries))?, milliseconds(direct)?);
    }
    Ok(turns.row("search against FAISS called directly, CPU ms").with_limit(Limit::AtMost(1.3)))
}

/// Reads the FAISS file of the index's snapshot.
fn faiss(folder: &Path) -> anyhow::Result<VectorIndex> {
    let file = faiss_file(&folder.join("index"))?.context("the index has no snapshot")?;
    let kinds = ["HNSW32", "HNSW32_SQ8"]
        .map(|kind| VectorIndex::read(&file, kind.parse()?, DIMENSIONS).map_err(anyhow::Error::from));
    kinds.into_iter().find_map(Result::ok).context("the snapshot has none of the kinds that `auto` selects")
}

fn faiss_file(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let found = if path.is_dir() {
            faiss_file(&path)?
        } else {
            path.extension().is_some_and(|extension| extension == "faiss").then_some(path)
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn with_filter(vectors: &[Vec<f32>], filter: &Filter) -> Vec<Query> {
    let query = |vector: &Vec<f32>| Query::dense(vector.clone(), NEAREST, filter.clone());
    vectors.iter().map(query).collect()
}

fn search(index: &Arc<Index>, queries: &[Query]) -> anyhow::Result<()> {
    for query in queries {
        let found = index.search(query)?.results.len();
        ensure!(found == NEAREST, "the index found {found}");
    }
    Ok(())
}

fn search_and_read(index: &Arc<Index>, queries: &[Query]) -> anyhow::Result<()> {
    queries.iter().try_for_each(|query| Ok(index.search(query)?.read_all().map(drop)?))
}

/// Share of the exactly nearest chunks that the index finds, from 0 to 1.
fn recall(index: &Arc<Index>, queries: &[Query], exact: &[Vec<usize>]) -> anyhow::Result<f64> {
    let mut hits = 0;
    for (query, exact) in queries.iter().zip(exact) {
        let found = index.search(query)?.read_all()?;
        hits += found.iter().filter(|found| exact.iter().any(|near| found.doc_id == near.to_string())).count();
    }
    Ok(hits as f64 / exact.iter().map(Vec::len).sum::<usize>() as f64)
}

/// Processor time of `turn` for each query, in milliseconds.
fn milliseconds(turn: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let before = cpu::of_this_thread();
    turn()?;
    let spent: Duration = cpu::of_this_thread().saturating_sub(before);
    Ok(spent.as_secs_f64() * 1e3 / QUERIES as f64)
}
