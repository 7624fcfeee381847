use super::recall::recall;
use super::*;

const COUNT: usize = 15_000;

/// Checks the guarantees (the maximum number of rows, only allowed ones, in order) and returns the recall against an
/// exact search.
fn checked_recall(
    found: &[Vec<Neighbor>],
    flat: &VectorIndex,
    queries: &[Vec<f32>],
    k: usize,
    filter: &PositionSet,
) -> f64 {
    let allowed = filter.count_below(COUNT);
    for found in found {
        assert_eq!(found.len(), k.min(allowed));
        assert!(found.iter().all(|neighbor| neighbor.position < COUNT && filter.contains(neighbor.position)));
        assert!(found.is_sorted_by(|a, b| a.order(b).is_lt()));
    }
    let expected: Vec<_> = queries.iter().map(|query| search(flat, query, k, Some(filter))).collect();
    recall(found, &expected)
}

#[test]
fn a_filtered_search_returns_the_nearest_allowed_rows() {
    let flat = index_of(Kind::Flat, COUNT);
    let queries = queries(40);
    for (kind, at_least) in
        [(Kind::Flat, 1.0), (GRAPH, 0.95), (LISTS, 0.95), (Kind::HnswSq8 { m: 32 }, 0.9), (Kind::Sq8, 0.9)]
    {
        let index = index_of(kind, COUNT);
        for share in [1.0, 0.9, 0.5, 0.1, 0.01, 0.001, 0.0002] {
            let filter = random_set(COUNT, share, 77);
            for k in [1, 10, 100] {
                let found: Vec<_> = queries.iter().map(|query| search(&index, query, k, Some(&filter))).collect();
                let recall = checked_recall(&found, &flat, &queries, k, &filter);
                assert!(recall >= at_least, "{kind}, {share} of the rows: recall@{k} {recall}");
            }
        }
    }
}

/// Tests a filtered graph walk, even where `search` would choose another strategy.
#[test]
fn a_graph_walk_keeps_to_the_filter_whatever_its_share() {
    let flat = index_of(Kind::Flat, COUNT);
    let queries = queries(40);
    let index = index_of(GRAPH, COUNT);
    for (share, at_least) in [(0.9, 0.95), (0.5, 0.95), (0.1, 0.9), (0.01, 0.0), (0.001, 0.0)] {
        let filter = random_set(COUNT, share, 78);
        let found: Vec<_> =
            queries.iter().map(|query| index.search_graph(query, 10, Some(&filter), 256).unwrap()).collect();
        let recall = checked_recall(&found, &flat, &queries, 10, &filter);
        println!("{share} of the rows: recall@10 {recall}");
        assert!(recall >= at_least, "{share} of the rows: recall@10 {recall}");
    }
}

#[test]
fn a_scan_follows_a_graph_walk_that_finds_too_few() {
    // Two distant groups, of which only the one far from the query is allowed: with efSearch 1 the walk never reaches
    // it.
    let index = index_of(GRAPH, COUNT);
    let query = &queries(1)[0];
    let mut filter = PositionSet::with_len(COUNT);
    let by_distance = search(&index, query, COUNT, None);
    by_distance.iter().skip(COUNT - 500).for_each(|neighbor| assert!(filter.insert(neighbor.position)));
    let walked = ffi::search(&index.index, query, 20, 1, Some(filter.words())).unwrap();
    assert!(walked.len() < 20, "the walk found {}: the test case is invalid", walked.len());
    let found = index.search_graph(query, 20, Some(&filter), 1).unwrap();
    assert_eq!(found, by_distance[COUNT - 500..][..20]);
}

#[test]
fn all_lists_are_searched_if_the_nearest_have_too_few() {
    let index = index_of(LISTS, COUNT);
    let query = &queries(1)[0];
    let mut filter = PositionSet::with_len(COUNT);
    let by_distance = search(&index, query, COUNT, None);
    by_distance.iter().skip(COUNT - 500).for_each(|neighbor| assert!(filter.insert(neighbor.position)));
    let probed = ffi::search(&index.index, query, 20, 1, Some(filter.words())).unwrap();
    assert!(probed.len() < 20, "the list has {}: the test case is invalid", probed.len());
    let found = index.search_lists(query, 20, Some(&filter), 1).unwrap();
    assert_eq!(found, by_distance[COUNT - 500..][..20]);
}

#[test]
fn nothing_allowed_finds_nothing() {
    for kind in KINDS {
        let index = index_of(kind, 500);
        let query = &queries(1)[0];
        let mut beyond = PositionSet::with_len(1_000);
        beyond.insert(500);
        for filter in [PositionSet::with_len(500), PositionSet::with_len(0), beyond] {
            assert_eq!(search(&index, query, 10, Some(&filter)), [], "{kind}");
        }
        assert_eq!(search(&index, query, 0, None), [], "{kind}");
    }
}

#[test]
fn a_filter_may_be_shorter_or_longer_than_the_index() {
    for kind in KINDS {
        let index = index_of(kind, 500);
        let query = &queries(1)[0];
        let everything = search(&index, query, 500, None);
        for len in [1, 63, 64, 65, 499, 500, 501, 5_000] {
            let found = search(&index, query, 500, Some(&PositionSet::full(len)));
            let expected: Vec<_> = everything.iter().copied().filter(|neighbor| neighbor.position < len).collect();
            assert_eq!(found, expected, "{kind}, filter of length {len}");
        }
    }
}
