//! What can go wrong with a vector index.

use std::io;
use std::path::PathBuf;

use crate::kind::Kind;

/// Why a call on a [`VectorIndex`](crate::VectorIndex) failed. Nothing was changed, except after [`Error::Faiss`] from `add` or `train`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The number of dimensions cannot be used.
    #[error("an index of {given} dimensions cannot be made: give 1 to {}", crate::MAX_DIMENSIONS)]
    Dimensions {
        /// What was asked for.
        given: usize,
    },
    /// The `m` of a graph is out of range.
    #[error("{kind} cannot be made: M goes from {} to {}", crate::kind::MIN_M, crate::kind::MAX_M)]
    GraphDegree {
        /// What was asked for.
        kind: Kind,
    },
    /// The number of lists is out of range.
    #[error(
        "{kind} cannot be made: the number of lists goes from {} to {}",
        crate::kind::MIN_LISTS,
        crate::kind::MAX_LISTS
    )]
    Lists {
        /// What was asked for.
        kind: Kind,
    },
    /// The values are not whole rows, or not one query.
    #[error(
        "{values} values are not {expected} of {dimensions} dimensions: was the index made for another embedding model?"
    )]
    Length {
        /// How many values were given.
        values: usize,
        /// What was expected: "whole rows" or "one query".
        expected: &'static str,
        /// The index's dimensions.
        dimensions: usize,
    },
    /// A value is NaN or infinite, or the vector is so long that a distance to it would overflow.
    #[error(
        "vector {row} holds a NaN or an infinity, or values too large for a squared distance: give finite, preferably normalised vectors"
    )]
    NotFinite {
        /// Which of the given rows, from 0; 0 for a query.
        row: usize,
    },
    /// Rows were added to an index that has to be trained and has not been.
    #[error("{kind} needs training before the first row is added")]
    NotTrained {
        /// The index's kind.
        kind: Kind,
    },
    /// Training was given too few rows, or none.
    #[error("{kind} cannot be trained on {given} rows: give it {} or more of the rows that it will hold", kind.min_training_rows())]
    TooFewToTrainOn {
        /// The index's kind.
        kind: Kind,
        /// How many rows were given.
        given: usize,
    },
    /// Training again would change what the stored codes mean.
    #[error("the index already holds {rows} rows and cannot be trained again: make a new one")]
    TrainedTooLate {
        /// How many rows it holds.
        rows: usize,
    },
    /// FAISS numbers the rows of a graph with 32 bits.
    #[error("{held} rows and {given} more are too many for one index: it holds up to {}", i32::MAX)]
    TooManyRows {
        /// How many rows it holds.
        held: usize,
        /// How many more were given.
        given: usize,
    },
    /// There is no such row.
    #[error("there is no row {position}: the index holds {rows}")]
    NoSuchRow {
        /// The position asked for.
        position: usize,
        /// How many rows the index holds.
        rows: usize,
    },
    /// An earlier `add` or `train` failed inside FAISS, which may have done half of it.
    #[error("an earlier change of this index failed half-way: read it from its file or build it again")]
    HalfChanged,
    /// A file could not be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// A file is not what `write` wrote.
    #[error("{path} is not a usable vector index ({reason}): delete it and build the index again", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file holds an index of another kind or size.
    #[error(
        "{path} holds {found_kind} of {found_dimensions} dimensions, not {kind} of {dimensions}: build the index again",
        path = path.display()
    )]
    OtherIndex {
        /// The file.
        path: PathBuf,
        /// The kind that was asked for.
        kind: Kind,
        /// The dimensions that were asked for.
        dimensions: usize,
        /// The kind that the file holds.
        found_kind: Kind,
        /// The dimensions that the file holds.
        found_dimensions: usize,
    },
    /// FAISS itself failed, with its words.
    #[error("FAISS: {0}")]
    Faiss(String),
}

impl Error {
    /// A short label for metrics.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Dimensions { .. } => "dimensions",
            Self::GraphDegree { .. } => "graph_degree",
            Self::Lists { .. } => "lists",
            Self::Length { .. } => "length",
            Self::NotFinite { .. } => "not_finite",
            Self::NotTrained { .. } => "not_trained",
            Self::TooFewToTrainOn { .. } => "too_few_to_train_on",
            Self::TrainedTooLate { .. } => "trained_too_late",
            Self::TooManyRows { .. } => "too_many_rows",
            Self::NoSuchRow { .. } => "no_such_row",
            Self::HalfChanged => "half_changed",
            Self::Io { .. } => "io",
            Self::File { .. } => "file",
            Self::OtherIndex { .. } => "other_index",
            Self::Faiss(_) => "faiss",
        }
    }
}

impl From<faiss::error::Error> for Error {
    fn from(error: faiss::error::Error) -> Self {
        Self::Faiss(error.to_string())
    }
}
