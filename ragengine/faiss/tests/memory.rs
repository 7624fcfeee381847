//! Checks that filtered searches do not leak memory. Runs in a separate process, where nothing else allocates.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::fs;

use ragengine_faiss::{Kind, PositionSet, SearchOptions, VectorIndex, use_one_thread_per_call};

#[path = "../src/test_vectors.rs"]
mod test_vectors;

const DIMENSIONS: usize = 16;
const ROWS: usize = 20_000;
const SEARCHES: usize = 2_000;
/// A leak of the filter's bitmap alone would be 2.5 KB per search, 5 MB in total.
const MAX_GROWTH_BYTES: usize = 2 << 20;

fn resident_bytes() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    // Pages of 4 KiB: x86-64.
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn filtered_searches_do_not_grow_the_memory() {
    use_one_thread_per_call();
    let rows = test_vectors::clustered(ROWS, DIMENSIONS, 1);
    let queries = test_vectors::clustered(100, DIMENSIONS, 2);
    let mut index = VectorIndex::new(Kind::Hnsw { m: 16 }, DIMENSIONS).unwrap();
    index.add(&rows).unwrap();
    // With half of the rows allowed the graph is used (efSearch is low enough), with a hundredth a scan.
    for step in [2, 100] {
        let mut filter = PositionSet::with_len(ROWS);
        (0..ROWS).step_by(step).for_each(|position| assert!(filter.insert(position)));
        let search = |number: usize| {
            let query = &queries[number % 100 * DIMENSIONS..][..DIMENSIONS];
            let found = index
                .search(query, 10, Some(&filter), SearchOptions { ef_search: 32, ..SearchOptions::default() })
                .unwrap();
            assert_eq!(found.len(), 10);
        };
        (0..200).for_each(search);
        let before = resident_bytes();
        (0..SEARCHES).for_each(search);
        let growth = resident_bytes().saturating_sub(before);
        assert!(growth <= MAX_GROWTH_BYTES, "{growth} bytes more after {SEARCHES} searches in 1/{step} of the rows");
    }
}
