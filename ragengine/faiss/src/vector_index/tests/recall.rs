use super::*;
use crate::strategy::{Search, Strategy};

/// The share of the expected rows that were found.
pub(super) fn recall(found: &[Vec<Neighbor>], expected: &[Vec<Neighbor>]) -> f64 {
    let pairs = || found.iter().zip(expected);
    let all: usize = pairs().map(|(_, expected)| expected.len()).sum();
    let hits: usize = pairs()
        .map(|(found, expected)| {
            expected.iter().filter(|neighbor| positions(found).contains(&neighbor.position)).count()
        })
        .sum();
    hits as f64 / all as f64
}

const COUNT: usize = 15_000;

#[test]
fn a_graph_and_lists_find_nearly_what_flat_finds() {
    let flat = index_of(Kind::Flat, COUNT);
    // kind, recall@10 at least, recall@100 at least
    for (kind, at_10, at_100) in [(GRAPH, 0.95, 0.95), (Kind::HnswSq8 { m: 32 }, 0.9, 0.9), (LISTS, 0.95, 0.95)] {
        let index = index_of(kind, COUNT);
        for (k, at_least) in [(10, at_10), (100, at_100)] {
            let SearchOptions { ef_search, probes } = SearchOptions::default();
            let strategy = Search { kind, rows: COUNT, allowed: COUNT, k, ef_search, probes }.strategy();
            assert!(strategy != Strategy::ExactScan, "the test needs a search that may miss rows");
            let queries = queries(100);
            let all = |index| -> Vec<_> { queries.iter().map(|query| search(index, query, k, None)).collect() };
            let recall = recall(&all(&index), &all(&flat));
            println!("{kind}: recall@{k} {recall}");
            assert!(recall >= at_least, "{kind}: recall@{k} {recall}");
        }
    }
}

/// FAISS computes distances one by one or four at a time. The sums must be equal to the last bit, or equal rows would
/// not be ties. Tests dimensions that fill whole vector registers, and others.
#[test]
fn every_search_computes_the_same_distance_for_a_row() {
    for dimensions in [5, 32, 37, 384] {
        let rows = clustered(1_000, dimensions, 1);
        for kind in KINDS {
            let mut index = VectorIndex::new(kind, dimensions).unwrap();
            train(&mut index, &rows);
            index.add(&rows).unwrap();
            let query = &clustered(1, dimensions, 2);
            let scanned = search(&index, query, 1_000, None);
            for &one in &scanned {
                let mut only = PositionSet::with_len(1_000);
                only.insert(one.position);
                assert_eq!(search(&index, query, 1, Some(&only)), [one], "{kind}, {dimensions} dimensions");
            }
            if kind.graph_degree().is_some() {
                let walked = index.search_graph(query, 100, None, 128).unwrap();
                assert!(walked.iter().all(|found| scanned.contains(found)), "{kind}, {dimensions} dimensions");
            }
        }
    }
}

#[test]
fn more_probes_find_more() {
    let flat = index_of(Kind::Flat, COUNT);
    let index = index_of(LISTS, COUNT);
    let queries = queries(200);
    let expected: Vec<_> = queries.iter().map(|query| search(&flat, query, 10, None)).collect();
    // Each search compares at least 600 rows, which is about 5 lists.
    let recalls = [1, 10, 128].map(|probes| {
        let options = SearchOptions { probes: Some(probes), ..SearchOptions::default() };
        let found: Vec<_> = queries.iter().map(|query| index.search(query, 10, None, options).unwrap()).collect();
        recall(&found, &expected)
    });
    println!("recall@10 {recalls:?}");
    assert!(recalls[0] < recalls[1] && recalls[1] < recalls[2] && recalls[2] == 1.0, "{recalls:?}");
}

#[test]
fn a_higher_ef_search_finds_more() {
    let flat = index_of(Kind::Flat, COUNT);
    let index = index_of(Kind::Hnsw { m: 8 }, COUNT);
    let queries = queries(200);
    let expected: Vec<_> = queries.iter().map(|query| search(&flat, query, 10, None)).collect();
    let recalls = [10, 40, 160].map(|ef_search| {
        let found: Vec<_> =
            queries.iter().map(|query| index.search_graph(query, 10, None, ef_search).unwrap()).collect();
        recall(&found, &expected)
    });
    println!("recall@10 {recalls:?}");
    assert!(recalls.is_sorted_by(|less, more| less < more), "{recalls:?}");
}
