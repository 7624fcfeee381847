//! What objects have of metadata, so that filters find them.

use ragengine_pipeline::filter::MetadataValue;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::digits::Ordered;
use super::{Comparisons, MAX_HASHES, MAX_VALUES};
use crate::VectorDatabaseError;

/// The bytes of a hash.
const HASH_BYTES: usize = 16;

/// The values of the properties that filters ask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Searchable {
    /// What is equal.
    pub tokens: Vec<String>,
    /// What is compared.
    pub ranges: Vec<String>,
}

/// What objects have of their document's metadata and source.
///
/// # Errors
///
/// [`VectorDatabaseError::ManyValues`] or [`VectorDatabaseError::LongValues`].
pub fn of_metadata(
    doc_id: &str,
    metadata: &Map<String, Value>,
    source: Option<&str>,
    comparisons: Comparisons,
) -> Result<Searchable, VectorDatabaseError> {
    let values: usize = metadata.values().map(|value| value.as_array().map_or(1, |items| items.len().max(1))).sum();
    if values > MAX_VALUES {
        return Err(VectorDatabaseError::ManyValues { doc_id: doc_id.to_owned(), values, most: MAX_VALUES });
    }
    let mut searchable = Searchable::default();
    searchable.tokens.push(of_every_object());
    searchable.tokens.extend(source.map(of_source));
    for (key, value) in metadata {
        searchable.tokens.push(of_key(key));
        let elements = value.as_array().into_iter().flatten();
        for value in elements.chain([value]).flat_map(MetadataValue::all_of) {
            searchable.tokens.push(of_value(key, &value));
            searchable.ranges.extend(comparisons.of_value(key, &value));
        }
    }
    for list in [&mut searchable.tokens, &mut searchable.ranges] {
        list.sort_unstable();
        list.dedup();
    }
    match searchable.ranges.len() {
        hashes if hashes > MAX_HASHES => {
            Err(VectorDatabaseError::LongValues { doc_id: doc_id.to_owned(), hashes, most: MAX_HASHES })
        }
        _ => Ok(searchable),
    }
}

/// The token that every object has.
pub fn of_every_object() -> String {
    hash(&["every object"])
}

/// The token of a source.
pub fn of_source(source: &str) -> String {
    hash(&["source", source])
}

/// The token of a key.
pub fn of_key(key: &str) -> String {
    hash(&["key", key])
}

/// The token of a key with a value.
pub fn of_value(key: &str, value: &MetadataValue) -> String {
    let value = match value {
        MetadataValue::Null => ("null", String::new()),
        MetadataValue::Bool(value) => ("bool", value.to_string()),
        MetadataValue::Number(number) => {
            let (float, rest) = number.parts();
            ("number", format!("{:x} {rest}", float.to_bits()))
        }
        MetadataValue::Instant(instant) => ("instant", instant.as_nanosecond().to_string()),
        MetadataValue::Text(text) => ("text", text.clone()),
        MetadataValue::Json(json) => ("json", json.clone()),
    };
    hash(&["value", key, value.0, &value.1])
}

/// The beginning of the ranges of a key and a type.
pub fn of_range(key: &str, ordered: Ordered) -> String {
    format!("{}{}", hash(&["range", key]), ordered.letter())
}

/// The hash of a key, a type and the first digits of values, which are 0 to 15.
pub fn of_prefix(key: &str, ordered: Ordered, digits: &[u8]) -> String {
    let digits: String = digits.iter().filter_map(|digit| char::from_digit(u32::from(*digit), 16)).collect();
    hash(&["prefix", key, ordered.letter().encode_utf8(&mut [0; 4]), &digits])
}

/// A hash of parts. The length of each keeps them apart.
fn hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex::encode(&hash.finalize()[..HASH_BYTES])
}
