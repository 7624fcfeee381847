use std::cell::Cell;

use proptest::prelude::*;

use super::*;

thread_local! {
    static REFUSALS: Cell<u32> = const { Cell::new(0) };
}

/// Makes the next additions of this thread fail, as without memory.
pub fn refuse(additions: u32) {
    REFUSALS.set(additions);
}

pub(super) fn refuse_if_set() -> Result<(), Error> {
    match REFUSALS.get() {
        0 => Ok(()),
        left => {
            REFUSALS.set(left - 1);
            Err(Error::Faiss("no memory, as planned".to_owned()))
        }
    }
}

proptest! {
    /// Compares with the definition: the least distance of every row, sorted.
    #[test]
    fn the_least_distances_of_several_searches_are_the_nearest_of_all(
        distances in prop::collection::vec(prop::collection::vec(0_u8..40, 30), 1..6),
        k in 1_usize..40,
    ) {
        let hit = |(row, distance): (u64, &u8)| Hit { row, distance: f32::from(*distance) };
        let search = |window: &Vec<u8>| {
            let mut hits: Vec<Hit> = (0..).zip(window).map(hit).collect();
            nearest_first(&mut hits);
            hits.truncate(k);
            hits
        };
        let mut expected: Vec<Hit> = (0..30_usize)
            .map(|row| {
                let distance = distances.iter().map(|window| f32::from(window[row])).fold(9e9, f32::min);
                Hit { row: row as u64, distance }
            })
            .collect();
        nearest_first(&mut expected);
        expected.truncate(k);
        let found = least_distances(distances.iter().flat_map(search), k);
        // Rows at the greatest distance may differ, depending on what each search left out.
        let of = |hits: &[Hit]| hits.iter().map(|hit| hit.distance).collect::<Vec<_>>();
        prop_assert_eq!(of(&found), of(&expected));
        for hit in &found {
            let least = distances.iter().map(|window| f32::from(window[hit.row as usize])).fold(9e9, f32::min);
            prop_assert_eq!(hit.distance, least);
        }
    }
}

const EXACT_BELOW: usize = 50;

/// A point on a quarter circle: near numbers have near points.
fn point(number: u64) -> [f32; 2] {
    let angle = number as f32 / 1000.0;
    [angle.cos(), angle.sin()]
}

fn set_with(rows: Range<u64>, kind: VectorIndexKind) -> VectorSet {
    let mut set = VectorSet::new(kind, 2);
    add(&mut set, rows);
    set
}

fn add(set: &mut VectorSet, rows: Range<u64>) {
    let vectors: Vec<f32> = rows.clone().flat_map(point).collect();
    let addition = set.prepare(&rows.collect::<Vec<_>>(), &vectors).unwrap();
    set.add(addition);
}

fn nearest(set: &VectorSet, number: u64, k: usize, allowed: Option<&[Range<u64>]>) -> Vec<u64> {
    let snapshot = set.snapshot();
    let allowed = allowed.map(|rows| snapshot.allowed(rows));
    let hits = snapshot.search(&point(number), k, allowed.as_ref(), SearchOptions::default()).unwrap();
    assert!(hits.is_sorted_by(|left, right| left.distance <= right.distance));
    hits.iter().map(|hit| hit.row).collect()
}

/// Rebuilds like the index does, with changes while the segment is built.
fn rebuild_with(set: &mut VectorSet, during: impl FnOnce(&mut VectorSet)) {
    let parts = set.close();
    let kind = set.rebuilt_kind(EXACT_BELOW);
    let mut rows: Vec<u64> = parts.rows().collect();
    let mut segment = match parts.base(kind) {
        Some(base) => {
            rows.retain(|row| row > base.rows().last().unwrap());
            base.copy().unwrap()
        }
        None => Segment::new(kind, 2).unwrap(),
    };
    let vectors: Vec<f32> = rows.iter().flat_map(|&row| point(row)).collect();
    if segment.rows().is_empty() && !rows.is_empty() {
        segment.train(&vectors).unwrap();
    }
    segment.add(&rows, &vectors).unwrap();
    during(set);
    set.replace(Replacement::new(segment, parts));
}

