use super::*;

#[test]
fn sixteen_threads_get_the_same_results_as_one() {
    let filters = [None, Some(random_set(8_000, 0.5, 5)), Some(random_set(8_000, 0.01, 6))];
    let queries = queries(60);
    for kind in KINDS {
        let index = index_of(kind, 8_000);
        // With this low efSearch, the graph is used even with the first filter.
        let answers = || -> Vec<Vec<Neighbor>> {
            let cases = queries.iter().flat_map(|query| filters.iter().map(move |filter| (query, filter.as_ref())));
            cases
                .map(|(query, filter)| {
                    index.search(query, 10, filter, SearchOptions { ef_search: 20, probes: Some(2) }).unwrap()
                })
                .collect()
        };
        let serial = answers();
        std::thread::scope(|scope| {
            let searching: Vec<_> = (0..16)
                .map(|_| {
                    scope.spawn(|| {
                        crate::use_one_thread_per_call();
                        answers()
                    })
                })
                .collect();
            for thread in searching {
                assert_eq!(thread.join().unwrap(), serial, "{kind}");
            }
        });
    }
}
