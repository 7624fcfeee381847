use std::path::Path;

use super::*;
use crate::nearest::Neighbor;
use crate::position_set::PositionSet;
use crate::test_vectors::{Random, clustered};

mod files;
mod filters;
mod recall;
mod threads;

const DIMENSIONS: usize = 32;
const GRAPH: Kind = Kind::Hnsw { m: 32 };
/// Many lists, so that a search skips some.
const LISTS: Kind = Kind::Ivf { lists: 128 };
const KINDS: [Kind; 5] = [Kind::Flat, GRAPH, Kind::HnswSq8 { m: 32 }, Kind::Sq8, Kind::Ivf { lists: 4 }];

/// Builds an index of clustered rows, with one thread, because a graph built by several differs each time. It is
/// trained with as many rows as needed.
fn index_of(kind: Kind, count: usize) -> VectorIndex {
    crate::use_one_thread_per_call();
    let rows = clustered(count, DIMENSIONS, 11);
    let mut index = VectorIndex::new(kind, DIMENSIONS).unwrap();
    train(&mut index, &rows);
    index.add(&rows).unwrap();
    index
}

fn train(index: &mut VectorIndex, rows: &[f32]) {
    let given = rows.len() / index.dimensions();
    match index.kind() {
        kind @ Kind::Ivf { .. } if given < kind.min_training_rows() => {
            index.train(&clustered(kind.min_training_rows(), index.dimensions(), 11)).unwrap();
        }
        _ => index.train(rows).unwrap(),
    }
}

fn queries(count: usize) -> Vec<Vec<f32>> {
    clustered(count, DIMENSIONS, 12).chunks_exact(DIMENSIONS).map(<[f32]>::to_vec).collect()
}

fn search(index: &VectorIndex, query: &[f32], k: usize, filter: Option<&PositionSet>) -> Vec<Neighbor> {
    index.search(query, k, filter, SearchOptions::default()).unwrap()
}

fn positions(found: &[Neighbor]) -> Vec<usize> {
    found.iter().map(|neighbor| neighbor.position).collect()
}

/// A set with each position of `0..len` with the given probability.
fn random_set(len: usize, share: f64, seed: u64) -> PositionSet {
    let mut random = Random(seed);
    let mut set = PositionSet::with_len(len);
    for position in 0..len {
        if (random.below(1_000_000) as f64) < share * 1_000_000.0 {
            set.insert(position);
        }
    }
    set
}

#[test]
fn an_index_can_be_shared_by_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<VectorIndex>();
}

#[test]
fn flat_finds_the_same_rows_as_a_loop() {
    let count = 3_000;
    let rows = clustered(count, DIMENSIONS, 11);
    let index = index_of(Kind::Flat, count);
    let distance = |query: &[f32], position: usize| -> f64 {
        let row = &rows[position * DIMENSIONS..][..DIMENSIONS];
        query.iter().zip(row).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum()
    };
    for query in queries(20) {
        for k in [1, 10, 150, count, count + 1] {
            let found = search(&index, &query, k, None);
            let mut expected: Vec<f64> = (0..count).map(|position| distance(&query, position)).collect();
            expected.sort_by(f64::total_cmp);
            expected.truncate(k);
            assert_eq!(found.len(), expected.len());
            for (neighbor, expected) in found.iter().zip(expected) {
                assert!((f64::from(neighbor.distance) - expected).abs() < 1e-5);
                assert!((distance(&query, neighbor.position) - expected).abs() < 1e-5);
            }
        }
    }
}

#[test]
fn equal_rows_are_ordered_by_position() {
    // Seven copies of each of 30 rows, with k at, within and beyond a group of copies.
    let rows: Vec<f32> = [clustered(30, DIMENSIONS, 3).as_slice(); 7].concat();
    for kind in KINDS {
        let mut index = VectorIndex::new(kind, DIMENSIONS).unwrap();
        train(&mut index, &rows);
        index.add(&rows).unwrap();
        for (number, row) in rows.chunks_exact(DIMENSIONS).take(30).enumerate() {
            for k in [1, 5, 7, 40, 210] {
                let found = search(&index, row, k, None);
                let copies: Vec<usize> = (0..7).map(|copy| number + 30 * copy).take(k).collect();
                assert_eq!(positions(&found)[..k.min(7)], copies, "{kind}, k {k}");
                assert!(found.is_sorted_by(|a, b| a.order(b).is_lt()), "{kind}, k {k}: {found:?}");
            }
        }
    }
}

