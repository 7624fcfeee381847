//! Objects, and searches for them.

use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::VectorDatabaseError;
use crate::collection_name::CollectionName;
use crate::predicate::Predicate;
use crate::property::Property;

/// The longest request, in bytes, and the most objects of one. An object that is longer has a request of its own.
const MAX_BATCH_BYTES: usize = 4 << 20;
const MAX_BATCH_OBJECTS: usize = 500;

/// The bytes of a value of a vector in JSON.
const VECTOR_VALUE_BYTES: usize = 13;

/// An object to write. One with the same id is replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// Its id.
    pub id: Uuid,
    /// Its properties.
    pub properties: Vec<(Property, Value)>,
    /// Its vector.
    pub vector: Option<Vec<f32>>,
}

impl Object {
    fn size_bytes(&self) -> usize {
        let text = |value: &Value| match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(|item| item.as_str().map_or(8, str::len) + 3).sum(),
            _ => 8,
        };
        let properties: usize =
            self.properties.iter().map(|(property, value)| property.name().len() + text(value)).sum();
        properties + self.vector.as_ref().map_or(0, |vector| vector.len() * VECTOR_VALUE_BYTES)
    }
}

/// Fails if one of the objects has a vector that cannot be stored.
///
/// # Errors
///
/// [`VectorDatabaseError::Vector`].
pub fn check_vectors(objects: &[Object]) -> Result<(), VectorDatabaseError> {
    objects.iter().filter_map(|object| object.vector.as_deref()).try_for_each(check_vector)
}

/// Fails if a vector cannot be stored or searched for.
///
/// # Errors
///
/// [`VectorDatabaseError::Vector`].
pub fn check_vector(vector: &[f32]) -> Result<(), VectorDatabaseError> {
    let is_sound = !vector.is_empty() && vector.iter().all(|value| value.is_finite());
    if is_sound { Ok(()) } else { Err(VectorDatabaseError::Vector) }
}

/// Objects in requests that are not too long.
pub fn batches(objects: &[Object]) -> impl Iterator<Item = &[Object]> {
    let mut left = objects;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let mut fits = |object: &Object| {
            bytes += object.size_bytes();
            bytes <= MAX_BATCH_BYTES
        };
        let count = left.iter().take(MAX_BATCH_OBJECTS).take_while(|object| fits(object)).count();
        let (batch, rest) = left.split_at(count.max(1).min(left.len()));
        left = rest;
        (!batch.is_empty()).then_some(batch)
    })
}

/// An object that was read by its id.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct StoredObject {
    /// Its id.
    pub id: Uuid,
    /// Its properties.
    #[serde(default)]
    pub properties: Map<String, Value>,
    /// Its vector, if it was asked for.
    #[serde(default)]
    pub vector: Vec<f32>,
}

/// What is found first.
#[derive(Debug, Clone, Copy)]
pub enum Order<'a> {
    /// The nearest vector, by squared L2 distance.
    Nearest(&'a [f32]),
    /// The best BM25 score of these words, which have spaces between them.
    Words(Property, &'a str),
    /// The least number.
    Least(Property),
    /// Any objects.
    Any,
    /// The least id, after this one. Without a condition, because Weaviate allows none.
    Id(Option<Uuid>),
}

/// A search in a collection.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// The collection.
    pub collection: &'a CollectionName,
    /// The objects that may be found.
    pub predicate: &'a Predicate,
    /// What is found first.
    pub order: Order<'a>,
    /// The most objects.
    pub limit: usize,
    /// The properties to read.
    pub properties: &'a [Property],
    /// Whether vectors are read.
    pub has_vectors: bool,
}

/// An object that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Its id.
    pub id: Uuid,
    /// The properties that were asked for.
    pub properties: Map<String, Value>,
    /// The squared L2 distance of its vector, in a search for the nearest.
    pub distance: Option<f32>,
    /// Its BM25 score, in a search by words.
    pub bm25: Option<f32>,
    /// Its vector, if it was asked for.
    pub vector: Vec<f32>,
}

impl Found {
    /// Whether it has those of these properties that every object has. A search of another program may have left only
    /// some on a replica of Weaviate, see the module `weaviate::query`.
    pub fn is_whole(&self, properties: &[Property]) -> bool {
        let has = |property: &Property| self.properties.get(property.name()).is_some_and(|value| !value.is_null());
        properties.iter().all(|property| property.is_optional() || has(property))
    }
}

/// How many objects there are, and the sums of their integers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums {
    /// The number of objects.
    pub count: u64,
    /// The sums, in the order of the properties.
    pub sums: Vec<u64>,
}

impl Sums {
    /// Of no objects.
    pub fn nothing(properties: &[Property]) -> Self {
        Self { count: 0, sums: vec![0; properties.len()] }
    }
}

/// What a deletion did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deletion {
    /// How many objects were deleted.
    pub objects: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn batches_are_bounded_and_keep_the_order() {
        let object = |bytes: usize| Object {
            id: Uuid::new_v4(),
            properties: vec![(Property::TEXT, Value::from("x".repeat(bytes)))],
            vector: None,
        };
        let mut objects = vec![object(MAX_BATCH_BYTES * 2), object(MAX_BATCH_BYTES / 2), object(MAX_BATCH_BYTES / 3)];
        objects.extend((0..MAX_BATCH_OBJECTS + 1).map(|_| object(1)));
        let lengths: Vec<usize> = batches(&objects).map(<[Object]>::len).collect();
        assert_eq!(lengths, [1, MAX_BATCH_OBJECTS, 3]);
        assert_eq!(batches(&objects).flatten().map(|each| each.id).collect::<Vec<_>>(), {
            objects.iter().map(|each| each.id).collect::<Vec<_>>()
        });
        assert_eq!(batches(&[]).count(), 0);
    }

    #[test]
    fn an_object_is_whole_with_all_properties_that_are_not_optional() {
        for (properties, expected) in [
            (json!({}), false),
            (json!({"document": null, "ordinal": null, "page": null}), false),
            (json!({"document": "d", "page": 1}), false),
            (json!({"document": null, "ordinal": 0}), false),
            (json!({"document": "d", "ordinal": 0}), true),
            (json!({"document": "d", "ordinal": 0, "page": null}), true),
        ] {
            let properties = properties.as_object().cloned().unwrap();
            let found = Found { id: Uuid::nil(), properties, distance: None, bm25: None, vector: Vec::new() };
            let is_whole = found.is_whole(&[Property::DOCUMENT, Property::ORDINAL, Property::PAGE]);
            assert_eq!(is_whole, expected, "{:?}", found.properties);
        }
    }

    #[test]
    fn vectors_are_finite_and_not_empty() {
        assert_eq!(check_vector(&[1.0, 0.0]), Ok(()));
        for vector in [&[][..], &[f32::NAN], &[0.0, f32::INFINITY]] {
            assert_eq!(check_vector(vector), Err(VectorDatabaseError::Vector));
        }
    }
}
