use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// How an index keeps its vectors for search. Written as in FAISS's factory: `Flat`, `SQ8`, `HNSW32`, `HNSW32_SQ8`, `IVF1024,Flat`;
/// or `auto`.
///
/// The distance is always squared L2 on normalised vectors, whatever the kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum VectorIndexKind {
    /// Every vector whole, exact search.
    Flat,
    /// Every vector in one byte per dimension, exhaustive search.
    Sq8,
    /// A graph over whole vectors.
    Hnsw {
        /// Neighbours of a node, 4 to 64.
        m: u16,
    },
    /// A graph over vectors of one byte per dimension.
    HnswSq8 {
        /// Neighbours of a node, 4 to 64.
        m: u16,
    },
    /// Whole vectors in lists, of which a search compares those that are nearest. Built quickly.
    Ivf {
        /// How many lists, 4 to 16,384.
        lists: u32,
    },
    /// What suits the number of chunks, chosen anew whenever the index is rebuilt because it has grown.
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

/// A text that names no kind of vector index.
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
        // One spelling each: `HNSW032` would otherwise be another name of HNSW32.
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
    fn names_and_kinds_are_the_same_thing() {
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
