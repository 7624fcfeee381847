//! The kinds of vector indexes and their names.

use std::fmt;
use std::str::FromStr;

/// Minimum number of neighbours per row in a graph.
pub(crate) const MIN_M: u16 = 4;
/// Maximum number of neighbours per row. More cost memory and building time, and find hardly more.
pub(crate) const MAX_M: u16 = 64;
/// Minimum number of lists. With fewer, a search skips hardly any rows.
pub(crate) const MIN_LISTS: u32 = 4;
/// Maximum number of lists. Training as many takes a core one hour, and finding the nearest centres a millisecond per
/// search.
pub(crate) const MAX_LISTS: u32 = 16_384;

/// Number of training rows for each list. With fewer, FAISS prints warnings on standard error.
const TRAINING_ROWS_PER_LIST: usize = 39;

/// The kind of a vector index: its storage and its search algorithm. The distance is always the squared L2 distance.
///
/// The names (`Flat`, `HNSW32`, `HNSW32_SQ8`, `SQ8`, `IVF1024,Flat`) are those of FAISS' index factory, see
/// <https://github.com/facebookresearch/faiss/wiki/The-index-factory>.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Uncompressed vectors with exhaustive search: exact, 4 bytes per dimension.
    Flat,
    /// An HNSW graph over uncompressed vectors (Malkov and Yashunin, <https://arxiv.org/abs/1603.09320>).
    Hnsw {
        /// Neighbours per row on the upper levels, twice as many on the lowest: 4 to 64.
        m: u16,
    },
    /// An HNSW graph over vectors of one byte per dimension. Needs training.
    HnswSq8 {
        /// As in [`Kind::Hnsw`].
        m: u16,
    },
    /// Vectors of one byte per dimension with exhaustive search. Needs training.
    Sq8,
    /// An inverted file: uncompressed vectors in lists, each around a centre. A search compares only the lists with the
    /// nearest centres. Needs training.
    Ivf {
        /// Number of lists, 4 to 16,384.
        lists: u32,
    },
}

/// The name of a kind is invalid, or has a number out of range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given:?} is not a vector index: write Flat, HNSW<M>, HNSW<M>_SQ8 or SQ8, with M from {MIN_M} to {MAX_M}, \
     or IVF<N>,Flat, with N from {MIN_LISTS} to {MAX_LISTS}, for example HNSW32"
)]
pub struct ParseKindError {
    /// The given text.
    pub given: String,
}

impl Kind {
    /// Whether every search is exact.
    #[must_use]
    pub fn is_exact(self) -> bool {
        self == Self::Flat
    }

    /// Whether the index stores the original vectors, so that distances and `reconstruct` are exact.
    #[must_use]
    pub fn stores_exact_vectors(self) -> bool {
        matches!(self, Self::Flat | Self::Hnsw { .. } | Self::Ivf { .. })
    }

    /// Whether the index must be trained before rows are added.
    #[must_use]
    pub fn needs_training(self) -> bool {
        self.min_training_rows() > 0
    }

    /// Minimum number of rows for `train`.
    #[must_use]
    pub fn min_training_rows(self) -> usize {
        match self {
            Self::Flat | Self::Hnsw { .. } => 0,
            Self::HnswSq8 { .. } | Self::Sq8 => 1,
            Self::Ivf { lists } => TRAINING_ROWS_PER_LIST * lists as usize,
        }
    }

    /// The `m` of the graph, if there is one.
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
        // Each kind has one spelling: `HNSW032` is refused.
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