#[test]
fn an_empty_index_finds_nothing() {
    for kind in KINDS {
        let index = VectorIndex::new(kind, 3).unwrap();
        assert!(index.is_empty());
        assert_eq!((index.len(), index.dimensions(), index.kind()), (0, 3, kind));
        assert_eq!(search(&index, &[1.0, 2.0, 3.0], 10, None), []);
        assert_eq!(search(&index, &[1.0, 2.0, 3.0], 10, Some(&PositionSet::full(100))), []);
    }
}

#[test]
fn invalid_kinds_and_dimensions_are_refused() {
    for dimensions in [0, MAX_DIMENSIONS + 1, usize::MAX] {
        assert!(
            matches!(VectorIndex::new(Kind::Flat, dimensions), Err(Error::Dimensions { given }) if given == dimensions)
        );
    }
    for m in [0, 3, 65, u16::MAX] {
        assert!(matches!(VectorIndex::new(Kind::Hnsw { m }, 8), Err(Error::GraphDegree { .. })), "{m}");
        assert!(matches!(VectorIndex::new(Kind::HnswSq8 { m }, 8), Err(Error::GraphDegree { .. })), "{m}");
    }
    for lists in [0, 3, 16_385, u32::MAX] {
        assert!(matches!(VectorIndex::new(Kind::Ivf { lists }, 8), Err(Error::Lists { .. })), "{lists}");
    }
    for lists in [4, 16_384] {
        assert!(VectorIndex::new(Kind::Ivf { lists }, 8).is_ok());
    }
    for m in [4, 64] {
        assert!(VectorIndex::new(Kind::Hnsw { m }, 8).is_ok());
    }
}

#[test]
fn unusable_vectors_are_refused_and_nothing_is_added() {
    for kind in KINDS {
        let mut index = index_of(kind, 250);
        let before = search(&index, &queries(1)[0], 10, None);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
            // In the last row, so that adding batch by batch would have added the first ones.
            let mut rows = clustered(450, DIMENSIONS, 5);
            rows[449 * DIMENSIONS + 7] = bad;
            assert!(matches!(index.add(&rows), Err(Error::NotFinite { row: 449 })), "{kind} {bad}");
            assert!(matches!(index.train(&rows), Err(Error::NotFinite { row: 449 })), "{kind} {bad}");
            let query = &rows[449 * DIMENSIONS..];
            let refused = index.search(query, 10, None, SearchOptions::default());
            assert!(matches!(refused, Err(Error::NotFinite { row: 0 })), "{kind} {bad}");
        }
        for length in [1, DIMENSIONS - 1, DIMENSIONS + 1] {
            assert!(matches!(index.add(&vec![0.1; length]), Err(Error::Length { .. })), "{kind} {length}");
            assert!(matches!(index.train(&vec![0.1; length]), Err(Error::Length { .. })), "{kind} {length}");
        }
        for length in [0, 1, DIMENSIONS - 1, 2 * DIMENSIONS] {
            let refused = index.search(&vec![0.1; length], 10, None, SearchOptions::default());
            assert!(matches!(refused, Err(Error::Length { .. })), "{kind} {length}");
        }
        assert_eq!(index.len(), 250, "{kind}");
        assert_eq!(search(&index, &queries(1)[0], 10, None), before, "{kind}");
    }
}

#[test]
fn training_must_come_before_the_first_row() {
    for kind in KINDS.into_iter().chain([LISTS]).filter(|kind| kind.needs_training()) {
        let wanted = kind.min_training_rows();
        let rows = clustered(wanted, DIMENSIONS, 5);
        let mut index = VectorIndex::new(kind, DIMENSIONS).unwrap();
        assert!(matches!(index.add(&rows), Err(Error::NotTrained { .. })), "{kind}");
        let too_few = index.train(&rows[DIMENSIONS..]).unwrap_err();
        assert!(matches!(too_few, Error::TooFewToTrainOn { given, .. } if given == wanted - 1), "{kind}");
        assert!(too_few.to_string().contains(&format!("{} rows: give it {wanted} or more", wanted - 1)), "{too_few}");
        index.train(&rows).unwrap();
        index.train(&rows).unwrap();
        index.add(&rows).unwrap();
        assert!(matches!(index.train(&rows), Err(Error::TrainedTooLate { rows }) if rows == wanted), "{kind}");
        assert_eq!(index.len(), wanted, "{kind}");
    }
}

