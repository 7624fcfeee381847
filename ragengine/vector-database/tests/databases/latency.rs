use std::time::{Duration, Instant};

use fastrand::Rng;
use ragengine_pipeline::filter::Filter;
use ragengine_vector_database::{
    Chunk, ChunkPlace, DenseSearch, Document, Index, IndexShape, Selection, VectorIndex, WordSearch,
};
use serde_json::json;

use crate::corpus::normalised;
use crate::nodes::Nodes;

const DOCUMENTS: usize = 2_000;
const CHUNKS: usize = 5;
const WIDTH: usize = 384;
const QUERIES: usize = 100;

fn measured(number: usize, random: &mut Rng) -> Document {
    let word = |random: &mut Rng| format!("word{}", random.u32(..).trailing_zeros() * 37 + random.u32(..37));
    let chunk = |ordinal: usize, random: &mut Rng| {
        let words: Vec<String> = (0..150).map(|_| word(random)).collect();
        Chunk {
            place: ChunkPlace {
                start: None,
                end: None,
                heading: None,
                page: None,
                hash: format!("{number} {ordinal}"),
            },
            text: words.join(" "),
            terms: words.join(" "),
            vector: normalised(WIDTH, random),
        }
    };
    let metadata = json!({"title": format!("Title {number}"), "priority": number % 10, "date": "2026-11-25"});
    Document {
        doc_id: format!("document {number}"),
        text: "text ".repeat(800),
        metadata: metadata.as_object().unwrap().clone(),
        source: Some("s".to_owned()),
        content_hash: number.to_string(),
        revision: None,
        chunks: (0..CHUNKS).map(|ordinal| chunk(ordinal, random)).collect(),
    }
}

async fn measure(name: &str, mut operation: impl AsyncFnMut()) {
    let mut times = Vec::new();
    for _ in 0..QUERIES {
        let began = Instant::now();
        operation().await;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let at = |part: f64| times[(QUERIES as f64 * part) as usize];
    eprintln!("{name}: {:.1?} half, {:.1?} of 95 %", at(0.5), at(0.95));
}

async fn measure_all(nodes: &Nodes, replicas: u32) {
    let vector_index = VectorIndex::Hnsw { max_connections: 32, ef_construction: 128, ef: None };
    let shape = IndexShape { vector_index, dimensions: WIDTH, replicas, shards: 1 };
    let index = Index::create(nodes.client(0), "tests", "measured", &shape).await.unwrap();
    let mut random = Rng::with_seed(1);
    let began = Instant::now();
    for first in (0..DOCUMENTS).step_by(50) {
        let documents: Vec<Document> = (first..first + 50).map(|number| measured(number, &mut random)).collect();
        index.put(&documents).await.unwrap();
    }
    let elapsed: Duration = began.elapsed();
    eprintln!("{replicas} replicas, {} chunks of {WIDTH} written in {elapsed:.1?}", DOCUMENTS * CHUNKS);
    let everything = Filter::default();
    let compared = Filter::parse(r#"{"priority": {"$gte": 7}}"#).unwrap();
    let equal = Filter::parse(r#"{"priority": {"$in": [1, 2, 3]}}"#).unwrap();
    for (name, filter) in [("nearest 10", &everything), ("nearest 10, $in", &equal), ("nearest 10, $gte", &compared)] {
        measure(name, async || {
            let vectors = [normalised(WIDTH, &mut random)];
            let search = DenseSearch { vectors: &vectors, top_k: 10, filter, has_vectors: false };
            assert_eq!(index.nearest(&search).await.unwrap().len(), 10);
        })
        .await;
    }
    measure("words, 10", async || {
        let terms = format!("word{} word{} word{}", random.u32(..300), random.u32(..300), random.u32(..300));
        let search = WordSearch { terms: &terms, top_k: 10, filter: &everything, has_vectors: false };
        index.by_words(&search).await.unwrap();
    })
    .await;
    measure("record", async || drop(index.record("document 77").await.unwrap().unwrap())).await;
    measure("whole document", async || drop(index.whole_document("document 77").await.unwrap().unwrap())).await;
    measure("list 100 of 2,000", async || {
        let page = index.list(Selection::Filter(&everything), None, 100).await.unwrap();
        assert_eq!(page.documents.len(), 100);
    })
    .await;
    measure("size", async || assert!(index.size(Selection::Source("s")).await.unwrap().chunks > 0)).await;
    measure("write a document of 5 chunks", async || {
        index.put(&[measured(random.usize(..DOCUMENTS), &mut random)]).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it measures and asserts no times"]
async fn latencies_of_one_node() {
    measure_all(&Nodes::start(1).await, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it measures and asserts no times"]
async fn latencies_of_three_nodes() {
    measure_all(&Nodes::start(3).await, 3).await;
}
