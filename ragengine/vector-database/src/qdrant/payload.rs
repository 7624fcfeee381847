//! Properties as Qdrant's payload, and back.

use std::collections::HashMap;

use qdrant_client::qdrant::vectors_output::VectorsOptions;
use qdrant_client::qdrant::{
    NamedVectors, PointId, PointStruct, Value as Payload, Vector, VectorsOutput, point_id, vector_output,
};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::conditions::point_id as id_of;
use super::{EMBEDDING, WORDS, words};
use crate::VectorDatabaseError;
use crate::object::Object;
use crate::property::Property;

/// The digits that a summed integer has, and what they count up to: 2^36 together. Qdrant cannot add, but it counts the
/// objects with each value, and a digit has few.
const DIGITS: u32 = 3;

/// The values of a digit.
pub const DIGIT_VALUES: u64 = 4096;

/// The properties that are added up.
const SUMMED: [Property; 2] = [Property::CHUNK_COUNT, Property::TEXT_BYTES];

/// The fields of the digits of a summed integer, with what each digit is worth.
pub fn digit_fields(property: Property) -> impl Iterator<Item = (String, u64)> {
    (0..DIGITS).map(move |place| (format!("{}_digit_{place}", property.name()), DIGIT_VALUES.pow(place)))
}

/// An object as a point.
pub fn point(object: &Object) -> PointStruct {
    let mut payload = HashMap::new();
    let mut vectors = NamedVectors::default();
    for (property, value) in &object.properties {
        let name = property.name();
        if *property == Property::TERMS {
            let text = value.as_str().unwrap_or_default();
            payload.insert(name.to_owned(), Payload::from(words::distinct(text)));
            let (indices, values) = words::of_object(text);
            if !indices.is_empty() {
                vectors.vectors.insert(WORDS.to_owned(), Vector::new_sparse(indices, values));
            }
            continue;
        }
        if SUMMED.contains(property) {
            let number = value.as_u64().unwrap_or_default();
            let digit = |worth: u64| i64::try_from(number / worth % DIGIT_VALUES).unwrap_or_default();
            payload.extend(digit_fields(*property).map(|(field, worth)| (field, Payload::from(digit(worth)))));
        }
        payload.insert(name.to_owned(), Payload::from(value.clone()));
    }
    if let Some(vector) = &object.vector {
        vectors.vectors.insert(EMBEDDING.to_owned(), Vector::new_dense(vector.clone()));
    }
    PointStruct { id: Some(id_of(object.id)), payload, vectors: Some(vectors.into()) }
}

/// The properties in a payload.
pub fn properties(payload: HashMap<String, Payload>) -> Map<String, Value> {
    payload.into_iter().map(|(name, value)| (name, value.into_json())).collect()
}

/// The UUID of a point.
pub fn uuid(id: Option<PointId>) -> Result<Uuid, VectorDatabaseError> {
    let wrong = || VectorDatabaseError::Reply("a point has no UUID".to_owned());
    match id.and_then(|id| id.point_id_options) {
        Some(point_id::PointIdOptions::Uuid(text)) => text.parse().map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

/// The embedding in the vectors of a point. Empty if it was not asked for, or there is none.
pub fn embedding(vectors: Option<VectorsOutput>) -> Vec<f32> {
    let Some(VectorsOptions::Vectors(mut named)) = vectors.and_then(|vectors| vectors.vectors_options) else {
        return Vec::new();
    };
    match named.vectors.remove(EMBEDDING).map(|vector| vector.into_vector()) {
        Some(vector_output::Vector::Dense(dense)) => dense.data,
        _ => Vec::new(),
    }
}
