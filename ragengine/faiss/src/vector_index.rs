//! The index itself.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use faiss::MetricType;
use faiss::index::io::{read_index, write_index};
use faiss::index::{Index, IndexImpl, TryClone, index_factory};

use crate::error::Error;
use crate::ffi;
use crate::kind::Kind;
use crate::nearest::{Nearest, Neighbor};
use crate::position_set::PositionSet;
use crate::rows::{check_query, check_rows};
use crate::seal::{self, SealError};
use crate::strategy::{Search, Strategy};

/// The most dimensions that an index can have; embedding models have up to a few thousand.
pub const MAX_DIMENSIONS: usize = 1 << 16;

/// A graph gets its rows in batches: one by one each costs three times as much (FAISS makes a table of all rows for each call).
const GRAPH_BATCH_ROWS: usize = 200;

/// How many rows an exact scan compares per call of FAISS, which bounds its memory.
const SCAN_BLOCK_ROWS: usize = 1024;

/// How thoroughly to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchOptions {
    /// How many candidates a graph search keeps (HNSW's efSearch): more find more and take longer, linearly. Raised where `k` or a
    /// filter needs more. Kinds without a graph do not use it.
    pub ef_search: usize,
    /// How many lists a search compares (IVF's nprobe), raised in the same way. None: three times the square root of the number of lists.
    /// Kinds without lists do not use it.
    pub probes: Option<usize>,
}

impl Default for SearchOptions {
    /// 128: recall@10 of .95 and more up to a million rows of 384 dimensions, at 1.1 to 1.5 ms a search.
    fn default() -> Self {
        Self { ef_search: 128, probes: None }
    }
}

/// Vectors of one length, found again by their squared L2 distance to a query.
///
/// Searches take `&self` and may run in any number of threads at once; each such thread should have called
/// [`use_one_thread_per_call`](crate::use_one_thread_per_call).
pub struct VectorIndex {
    index: IndexImpl,
    kind: Kind,
    dimensions: usize,
    /// FAISS failed in the middle of a change: a graph may then lack rows that its storage has.
    is_half_changed: bool,
}