#[test]
fn reconstruct_gives_the_vector_or_its_code() {
    let rows = clustered(300, DIMENSIONS, 11);
    for kind in KINDS {
        let index = index_of(kind, 300);
        for (position, row) in rows.chunks_exact(DIMENSIONS).enumerate() {
            let vector = index.reconstruct(position).unwrap();
            let error = vector.iter().zip(row).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(error <= if kind.stores_exact_vectors() { 0.0 } else { 0.01 }, "{kind}: {error}");
        }
        for position in [300, usize::MAX] {
            assert!(matches!(index.reconstruct(position), Err(Error::NoSuchRow { rows: 300, .. })), "{kind}");
        }
    }
}

#[test]
fn constant_dimensions_and_zero_vectors_are_quantized_correctly() {
    let rows = [[0.0_f32; 5], [0.0, 0.5, 0.0, 1.0, 0.0], [0.0, 0.5, 0.0, -1.0, 0.0]].concat();
    for kind in [Kind::Sq8, Kind::HnswSq8 { m: 4 }] {
        let mut index = VectorIndex::new(kind, 5).unwrap();
        index.train(&rows).unwrap();
        index.add(&rows).unwrap();
        let found = search(&index, &[0.0, 0.5, 0.0, 0.9, 0.0], 3, None);
        assert_eq!(positions(&found), [1, 0, 2], "{kind}");
        assert!(found.iter().all(|neighbor| neighbor.distance.is_finite()), "{kind}");
    }
}

#[test]
fn adding_rows_in_parts_gives_the_same_index() {
    let rows = clustered(1_000, DIMENSIONS, 11);
    for kind in KINDS {
        let mut index = VectorIndex::new(kind, DIMENSIONS).unwrap();
        train(&mut index, &rows);
        index.add(&[]).unwrap();
        for part in rows.chunks(333 * DIMENSIONS) {
            index.add(part).unwrap();
        }
        let whole = index_of(kind, 1_000);
        for query in queries(20) {
            assert_eq!(search(&index, &query, 10, None), search(&whole, &query, 10, None), "{kind}");
        }
    }
}

#[test]
fn adding_to_a_copy_does_not_change_the_original() {
    let rows = clustered(600, DIMENSIONS, 13);
    let (first, more) = rows.split_at(300 * DIMENSIONS);
    for kind in KINDS {
        let mut index = VectorIndex::new(kind, DIMENSIONS).unwrap();
        index.train(first).unwrap();
        index.add(first).unwrap();
        let mut copy = index.copy().unwrap();
        copy.add(more).unwrap();
        assert_eq!((index.len(), copy.len(), copy.kind()), (300, 600, kind));
        for row in [0, 299, 300, 599] {
            let query = &rows[row * DIMENSIONS..][..DIMENSIONS];
            assert_eq!(search(&copy, query, 1, None)[0].position, row, "{kind}");
            assert!(positions(&search(&index, query, 5, None)).iter().all(|position| *position < 300), "{kind}");
        }
        drop(index);
        assert_eq!(search(&copy, &rows[..DIMENSIONS], 1, None)[0].position, 0, "{kind}");
    }
}

#[test]
fn an_index_is_unusable_after_a_change_failed_inside_faiss() {
    let mut index = index_of(GRAPH, 100);
    let failed = index.change(|_| Err(faiss::error::Error::BadDimension));
    assert!(matches!(failed, Err(Error::Faiss(_))));
    let row = &queries(1)[0];
    assert!(matches!(index.add(row), Err(Error::HalfChanged)));
    assert!(matches!(index.train(row), Err(Error::HalfChanged)));
    assert!(matches!(index.reconstruct(0), Err(Error::HalfChanged)));
    assert!(matches!(index.write(Path::new("/nowhere/index")), Err(Error::HalfChanged)));
    assert!(matches!(index.search(row, 1, None, SearchOptions::default()), Err(Error::HalfChanged)));
}
