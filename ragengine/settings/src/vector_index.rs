use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// How an index keeps its vectors for search. Written as in FAISS's factory: `Flat`, `SQ8`, `HNSW32`, `HNSW32_SQ8`.
///
/// The distance is always squared L2 on normalised vectors, whatever the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
}

impl Default for VectorIndexKind {
    fn default() -> Self {
        Self::Hnsw { m: 32 }
    }
}

impl fmt::Display for VectorIndexKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flat => formatter.write_str("Flat"),
            Self::Sq8 => formatter.write_str("SQ8"),
            Self::Hnsw { m } => write!(formatter, "HNSW{m}"),
            Self::HnswSq8 { m } => write!(formatter, "HNSW{m}_SQ8"),
        }
    }
}

/// A text that names no kind of vector index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a vector index: use Flat, SQ8, HNSW<M> or HNSW<M>_SQ8 with M from 4 to 64, for example HNSW32")]
pub struct ParseVectorIndexError(String);

impl FromStr for VectorIndexKind {
    type Err = ParseVectorIndexError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let neighbours = |digits: &str| {
            digits
                .parse::<u16>()
                .ok()
                .filter(|m| (4..=64).contains(m))
                .ok_or_else(|| ParseVectorIndexError(text.to_owned()))
        };
        match (text, text.strip_prefix("HNSW")) {
            ("Flat", _) => Ok(Self::Flat),
            ("SQ8", _) => Ok(Self::Sq8),
            (_, Some(rest)) => match rest.strip_suffix("_SQ8") {
                Some(digits) => Ok(Self::HnswSq8 { m: neighbours(digits)? }),
                None => Ok(Self::Hnsw { m: neighbours(rest)? }),
            },
            _ => Err(ParseVectorIndexError(text.to_owned())),
        }
    }
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
        json_schema!({"type": "string", "pattern": "^(Flat|SQ8|HNSW[0-9]{1,2}(_SQ8)?)$"})
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
        ] {
            assert_eq!(name.parse(), Ok(kind));
            assert_eq!(kind.to_string(), name);
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_choices() {
        for name in ["", "flat", "HNSW", "HNSW3", "HNSW65", "HNSW32_PQ8", "IVF64,Flat", "HNSW-32"] {
            let message = name.parse::<VectorIndexKind>().unwrap_err().to_string();
            assert!(message.contains("HNSW32"), "{message}");
        }
    }
}