impl VectorIndex {
    /// An empty index for vectors of `dimensions` values.
    ///
    /// # Errors
    ///
    /// [`Error::Dimensions`] unless there are 1 to [`MAX_DIMENSIONS`], [`Error::GraphDegree`] for an M outside 4 to 64,
    /// [`Error::Lists`] for a number of lists outside 4 to 16,384.
    pub fn new(kind: Kind, dimensions: usize) -> Result<Self, Error> {
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(Error::Dimensions { given: dimensions });
        }
        if !kind.has_valid_graph_degree() {
            return Err(Error::GraphDegree { kind });
        }
        if !kind.has_valid_lists() {
            return Err(Error::Lists { kind });
        }
        let index = index_factory(dimensions as u32, kind.to_string(), MetricType::L2)?;
        Ok(Self { index, kind, dimensions, is_half_changed: false })
    }

    /// Learns from a sample of the rows to come: the range of each dimension (a few thousand rows are plenty; values beyond that range
    /// are cut to it later), or the centres of the lists. Does nothing but check the rows for a kind that needs no training.
    ///
    /// `rows`: row-major, a multiple of `dimensions` values.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] and [`Error::NotFinite`] for the rows, [`Error::TooFewToTrainOn`] for fewer than
    /// [`Kind::min_training_rows`], [`Error::TrainedTooLate`] when the index holds rows already.
    pub fn train(&mut self, rows: &[f32]) -> Result<(), Error> {
        self.check_not_half_changed()?;
        let given = check_rows(rows, self.dimensions)?;
        if !self.kind.needs_training() {
            return Ok(());
        }
        if given < self.kind.min_training_rows() {
            return Err(Error::TooFewToTrainOn { kind: self.kind, given });
        }
        if !self.is_empty() {
            return Err(Error::TrainedTooLate { rows: self.len() });
        }
        self.change(|index| index.train(rows))
    }

    /// Appends rows; the first one's position is `len()`. A graph is built by as many threads as OpenMP may use in this thread.
    ///
    /// `rows`: row-major, a multiple of `dimensions` values.
    ///
    /// # Errors
    ///
    /// [`Error::Length`], [`Error::NotFinite`], [`Error::NotTrained`], [`Error::TooManyRows`]: nothing was added.
    /// [`Error::Faiss`]: the index cannot be used any longer.
    pub fn add(&mut self, rows: &[f32]) -> Result<(), Error> {
        self.check_not_half_changed()?;
        let given = check_rows(rows, self.dimensions)?;
        if !self.index.is_trained() {
            return Err(Error::NotTrained { kind: self.kind });
        }
        if self.len().saturating_add(given) > i32::MAX as usize {
            return Err(Error::TooManyRows { held: self.len(), given });
        }
        let batch_rows = if self.kind.graph_degree().is_some() { GRAPH_BATCH_ROWS } else { given.max(1) };
        for batch in rows.chunks(batch_rows * self.dimensions) {
            self.change(|index| index.add(batch))?;
        }
        Ok(())
    }

    /// A copy, which can be changed without the other. It takes as much memory again, and the time to copy that.
    ///
    /// # Errors
    ///
    /// [`Error::Faiss`].
    pub fn copy(&self) -> Result<Self, Error> {
        self.check_not_half_changed()?;
        Ok(Self { index: self.index.try_clone()?, ..*self })
    }

    /// How many rows were added.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.ntotal() as usize
    }

    /// Whether no row was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many values a vector has.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// What the index stores and how it is searched.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The vector at a position: as it was added where [`Kind::stores_exact_vectors`], else what its code stands for. Lists are looked
    /// through until it is found.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchRow`].
    pub fn reconstruct(&self, position: usize) -> Result<Vec<f32>, Error> {
        self.check_not_half_changed()?;
        if position >= self.len() {
            return Err(Error::NoSuchRow { position, rows: self.len() });
        }
        let mut vector = vec![0.0; self.dimensions];
        ffi::reconstruct(&self.index, position, &mut vector)?;
        Ok(vector)
    }

    /// The rows nearest to `query`, nearest first, ties by position; with a filter only those in it.
    ///
    /// Always `k` results, or as many as there are rows allowed. [`Kind::Flat`] finds the nearest; a graph nearly always; where few
    /// rows are allowed every kind compares them all. Positions of the filter at or beyond `len()` are ignored, rows at or beyond
    /// the filter's length are not allowed.
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

    fn search_graph(
        &self,
        query: &[f32],
        k: usize,
        filter: Option<&PositionSet>,
        ef_search: usize,
    ) -> Result<Vec<Neighbor>, Error> {
        let mut found = ffi::search(&self.index, query, k, ef_search, filter.map(PositionSet::words))?;
        if found.len() < k {
            // The graph does not lead to enough allowed rows.
            return self.scan(query, k, filter);
        }
        found.sort_by(Neighbor::order);
        Ok(found)
    }

    fn search_lists(
        &self,
        query: &[f32],
        k: usize,
        filter: Option<&PositionSet>,
        probes: usize,
    ) -> Result<Vec<Neighbor>, Error> {
        let filter = filter.map(PositionSet::words);
        let mut found = ffi::search(&self.index, query, k, probes, filter)?;
        if found.len() < k {
            // These lists hold too few allowed rows.
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

    /// How many bytes [`write`](Self::write) writes.
    ///
    /// # Errors
    ///
    /// [`Error::Faiss`].
    pub fn file_bytes(&self) -> Result<u64, Error> {
        Ok(ffi::serialized_bytes(&self.index)? + seal::SEAL_BYTES as u64)
    }

    /// Writes the index to a file and brings it to the disk: FAISS' own format, which FAISS can read, and a checksum after it.
    ///
    /// The file is written in place. A program that may be stopped meanwhile writes to another name and renames it; what a stop
    /// leaves behind is refused by [`read`](Self::read).
    ///
    /// # Errors
    ///
    /// [`Error::Faiss`], [`Error::Io`] and [`Error::File`] when the file could not be written whole.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        self.check_not_half_changed()?;
        let bytes = ffi::serialized_bytes(&self.index)?;
        // FAISS would make it for everybody; what is there keeps its mode.
        let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path);
        file.map_err(|source| Error::Io { path: path.to_owned(), source })?;
        write_index(&self.index, utf8(path)?)?;
        seal::seal(path, bytes).map_err(|error| seal_error(path, error))
    }

    /// Reads what [`write`](Self::write) wrote.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when there is no such file, [`Error::File`] when it is truncated, damaged or something else,
    /// [`Error::OtherIndex`] when it holds another kind or other dimensions.
    pub fn read(path: &Path, kind: Kind, dimensions: usize) -> Result<Self, Error> {
        seal::check(path).map_err(|error| seal_error(path, error))?;
        let index = read_index(utf8(path)?).map_err(|error| unusable(path, error.to_string()))?;
        let found_kind = ffi::kind_of(&index).map_err(|reason| unusable(path, reason))?;
        let found_dimensions = index.d() as usize;
        if (found_kind, found_dimensions) != (kind, dimensions) {
            return Err(Error::OtherIndex { path: path.to_owned(), kind, dimensions, found_kind, found_dimensions });
        }
        Ok(Self { index, kind, dimensions, is_half_changed: false })
    }

    fn check_not_half_changed(&self) -> Result<(), Error> {
        if self.is_half_changed { Err(Error::HalfChanged) } else { Ok(()) }
    }

    fn change(&mut self, change: impl FnOnce(&mut IndexImpl) -> faiss::error::Result<()>) -> Result<(), Error> {
        let result = change(&mut self.index);
        self.is_half_changed = result.is_err();
        Ok(result?)
    }
}

impl std::fmt::Debug for VectorIndex {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "VectorIndex({}, {} rows of {})", self.kind, self.len(), self.dimensions)
    }
}

/// FAISS takes a path as a C string.
fn utf8(path: &Path) -> Result<&str, Error> {
    path.to_str().ok_or_else(|| unusable(path, "its path is not UTF-8".to_owned()))
}

fn unusable(path: &Path, reason: String) -> Error {
    Error::File { path: path.to_owned(), reason }
}

fn seal_error(path: &Path, error: SealError) -> Error {
    match error {
        SealError::Io(source) => Error::Io { path: path.to_owned(), source },
        SealError::Reason(reason) => unusable(path, reason),
    }
}

#[cfg(test)]
mod tests;