fn rebuild(set: &mut VectorSet) {
    rebuild_with(set, |_| {});
}

#[test]
fn the_nearest_rows_come_from_every_segment() {
    let mut set = set_with(0..100, VectorIndexKind::default());
    set.close();
    add(&mut set, 100..200);
    assert_eq!(nearest(&set, 99, 3, None), [99, 98, 100]);
    assert_eq!(set.alive(), 200);
}

#[test]
fn removed_rows_are_never_found_again() {
    let mut set = set_with(0..100, VectorIndexKind::default());
    set.close();
    add(&mut set, 100..200);
    set.remove(&(98..102));
    assert_eq!(nearest(&set, 101, 2, None), [102, 103]);
    assert_eq!(set.alive(), 196);
    set.remove(&(98..102));
    assert_eq!(set.alive(), 196);
}

#[test]
fn a_filter_returns_as_many_as_match() {
    let mut set = set_with(0..200, VectorIndexKind::default());
    set.remove(&(10..12));
    assert_eq!(nearest(&set, 150, 5, Some(&[5..7, 9..13])), [12, 9, 6, 5]);
    assert_eq!(nearest(&set, 150, 5, Some(&[])), Vec::<u64>::new());
}

#[test]
fn a_rebuild_is_due_when_rows_are_many_or_dead() {
    let set = set_with(0..49, VectorIndexKind::default());
    assert!(!set.is_rebuild_due(EXACT_BELOW));
    let mut set = set_with(0..50, VectorIndexKind::default());
    assert!(set.is_rebuild_due(EXACT_BELOW));
    rebuild(&mut set);
    assert!(!set.is_rebuild_due(EXACT_BELOW));
    add(&mut set, 50..60);
    assert!(!set.is_rebuild_due(EXACT_BELOW), "a few rows are searched beside the graph");
    add(&mut set, 60..80);
    assert!(set.is_rebuild_due(EXACT_BELOW));
    assert!(!set_with(0..5000, VectorIndexKind::Flat).is_rebuild_due(EXACT_BELOW));
    assert!(set_with(0..50, VectorIndexKind::Auto).is_rebuild_due(EXACT_BELOW));
    // 39 rows for each list.
    let lists = VectorIndexKind::Ivf { lists: 4 };
    assert!(
        !set_with(0..155, lists).is_rebuild_due(EXACT_BELOW) && set_with(0..156, lists).is_rebuild_due(EXACT_BELOW)
    );
    let mut scattered = VectorSet::new(VectorIndexKind::Flat, 2);
    (0..=MAX_PARTS as u64).for_each(|number| {
        scattered.close();
        add(&mut scattered, number..number + 1);
    });
    assert!(scattered.is_rebuild_due(EXACT_BELOW), "each segment is searched separately");
    rebuild(&mut scattered);
    assert_eq!((scattered.is_rebuild_due(EXACT_BELOW), scattered.alive()), (false, MAX_PARTS + 1));
    let mut wasteful = set_with(0..4000, VectorIndexKind::Flat);
    wasteful.remove(&(0..1500));
    assert!(wasteful.is_rebuild_due(EXACT_BELOW));
}

#[test]
fn a_rebuild_keeps_exactly_the_rows_that_are_alive() {
    for kind in ["Flat", "SQ8", "HNSW16", "HNSW16_SQ8", "IVF4,Flat", "auto"] {
        let mut set = set_with(0..300, kind.parse().unwrap());
        set.remove(&(100..200));
        rebuild(&mut set);
        assert_eq!(set.alive(), 200, "{kind}");
        let mut found = nearest(&set, 150, 4, None);
        if !set.snapshot().has_exact_distances() {
            found.sort_unstable_by_key(|row| row.abs_diff(150));
        }
        assert!(found.iter().all(|row| !(100..200).contains(row)), "{kind}: {found:?}");
        add(&mut set, 300..310);
        set.remove(&(0..5));
        assert_eq!(set.alive(), 205, "{kind}");
    }
}

