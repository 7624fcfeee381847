//! How one search is done: a pure function of the index's kind and the numbers involved.

use crate::kind::Kind;

/// Below this share of the rows a graph search with a filter finds too little: at 2.1% of 100,000 rows recall@10 was .95 with
/// efSearch 256, at 0.11% .52.
const EXACT_BELOW_PERCENT: usize = 3;

/// One more of efSearch costs as much as comparing about this many rows (384 dimensions, 50,000 rows: 4 µs and 90 ns each).
const ROWS_PER_EF: usize = 50;

/// A filtered search needs a higher efSearch: 64 → 256 took recall@10 from .94 to .999 at 50% and from .84 to .99 at 10%.
const FILTERED_EF_FACTOR: usize = 2;

/// In halves: how many times the place that the last wanted row has among all rows efSearch should be. With a filter that keeps 25%
/// and k = 100 the last row is at about place 400: recall@100 was .66, .82 and .92 with efSearch 256, 512 and 1024. Without one,
/// efSearch = k still finds nearly all.
const EF_PER_PLACE_HALVES: usize = 3;
const FILTERED_EF_PER_PLACE_HALVES: usize = 5;

/// Where the caller does not say how many lists are searched: this many times the square root of their number.
const PROBES_PER_ROOT: usize = 3;

/// How many rows are compared in lists for each place up to that of the last wanted row among all rows.
const ROWS_PER_PLACE: usize = 60;

/// What to do for one search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// Nothing can be found.
    Nothing,
    /// Compare every allowed row, with the vectors under the graph if there is one, or in all lists.
    ExactScan,
    /// Walk the graph.
    Graph { ef_search: usize },
    /// Compare the allowed rows of the lists whose centres are nearest.
    Lists { probes: usize },
}

/// What decides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search {
    pub kind: Kind,
    /// How many rows the index holds.
    pub rows: usize,
    /// How many of them may be returned; `rows` without a filter.
    pub allowed: usize,
    /// How many are wanted.
    pub k: usize,
    /// What the caller asks for, or the default.
    pub ef_search: usize,
    /// What the caller asks for; None: as many lists as it takes.
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
        let compared = self.last_place().saturating_mul(ROWS_PER_PLACE);
        match asked.max(compared.saturating_mul(lists) / self.rows) {
            probes if probes >= lists => Strategy::ExactScan,
            probes => Strategy::Lists { probes },
        }
    }

    fn is_selective(self) -> bool {
        self.allowed.saturating_mul(100) < self.rows.saturating_mul(EXACT_BELOW_PERCENT)
    }

    fn graph_ef_search(self) -> usize {
        let last_place = self.last_place();
        let (asked, halves) = if self.allowed < self.rows {
            (self.ef_search.saturating_mul(FILTERED_EF_FACTOR), FILTERED_EF_PER_PLACE_HALVES)
        } else {
            (self.ef_search, EF_PER_PLACE_HALVES)
        };
        asked.max(last_place.saturating_mul(halves) / 2)
    }

    /// The place that the last wanted row has among all rows, when those that are allowed are anywhere among them.
    fn last_place(self) -> usize {
        self.k.min(self.allowed).saturating_mul(self.rows) / self.allowed
    }
}

#[cfg(test)]
mod tests;
