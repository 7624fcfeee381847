use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};

use super::{Search, Strategy};
use crate::kind::Kind;

const GRAPH: Kind = Kind::Hnsw { m: 32 };

fn strategy(kind: Kind, rows: usize, allowed: usize, k: usize) -> Strategy {
    Search { kind, rows, allowed, k, ef_search: 128, probes: None }.strategy()
}

#[test]
fn the_numbers_of_rows_determine_the_strategy() {
    let graph = |ef_search| Strategy::Graph { ef_search };
    // rows, allowed, k, expected
    let table = [
        (0, 0, 10, Strategy::Nothing),
        (100_000, 0, 10, Strategy::Nothing),
        (100_000, 100_000, 0, Strategy::Nothing),
        // Few rows: comparing all is as fast as the graph, and exact.
        (6_400, 6_400, 10, Strategy::ExactScan),
        (6_401, 6_401, 10, graph(128)),
        (100_000, 100_000, 10, graph(128)),
        // A larger k raises efSearch, until the graph is no longer faster.
        (100_000, 100_000, 85, graph(128)),
        (100_000, 100_000, 100, graph(150)),
        (100_000, 100_000, 1_000, graph(1_500)),
        (100_000, 100_000, 2_000, Strategy::ExactScan),
        (100_000, 100_000, usize::MAX, Strategy::ExactScan),
        // A filter also raises efSearch.
        (100_000, 99_000, 10, graph(129)),
        (100_000, 50_000, 10, graph(192)),
        (100_000, 50_000, 100, graph(500)),
        (100_000, 20_000, 10, graph(230)),
        (100_000, 12_001, 10, graph(240)),
        (100_000, 12_000, 10, Strategy::ExactScan),
        (100_000, 20_000, 100, Strategy::ExactScan),
        // With a selective filter, all allowed rows are compared, regardless of their number.
        (10_000_000, 300_000, 10, graph(832)),
        (10_000_000, 299_999, 10, Strategy::ExactScan),
        (100_000, 1, 10, Strategy::ExactScan),
    ];
    for (rows, allowed, k, expected) in table {
        assert_eq!(strategy(GRAPH, rows, allowed, k), expected, "{allowed} of {rows} rows, k {k}");
        assert_eq!(strategy(Kind::HnswSq8 { m: 16 }, rows, allowed, k), expected, "{allowed} of {rows} rows, k {k}");
        let without_graph = if expected == Strategy::Nothing { Strategy::Nothing } else { Strategy::ExactScan };
        assert_eq!(strategy(Kind::Flat, rows, allowed, k), without_graph, "{allowed} of {rows} rows, k {k}");
        assert_eq!(strategy(Kind::Sq8, rows, allowed, k), without_graph, "{allowed} of {rows} rows, k {k}");
    }
}

#[test]
fn enough_lists_are_searched() {
    let lists = |probes| Strategy::Lists { probes };
    // lists, rows, allowed, k, asked, expected
    let table = [
        (1_024, 100_000, 0, 10, None, Strategy::Nothing),
        (1_024, 100_000, 100_000, 0, None, Strategy::Nothing),
        (1_024, 100_000, 100_000, 10, None, lists(96)),
        (4_096, 1_000_000, 1_000_000, 10, None, lists(192)),
        (4, 1_000, 1_000, 10, None, Strategy::ExactScan),
        (64, 10_000, 10_000, 10, None, lists(24)),
        (1_024, 100_000, 100_000, 10, Some(7), lists(7)),
        (1_024, 100_000, 100_000, 10, Some(1_023), lists(1_023)),
        (1_024, 100_000, 100_000, 10, Some(1_024), Strategy::ExactScan),
        // If many rows are wanted or few are allowed, more lists are searched.
        (1_024, 100_000, 100_000, 1_000, None, lists(614)),
        (1_024, 100_000, 100_000, 1_000, Some(7), lists(614)),
        (1_024, 100_000, 10_000, 100, None, lists(614)),
        (1_024, 100_000, 10_000, 10, None, lists(96)),
        (1_024, 100_000, 100_000, usize::MAX, None, Strategy::ExactScan),
        (1_024, 100_000, 3_000, 10, None, lists(204)),
        // With a selective filter every allowed row is compared, whatever number of lists was requested.
        (1_024, 100_000, 2_999, 10, None, Strategy::ExactScan),
        (1_024, 100_000, 2_999, 10, Some(7), Strategy::ExactScan),
    ];
    for (lists, rows, allowed, k, probes, expected) in table {
        let search = Search { kind: Kind::Ivf { lists }, rows, allowed, k, ef_search: 128, probes };
        assert_eq!(search.strategy(), expected, "{search:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_graph_search_is_thorough_and_never_slower_than_a_scan(
        rows in 0_usize..3_000_000,
        share in 0.0_f64..=1.0,
        k in 0_usize..5_000,
        ef_search in 0_usize..2_000,
        filtered in any::<bool>(),
    ) {
        let allowed = if filtered { (rows as f64 * share * share) as usize } else { rows };
        let search = Search { kind: GRAPH, rows, allowed, k, ef_search, probes: None };
        match search.strategy() {
            Strategy::Nothing => prop_assert!(allowed == 0 || k == 0),
            Strategy::ExactScan => prop_assert!(allowed > 0 && k > 0),
            Strategy::Graph { ef_search: used } => {
                prop_assert!(used >= ef_search && used >= k);
                prop_assert!(used * super::ROWS_PER_EF < allowed);
                prop_assert!(allowed * 100 >= rows * super::EXACT_BELOW_PERCENT);
            }
            Strategy::Lists { .. } => prop_assert!(false, "a graph has no lists"),
        }
        // Large numbers must not overflow.
        let most = Search { rows: usize::MAX, allowed: usize::MAX, k: usize::MAX, ef_search: usize::MAX, ..search };
        prop_assert_eq!(most.strategy(), Strategy::ExactScan);
    }
}
