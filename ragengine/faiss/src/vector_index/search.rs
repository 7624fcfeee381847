//! Searches an index.

use super::VectorIndex;
use crate::error::Error;
use crate::ffi;
use crate::kind::Kind;
use crate::nearest::{Nearest, Neighbor};
use crate::position_set::PositionSet;
use crate::rows::check_query;
use crate::strategy::{Search, Strategy};

/// Number of rows that an exact scan compares per call of FAISS, which bounds its memory.
const SCAN_BLOCK_ROWS: usize = 1024;

/// Options of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchOptions {
    /// Number of candidates that a graph search keeps (HNSW's efSearch). A higher value finds more and takes
    /// proportionally longer. Raised automatically for a large `k` or a filter. Ignored by kinds without a graph.
    pub ef_search: usize,
    /// Number of lists that a search compares (IVF's nprobe), raised in the same way. None: three times the square root
    /// of the number of lists. Ignored by kinds without lists.
    pub probes: Option<usize>,
}

impl Default for SearchOptions {
    /// 128: recall@10 of .95 and more up to a million rows of 384 dimensions, at 1.1 to 1.5 ms a search.
    fn default() -> Self {
        Self { ef_search: 128, probes: None }
    }
}

impl VectorIndex {
    /// Returns the rows nearest to `query`, nearest first, ties by position. With a filter, returns only rows in it.
    ///
    /// Returns `k` rows, or all allowed rows if they are fewer. [`Kind::Flat`] is exact; other kinds may miss some of
    /// the nearest rows, except if few rows are allowed, which are all compared. Positions of the filter at or beyond
    /// `len()` are ignored. Rows at or beyond the filter's length are not allowed.
    ///
    /// `query`: `dimensions` values.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] and [`Error::NotFinite`] for the query.
    pub fn search(
        &self,
        query: &[f32],
        k: usize,
        filter: Option<&PositionSet>,
        options: SearchOptions,
    ) -> Result<Vec<Neighbor>, Error> {
        self.check_not_half_changed()?;
        check_query(query, self.dimensions)?;
        let rows = self.len();
        let allowed = filter.map_or(rows, |filter| filter.count_below(rows));
        let SearchOptions { ef_search, probes } = options;
        let search = Search { kind: self.kind, rows, allowed, k, ef_search, probes };
        let k = k.min(allowed);
        match (search.strategy(), self.kind) {
            (Strategy::Nothing, _) => Ok(Vec::new()),
            (Strategy::ExactScan, Kind::Ivf { lists }) => self.search_lists(query, k, filter, lists as usize),
            (Strategy::ExactScan, _) => self.scan(query, k, filter),
            (Strategy::Graph { ef_search }, _) => self.search_graph(query, k, filter, ef_search),
            (Strategy::Lists { probes }, _) => self.search_lists(query, k, filter, probes),
        }
    }

    pub(super) fn search_graph(
        &self,
        query: &[f32],
        k: usize,
        filter: Option<&PositionSet>,
        ef_search: usize,
    ) -> Result<Vec<Neighbor>, Error> {
        let mut found = ffi::search(&self.index, query, k, ef_search, filter.map(PositionSet::words))?;
        if found.len() < k {
            // The graph walk reached too few allowed rows.
            return self.scan(query, k, filter);
        }
        found.sort_by(Neighbor::order);
        Ok(found)
    }

    pub(super) fn search_lists(
        &self,
        query: &[f32],
        k: usize,
        filter: Option<&PositionSet>,
        probes: usize,
    ) -> Result<Vec<Neighbor>, Error> {
        let filter = filter.map(PositionSet::words);
        let mut found = ffi::search(&self.index, query, k, probes, filter)?;
        if found.len() < k {
            // These lists contain too few allowed rows.
            found = ffi::search(&self.index, query, k, usize::MAX, filter)?;
        }
        found.sort_by(Neighbor::order);
        Ok(found)
    }

    fn scan(&self, query: &[f32], k: usize, filter: Option<&PositionSet>) -> Result<Vec<Neighbor>, Error> {
        let rows = self.len();
        match filter {
            None => self.scan_positions(query, k, 0..rows),
            Some(filter) => self.scan_positions(query, k, filter.iter().take_while(|&position| position < rows)),
        }
    }

    fn scan_positions(
        &self,
        query: &[f32],
        k: usize,
        mut positions: impl Iterator<Item = usize>,
    ) -> Result<Vec<Neighbor>, Error> {
        let mut nearest = Nearest::new(k);
        let mut block = Vec::with_capacity(SCAN_BLOCK_ROWS);
        let mut distances = [0.0; SCAN_BLOCK_ROWS];
        loop {
            block.clear();
            block.extend(positions.by_ref().take(SCAN_BLOCK_ROWS).map(|position| position as i64));
            if block.is_empty() {
                return Ok(nearest.into_sorted());
            }
            let distances = &mut distances[..block.len()];
            ffi::distances(&self.index, query, &block, distances)?;
            for (&position, &distance) in block.iter().zip(&*distances) {
                nearest.offer(Neighbor { position: position as usize, distance });
            }
        }
    }
}