#[test]
fn rows_removed_during_a_rebuild_stay_removed() {
    let mut set = set_with(0..100, VectorIndexKind::default());
    rebuild_with(&mut set, |set| {
        set.remove(&(50..60));
        add(set, 100..101);
    });
    assert_eq!(set.alive(), 91);
    assert_eq!(nearest(&set, 58, 2, None), [60, 61]);
    assert_eq!(nearest(&set, 100, 1, None), [100]);
}

#[test]
fn everything_can_be_removed() {
    let mut set = set_with(0..10, VectorIndexKind::default());
    set.remove(&(0..10));
    assert_eq!(nearest(&set, 5, 3, None), Vec::<u64>::new());
    rebuild(&mut set);
    assert_eq!(set.alive(), 0);
    add(&mut set, 10..11);
    assert_eq!(nearest(&set, 5, 3, None), [10]);
}

#[test]
fn a_snapshot_does_not_see_later_rows() {
    let mut set = set_with(0..100, VectorIndexKind::default());
    let before = set.snapshot();
    add(&mut set, 100..110);
    set.remove(&(90..100));
    let found = |snapshot: &VectorSnapshot| -> Vec<u64> {
        snapshot.search(&point(105), 2, None, SearchOptions::default()).unwrap().iter().map(|hit| hit.row).collect()
    };
    assert_eq!(found(&before), [99, 98]);
    set.close();
    rebuild(&mut set);
    assert_eq!(found(&before), [99, 98], "even after the segments were closed and rebuilt");
    assert!(found(&set.snapshot()).contains(&105));
}

#[test]
fn a_filter_over_a_graph_returns_as_many_as_match() {
    let mut set = set_with(0..300, VectorIndexKind::Hnsw { m: 16 });
    rebuild(&mut set);
    add(&mut set, 300..320);
    assert_eq!((set.built(), set.alive()), (300, 320));
    assert_eq!(nearest(&set, 304, 5, Some(&[10..12, 299..301, 310..311])), [300, 299, 310, 11, 10]);
}

#[test]
fn added_rows_are_found_immediately_and_a_segment_has_a_limit() {
    let mut set = set_with(0..1, VectorIndexKind::Flat);
    (1..40).for_each(|row| add(&mut set, row..row + 1));
    assert_eq!(set.parts.len(), 1);
    assert_eq!(nearest(&set, 20, 1, None), [20]);
    add(&mut set, 40..40 + OPEN_ROWS as u64);
    assert_eq!(set.parts.len(), 2);
    assert_eq!([39, 40].map(|row| nearest(&set, row, 1, None)), [[39], [40]]);
}

#[test]
fn an_addition_prepared_before_a_rebuild_is_added_once() {
    let mut set = set_with(0..60, VectorIndexKind::Hnsw { m: 16 });
    let addition = set.prepare(&[60], &point(60)).unwrap();
    rebuild_with(&mut set, |set| {
        set.add(addition);
        set.remove(&(3..4));
    });
    assert_eq!((set.alive(), set.built()), (60, 59));
    assert_eq!(nearest(&set, 60, 2, None), [60, 59]);
    set.remove(&(60..61));
    assert_eq!(nearest(&set, 60, 2, None), [59, 58]);
}

#[test]
fn a_graph_is_extended_unless_many_of_its_rows_are_dead() {
    let hnsw = VectorIndexKind::Hnsw { m: 16 };
    for (dead, is_base) in [(5, true), (6, true), (20, false)] {
        let mut set = set_with(0..60, hnsw);
        rebuild(&mut set);
        set.remove(&(0..dead));
        add(&mut set, 60..100);
        let base = set.snapshot().base(set.rebuilt_kind(EXACT_BELOW));
        assert_eq!(base.is_some(), is_base, "{dead}");
        rebuild(&mut set);
        assert_eq!((set.alive(), set.built()), (100 - dead as usize, 100 - dead as usize));
        assert_eq!(nearest(&set, 0, 1, None), [dead]);
        assert_eq!(nearest(&set, 99, 2, None), [99, 98]);
    }
}
