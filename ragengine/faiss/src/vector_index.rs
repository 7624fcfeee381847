//! A vector index.

mod files;
mod search;

use faiss::MetricType;
use faiss::index::{Index, IndexImpl, TryClone, index_factory};

use crate::error::Error;
use crate::ffi;
use crate::kind::Kind;
use crate::rows::check_rows;

pub use search::SearchOptions;

/// Maximum number of dimensions. Embedding models have up to a few thousand.
pub const MAX_DIMENSIONS: usize = 1 << 16;

/// Number of rows added to a graph at a time. Adding rows one by one is three times slower, because FAISS allocates a
/// table of all rows for each call.
const GRAPH_BATCH_ROWS: usize = 200;

/// An index of vectors with equal dimensions, searched by squared L2 distance.
///
/// Searches take `&self` and may run concurrently. Each thread that searches should have called
/// [`use_one_thread_per_call`](crate::use_one_thread_per_call).
pub struct VectorIndex {
    index: IndexImpl,
    kind: Kind,
    dimensions: usize,
    /// Whether a change failed inside FAISS. A graph may then lack rows that its storage has.
    is_half_changed: bool,
}

impl VectorIndex {
    /// Creates an empty index for vectors of `dimensions` values.
    ///
    /// # Errors
    ///
    /// [`Error::Dimensions`] unless `dimensions` is 1 to [`MAX_DIMENSIONS`], [`Error::GraphDegree`] for an M outside 4
    /// to 64, [`Error::Lists`] for a number of lists outside 4 to 16,384.
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

    /// Trains the index with a sample of its future rows: the range of each dimension (a few thousand rows are enough;
    /// values outside the range are clamped later), or the centres of the lists. For a kind that needs no training,
    /// only checks the rows.
    ///
    /// `rows`: row-major, a multiple of `dimensions` values.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] and [`Error::NotFinite`] for invalid rows, [`Error::TooFewToTrainOn`] for fewer than
    /// [`Kind::min_training_rows`], [`Error::TrainedTooLate`] when the index already has rows.
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

    /// Appends rows. The position of the first one is `len()`. A graph is built with the number of OpenMP threads
    /// configured for this thread.
    ///
    /// `rows`: row-major, a multiple of `dimensions` values.
    ///
    /// # Errors
    ///
    /// [`Error::Length`], [`Error::NotFinite`], [`Error::NotTrained`], [`Error::TooManyRows`]: nothing was added.
    /// [`Error::Faiss`]: the index is unusable from now on.
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

    /// Copies the index. The copy is independent, and takes the same amount of memory.
    ///
    /// # Errors
    ///
    /// [`Error::Faiss`].
    pub fn copy(&self) -> Result<Self, Error> {
        self.check_not_half_changed()?;
        Ok(Self { index: self.index.try_clone()?, ..*self })
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.ntotal() as usize
    }

    /// Whether the index has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of dimensions.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The kind of the index.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the vector at a position: the original one if [`Kind::stores_exact_vectors`], otherwise the decoded one.
    /// In an index of lists this scans the lists.
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
