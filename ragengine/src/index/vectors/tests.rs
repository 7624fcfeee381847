use super::*;

const EXACT_BELOW: usize = 50;

/// A point on a quarter circle: neighbours by number are neighbours by distance.
fn point(number: u64) -> [f32; 2] {
    let angle = number as f32 / 1000.0;
    [angle.cos(), angle.sin()]
}

fn set_with(rows: Range<u64>, kind: VectorIndexKind) -> VectorSet {
    let mut set = VectorSet::new(kind, 2).unwrap();
    add(&mut set, rows);
    set
}

fn add(set: &mut VectorSet, rows: Range<u64>) {
    let vectors: Vec<f32> = rows.clone().flat_map(point).collect();
    set.add(&rows.collect::<Vec<_>>(), &vectors).unwrap();
}

fn nearest(set: &VectorSet, number: u64, k: usize, allowed: Option<&[Range<u64>]>) -> Vec<u64> {
    let hits = set.snapshot().search(&point(number), k, allowed, SearchOptions::default()).unwrap();
    assert!(hits.is_sorted_by(|left, right| left.distance <= right.distance));
    hits.iter().map(|hit| hit.row).collect()
}

fn rebuild(set: &mut VectorSet) {
    let parts = set.seal().unwrap();
    let mut segment = Segment::new(set.rebuilt_kind(EXACT_BELOW), 2).unwrap();
    let rows = parts.rows();
    let vectors: Vec<f32> = rows.iter().flat_map(|&row| point(row)).collect();
    segment.train(&vectors).unwrap();
    segment.add(&rows, &vectors).unwrap();
    set.replace_sealed(segment);
}

#[test]
fn the_nearest_rows_come_from_every_segment() {
    let mut set = set_with(0..100, VectorIndexKind::default());
    set.seal().unwrap();
    add(&mut set, 100..200);
    assert_eq!(nearest(&set, 99, 3, None), [99, 98, 100]);
    assert_eq!(set.alive(), 200);
}

#[test]
fn removed_rows_are_never_found_again() {
    let mut set = set_with(0..100, VectorIndexKind::default());
    set.seal().unwrap();
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
    assert!(!set.is_rebuild_due(EXACT_BELOW), "a small tail is searched beside the graph");
    add(&mut set, 60..80);
    assert!(set.is_rebuild_due(EXACT_BELOW));
    assert!(!set_with(0..5000, VectorIndexKind::Flat).is_rebuild_due(EXACT_BELOW));
    assert!(set_with(0..50, VectorIndexKind::Auto).is_rebuild_due(EXACT_BELOW));
    // 39 rows for each list.
    let lists = VectorIndexKind::Ivf { lists: 4 };
    assert!(
        !set_with(0..155, lists).is_rebuild_due(EXACT_BELOW) && set_with(0..156, lists).is_rebuild_due(EXACT_BELOW)
    );
    let mut wasteful = set_with(0..4000, VectorIndexKind::Flat);
    wasteful.remove(&(0..1500));
    assert!(wasteful.is_rebuild_due(EXACT_BELOW));
}

#[test]
fn a_rebuild_keeps_what_is_there_and_nothing_else() {
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
fn what_is_removed_during_a_rebuild_stays_removed() {
    let mut set = set_with(0..100, VectorIndexKind::default());
    let parts = set.seal().unwrap();
    let rows = parts.rows();
    set.remove(&(50..60));
    add(&mut set, 100..101);
    let mut segment = Segment::new(Kind::Hnsw { m: 16 }, 2).unwrap();
    segment.add(&rows, &rows.iter().flat_map(|&row| point(row)).collect::<Vec<_>>()).unwrap();
    set.replace_sealed(segment);
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
    set.seal().unwrap();
    rebuild(&mut set);
    assert_eq!(found(&before), [99, 98], "not even when the tail has been sealed and rebuilt");
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
