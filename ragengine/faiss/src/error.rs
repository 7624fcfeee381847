//! Errors of vector indexes.

use std::io;
use std::path::PathBuf;

use crate::kind::Kind;

/// Why a call of a [`VectorIndex`](crate::VectorIndex) failed. The index is unchanged, except after [`Error::Faiss`]
/// from `add` or `train`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The number of dimensions is out of range.
    #[error("an index of {given} dimensions cannot be created: the number must be from 1 to {}", crate::MAX_DIMENSIONS)]
    Dimensions {
        /// The given value.
        given: usize,
    },
    /// The `m` of a graph is out of range.
    #[error("{kind} cannot be created: M must be from {} to {}", crate::kind::MIN_M, crate::kind::MAX_M)]
    GraphDegree {
        /// The given value.
        kind: Kind,
    },
    /// The number of lists is out of range.
    #[error(
        "{kind} cannot be created: the number of lists must be from {} to {}",
        crate::kind::MIN_LISTS,
        crate::kind::MAX_LISTS
    )]
    Lists {
        /// The given value.
        kind: Kind,
    },
    /// The number of values does not match whole rows, or one query.
    #[error(
        "{values} values are not {expected} of {dimensions} dimensions: \
         was the index created for another embedding model?"
    )]
    Length {
        /// Number of given values.
        values: usize,
        /// The expected input: "whole rows" or "one query".
        expected: &'static str,
        /// The index's dimensions.
        dimensions: usize,
    },
    /// A value is NaN or infinite, or a distance to the vector would overflow.
    #[error(
        "vector {row} contains NaN, infinity, or values too large for a squared distance: \
         give finite, preferably normalised vectors"
    )]
    NotFinite {
        /// The index of the row among the given rows, from 0. 0 for a query.
        row: usize,
    },
    /// Rows were added to an untrained index that needs training.
    #[error("{kind} needs training before the first row is added")]
    NotTrained {
        /// The index's kind.
        kind: Kind,
    },
    /// Training got too few rows.
    #[error(
        "{kind} cannot be trained on {given} rows: give it {} or more of its future rows",
        kind.min_training_rows()
    )]
    TooFewToTrainOn {
        /// The index's kind.
        kind: Kind,
        /// Number of given rows.
        given: usize,
    },
    /// The index has rows. Training it again would change the meaning of their codes.
    #[error("the index already has {rows} rows and cannot be trained again: create a new one")]
    TrainedTooLate {
        /// Number of rows in the index.
        rows: usize,
    },
    /// The index would have too many rows: FAISS numbers the rows of a graph with 32 bits.
    #[error("{held} rows and {given} more are too many for one index: the maximum is {}", i32::MAX)]
    TooManyRows {
        /// Number of rows in the index.
        held: usize,
        /// Number of given rows.
        given: usize,
    },
    /// The row does not exist.
    #[error("there is no row {position}: the index has {rows}")]
    NoSuchRow {
        /// The requested position.
        position: usize,
        /// Number of rows in the index.
        rows: usize,
    },
    /// An earlier `add` or `train` failed inside FAISS, and may be half done.
    #[error("an earlier change of this index was not completed: read it from its file or build it again")]
    HalfChanged,
    /// A file could not be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file was not written by `write`, or is damaged.
    #[error(
        "{path} is not a usable vector index ({reason}): delete it and build the index again",
        path = path.display()
    )]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        reason: String,
    },
    /// A file contains an index of another kind or with other dimensions.
    #[error(
        "{path} contains {found_kind} of {found_dimensions} dimensions, not {kind} of {dimensions}: \
         build the index again",
        path = path.display()
    )]
    OtherIndex {
        /// The file.
        path: PathBuf,
        /// The requested kind.
        kind: Kind,
        /// The requested dimensions.
        dimensions: usize,
        /// The kind in the file.
        found_kind: Kind,
        /// The dimensions in the file.
        found_dimensions: usize,
    },
    /// FAISS failed, with its message.
    #[error("FAISS: {0}")]
    Faiss(String),
}

impl Error {
    /// A short name for metric labels.
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
