//! Which index: an enum and its one spelling.

use std::fmt;
use std::str::FromStr;

/// The smallest number of neighbours per row in a graph.
pub(crate) const MIN_M: u16 = 4;
/// The largest: more costs memory and building time and finds hardly more.
pub(crate) const MAX_M: u16 = 64;
/// The fewest lists: with fewer a search leaves out hardly anything.
pub(crate) const MIN_LISTS: u32 = 4;
/// The most: finding as many centres takes an hour of a core, and finding the nearest of them a millisecond of each search.
pub(crate) const MAX_LISTS: u32 = 16_384;

/// The rows for each list that FAISS wants for training, and complains about on standard error when they are fewer.
const TRAINING_ROWS_PER_LIST: usize = 39;

/// What an index stores and how it is searched. The distance is always the squared L2 distance.
///
/// The spelling (`Flat`, `HNSW32`, `HNSW32_SQ8`, `SQ8`, `IVF1024,Flat`) is FAISS' own, see
/// <https://github.com/facebookresearch/faiss/wiki/The-index-factory>.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Every vector as it is, every one compared: exact, 4 bytes per dimension.
    Flat,
    /// A graph over exact vectors (Malkov and Yashunin, <https://arxiv.org/abs/1603.09320>).
    Hnsw {
        /// Neighbours per row on the upper levels, twice as many on the lowest: 4 to 64.
        m: u16,
    },
    /// A graph over vectors of one byte per dimension. Needs training.
    HnswSq8 {
        /// As in [`Kind::Hnsw`].
        m: u16,
    },
    /// Vectors of one byte per dimension, every one compared. Needs training.
    Sq8,
    /// Exact vectors in lists, each around a centre: only the lists whose centres are nearest are compared. Needs training.
    Ivf {
        /// How many lists: 4 to 16,384.
        lists: u32,
    },
}

/// A kind that is spelled wrongly or has a number out of range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given:?} is no vector index: write Flat, HNSW<M>, HNSW<M>_SQ8 or SQ8, with M from {MIN_M} to {MAX_M}, or IVF<N>,Flat, \
     with N from {MIN_LISTS} to {MAX_LISTS}, for example HNSW32"
)]
pub struct ParseKindError {
    /// What was given.
    pub given: String,
}

impl Kind {
    /// Whether every search returns the nearest rows, and never nearly the nearest.
    #[must_use]
    pub fn is_exact(self) -> bool {
        self == Self::Flat
    }

    /// Whether distances, and what `reconstruct` returns, are those of the vectors that were added.
    #[must_use]
    pub fn stores_exact_vectors(self) -> bool {
        matches!(self, Self::Flat | Self::Hnsw { .. } | Self::Ivf { .. })
    }

    /// Whether `train` has to come before `add`.
    #[must_use]
    pub fn needs_training(self) -> bool {
        self.min_training_rows() > 0
    }

    /// How many rows `train` wants at least.
    #[must_use]
    pub fn min_training_rows(self) -> usize {
        match self {
            Self::Flat | Self::Hnsw { .. } => 0,
            Self::HnswSq8 { .. } | Self::Sq8 => 1,
            Self::Ivf { lists } => TRAINING_ROWS_PER_LIST * lists as usize,
        }
    }

    /// Whether there is a graph, which `m` describes.
    pub(crate) fn graph_degree(self) -> Option<u16> {
        match self {
            Self::Hnsw { m } | Self::HnswSq8 { m } => Some(m),
            Self::Flat | Self::Sq8 | Self::Ivf { .. } => None,
        }
    }

    pub(crate) fn has_valid_graph_degree(self) -> bool {
        self.graph_degree().is_none_or(|m| (MIN_M..=MAX_M).contains(&m))
    }

    pub(crate) fn has_valid_lists(self) -> bool {
        match self {
            Self::Ivf { lists } => (MIN_LISTS..=MAX_LISTS).contains(&lists),
            _ => true,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flat => formatter.write_str("Flat"),
            Self::Hnsw { m } => write!(formatter, "HNSW{m}"),
            Self::HnswSq8 { m } => write!(formatter, "HNSW{m}_SQ8"),
            Self::Sq8 => formatter.write_str("SQ8"),
            Self::Ivf { lists } => write!(formatter, "IVF{lists},Flat"),
        }
    }
}

impl FromStr for Kind {
    type Err = ParseKindError;

    fn from_str(text: &str) -> Result<Self, ParseKindError> {
        let kind = match text {
            "Flat" => Some(Self::Flat),
            "SQ8" => Some(Self::Sq8),
            _ => parse_graph(text).or_else(|| parse_lists(text)),
        };
        // One spelling each: `HNSW032` would otherwise be another name of HNSW32.
        kind.filter(|kind| kind.has_valid_graph_degree() && kind.has_valid_lists() && kind.to_string() == text)
            .ok_or_else(|| ParseKindError { given: text.to_owned() })
    }
}

fn parse_graph(text: &str) -> Option<Kind> {
    let rest = text.strip_prefix("HNSW")?;
    match rest.strip_suffix("_SQ8") {
        Some(m) => Some(Kind::HnswSq8 { m: m.parse().ok()? }),
        None => Some(Kind::Hnsw { m: rest.parse().ok()? }),
    }
}

fn parse_lists(text: &str) -> Option<Kind> {
    let lists = text.strip_prefix("IVF")?.strip_suffix(",Flat")?;
    Some(Kind::Ivf { lists: lists.parse().ok()? })
}

#[cfg(test)]
mod tests;
