//! The index itself.

mod files;
mod search;

use faiss::MetricType;
use faiss::index::{Index, IndexImpl, TryClone, index_factory};

use crate::error::Error;
use crate::ffi;
use crate::kind::Kind;
use crate::rows::check_rows;

pub use search::SearchOptions;

/// The most dimensions that an index can have; embedding models have up to a few thousand.
pub const MAX_DIMENSIONS: usize = 1 << 16;

/// A graph gets its rows in batches: one by one each costs three times as much (FAISS makes a table of all rows for each call).
const GRAPH_BATCH_ROWS: usize = 200;

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

#[cfg(test)]
mod tests;
