//! Chooses the strategy of a search. This is a pure function of the index's kind and the numbers involved.

use crate::kind::Kind;

/// If fewer rows than this percentage are allowed, a filtered graph search finds too little: at 2.1% of 100,000 rows
/// recall@10 was .95 with efSearch 256, at 0.11% .52.
const EXACT_BELOW_PERCENT: usize = 3;

/// Each unit of efSearch costs as much as comparing about this many rows (384 dimensions, 50,000 rows: 4 µs and 90 ns
/// each).
const ROWS_PER_EF: usize = 50;

/// The ratio, in halves, of efSearch to the expected rank of the last wanted row among all rows. With a filter that
/// keeps 25% and k = 100, that rank is about 400: recall@100 was .66, .82 and .92 with efSearch 256, 512 and 1024.
/// Without a filter, efSearch = k already finds nearly all.
const EF_PER_RANK_HALVES: usize = 3;
const FILTERED_EF_PER_RANK_HALVES: usize = 5;

/// Default number of searched lists, in multiples of the square root of the number of lists.
const PROBES_PER_ROOT: usize = 3;

/// Number of rows compared in lists for each rank up to that of the last wanted row among all rows.
const ROWS_PER_RANK: usize = 60;

/// The strategy of one search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// Return nothing.
    Nothing,
    /// Compare every allowed row: in all lists, or with the vectors of the graph.
    ExactScan,
    /// Walk the graph.
    Graph { ef_search: usize },
    /// Compare the allowed rows of the lists with the nearest centres.
    Lists { probes: usize },
}

/// The inputs of the decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search {
    pub kind: Kind,
    /// Number of rows in the index.
    pub rows: usize,
    /// Number of rows that may be returned; `rows` without a filter.
    pub allowed: usize,
    /// Number of wanted rows.
    pub k: usize,
    /// The requested efSearch, or the default.
    pub ef_search: usize,
    /// The requested number of lists. None: chosen automatically.
    pub probes: Option<usize>,
}

impl Search {
    pub(crate) fn strategy(self) -> Strategy {
        if self.allowed == 0 || self.k == 0 {
            return Strategy::Nothing;
        }
        match self.kind {
            _ if self.is_selective() => Strategy::ExactScan,
            Kind::Flat | Kind::Sq8 => Strategy::ExactScan,
            Kind::Hnsw { .. } | Kind::HnswSq8 { .. } => self.in_a_graph(),
            Kind::Ivf { lists } => self.in_lists(lists as usize),
        }
    }

    fn in_a_graph(self) -> Strategy {
        match self.graph_ef_search() {
            ef_search if self.allowed <= ef_search.saturating_mul(ROWS_PER_EF) => Strategy::ExactScan,
            ef_search => Strategy::Graph { ef_search },
        }
    }

    fn in_lists(self, lists: usize) -> Strategy {
        let asked = self.probes.unwrap_or(PROBES_PER_ROOT * lists.isqrt());
        let compared = self.last_rank().saturating_mul(ROWS_PER_RANK);
        match asked.max(compared.saturating_mul(lists) / self.rows) {
            probes if probes >= lists => Strategy::ExactScan,
            probes => Strategy::Lists { probes },
        }
    }

    fn is_selective(self) -> bool {
        self.allowed.saturating_mul(100) < self.rows.saturating_mul(EXACT_BELOW_PERCENT)
    }

    fn graph_ef_search(self) -> usize {
        let last_rank = self.last_rank();
        let rank_halves = if self.allowed < self.rows { FILTERED_EF_PER_RANK_HALVES } else { EF_PER_RANK_HALVES };
        self.filtered_ef_search().max(last_rank.saturating_mul(rank_halves) / 2)
    }

    /// The requested efSearch, times 1 if all rows are allowed, up to 2 for the fewest. 64 → 256 took recall@10 from .94
    /// to .999 at 50% and from .84 to .99 at 10%.
    fn filtered_ef_search(self) -> usize {
        let (asked, rows) = (self.ef_search as u128, self.rows as u128);
        let not_allowed = rows.saturating_sub(self.allowed as u128);
        usize::try_from(asked + asked * not_allowed / rows.max(1)).unwrap_or(usize::MAX)
    }

    /// The expected rank of the last wanted row among all rows, if the allowed rows are distributed evenly.
    fn last_rank(self) -> usize {
        self.k.min(self.allowed).saturating_mul(self.rows) / self.allowed
    }
}

#[cfg(test)]
mod tests;
