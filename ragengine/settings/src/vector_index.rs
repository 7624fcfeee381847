use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// The type of a vector index, written as in FAISS's index factory: `Flat`, `SQ8`, `HNSW32`, `HNSW32_SQ8`,
/// `IVF1024,Flat`, or `auto`.
///
/// The distance is squared L2 on normalised vectors for every type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum VectorIndexKind {
    /// Uncompressed vectors, exact search.
    Flat,
    /// Vectors compressed to one byte per dimension, exhaustive search.
    Sq8,
    /// An HNSW graph over uncompressed vectors.
    Hnsw {
        /// Neighbours of a node, 4 to 64.
        m: u16,
    },
    /// An HNSW graph over vectors compressed to one byte per dimension.
    HnswSq8 {
        /// Neighbours of a node, 4 to 64.
        m: u16,
    },
    /// An inverted file (IVF) of uncompressed vectors: a search compares only the nearest lists. It is built faster
    /// than a graph.
    Ivf {
        /// Number of lists, 4 to 16,384.
        lists: u32,
    },
    /// Chosen by the number of chunks, and chosen again when the index is rebuilt because it has grown.
    #[default]
    Auto,
}

impl fmt::Display for VectorIndexKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flat => formatter.write_str("Flat"),
            Self::Sq8 => formatter.write_str("SQ8"),
            Self::Hnsw { m } => write!(formatter, "HNSW{m}"),
            Self::HnswSq8 { m } => write!(formatter, "HNSW{m}_SQ8"),
            Self::Ivf { lists } => write!(formatter, "IVF{lists},Flat"),
            Self::Auto => formatter.write_str("auto"),
        }
    }
}

/// The text does not name a type of vector index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a vector index: use auto, Flat, SQ8, HNSW<M> or HNSW<M>_SQ8 with M from 4 to 64, for example HNSW32, \
     or IVF<N>,Flat with N from 4 to 16384, for example IVF1024,Flat"
)]
pub struct ParseVectorIndexError(String);

impl FromStr for VectorIndexKind {
    type Err = ParseVectorIndexError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let kind = match text {
            "Flat" => Some(Self::Flat),
            "SQ8" => Some(Self::Sq8),
            "auto" => Some(Self::Auto),
            _ => parse_graph(text).or_else(|| parse_lists(text)),
        };
        // Each type has one spelling: `HNSW032` is refused.
        kind.filter(|kind| kind.to_string() == text).ok_or_else(|| ParseVectorIndexError(text.to_owned()))
    }
}

fn parse_graph(text: &str) -> Option<VectorIndexKind> {
    let rest = text.strip_prefix("HNSW")?;
    let neighbours = |digits: &str| digits.parse().ok().filter(|m| (4..=64).contains(m));
    match rest.strip_suffix("_SQ8") {
        Some(digits) => Some(VectorIndexKind::HnswSq8 { m: neighbours(digits)? }),
        None => Some(VectorIndexKind::Hnsw { m: neighbours(rest)? }),
    }
}

fn parse_lists(text: &str) -> Option<VectorIndexKind> {
    let lists = text.strip_prefix("IVF")?.strip_suffix(",Flat")?.parse().ok()?;
    (4..=16_384).contains(&lists).then_some(VectorIndexKind::Ivf { lists })
}

impl Serialize for VectorIndexKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for VectorIndexKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for VectorIndexKind {
    fn schema_name() -> Cow<'static, str> {
        "VectorIndexKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^(auto|Flat|SQ8|HNSW[0-9]{1,2}(_SQ8)?|IVF[0-9]{1,5},Flat)$"})
    }
}

#[cfg(test)]
mod tests {
    use super::VectorIndexKind::{self, *};

    #[test]
    fn every_kind_is_parsed_from_the_name_it_is_written_as() {
        for (name, kind) in [
            ("Flat", Flat),
            ("SQ8", Sq8),
            ("HNSW32", Hnsw { m: 32 }),
            ("HNSW4", Hnsw { m: 4 }),
            ("HNSW64_SQ8", HnswSq8 { m: 64 }),
            ("IVF4,Flat", Ivf { lists: 4 }),
            ("IVF16384,Flat", Ivf { lists: 16_384 }),
            ("auto", Auto),
        ] {
            assert_eq!(name.parse(), Ok(kind));
            assert_eq!(kind.to_string(), name);
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_choices() {
        let names = ["", "flat", "HNSW", "HNSW3", "HNSW65", "HNSW032", "HNSW32_PQ8", "HNSW-32", "Auto"];
        let lists = ["IVF64", "IVF3,Flat", "IVF16385,Flat", "IVF064,Flat", "IVF64,PQ8", "IVF,Flat"];
        for name in names.into_iter().chain(lists) {
            let message = name.parse::<VectorIndexKind>().unwrap_err().to_string();
            assert!(message.contains("HNSW32"), "{message}");
        }
    }
}
