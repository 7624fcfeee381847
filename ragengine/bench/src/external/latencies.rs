use std::time::Instant;

use anyhow::ensure;
use ragengine_pipeline::filter::Filter;
use ragengine_vector_database::{DenseSearch, Hit, Index, WordSearch};
use serde_json::json;

use super::documents::Maker;
use crate::statistics::median;
use crate::vectors::{Clusters, FIRST_QUERY, NEAREST, exact_nearest};

/// Requests of each kind.
const REQUESTS: usize = 200;

/// The divisor of the documents that the filter allows.
const FILTERED: usize = 10;

/// The median milliseconds of requests, one after the other, and the recall of searches.
pub async fn measure(index: &Index, chunks: usize) -> anyhow::Result<Vec<(String, f64)>> {
    let clusters = Clusters::new();
    let vectors: Vec<Vec<f32>> = (0..REQUESTS as u64).map(|number| clusters.vector(FIRST_QUERY + number)).collect();
    let exact = exact_nearest(&vectors, chunks, &[1, FILTERED])?;
    let equal = Filter::new(&[("tenth".to_owned(), json!(0))].into_iter().collect())?;
    let compared = Filter::new(&[("tenth".to_owned(), json!({"$lt": 1}))].into_iter().collect())?;
    let everything = Filter::default();
    let mut rows = Vec::new();
    for (what, filter, exact) in [
        ("nearest 10", &everything, &exact[0]),
        ("nearest 10 in 10 %, $eq", &equal, &exact[1]),
        ("nearest 10 in 10 %, $lt", &compared, &exact[1]),
    ] {
        let (mut times, mut found) = (Vec::new(), 0);
        for (vector, exact) in vectors.iter().zip(exact) {
            let vectors = std::slice::from_ref(vector);
            let search = DenseSearch { vectors, top_k: NEAREST, filter, has_vectors: false };
            let began = Instant::now();
            let hits = index.nearest(&search).await?;
            times.push(milliseconds(began));
            found += hits.iter().filter(|hit| exact.contains(&number(hit))).count();
        }
        rows.push((format!("{what}, median ms"), median(&times)));
        rows.push((format!("{what}, recall@10"), found as f64 / (REQUESTS * NEAREST) as f64));
    }
    rows.push(("10 by 3 words, median ms".to_owned(), by_words(index, chunks).await?));
    rows.push(("writing a document again, median ms".to_owned(), writes(index, chunks).await?));
    Ok(rows)
}

/// Searches for three words of a document each.
async fn by_words(index: &Index, chunks: usize) -> anyhow::Result<f64> {
    let (mut maker, filter, mut times) = (Maker::new(), Filter::default(), Vec::new());
    for request in 0..REQUESTS {
        let document = maker.document(request * 7919 % chunks);
        let words: Vec<&str> = document.chunks[0].terms.split(' ').step_by(5).take(3).collect();
        let terms = words.join(" ");
        let search = WordSearch { terms: &terms, top_k: NEAREST, filter: &filter, has_vectors: false };
        let began = Instant::now();
        let hits = index.by_words(&search).await?;
        times.push(milliseconds(began));
        ensure!(!hits.is_empty(), "no chunk has the words '{terms}' of a document");
    }
    Ok(median(&times))
}

async fn writes(index: &Index, chunks: usize) -> anyhow::Result<f64> {
    let (mut maker, mut times) = (Maker::new(), Vec::new());
    for request in 0..REQUESTS {
        let document = maker.document(request * 7919 % chunks);
        let began = Instant::now();
        index.put(&[document]).await?;
        times.push(milliseconds(began));
    }
    Ok(median(&times))
}

fn number(hit: &Hit) -> usize {
    hit.document.doc_id.parse().unwrap_or(usize::MAX)
}

fn milliseconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}
