//! Single objects, and batches of them.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::body::{Message, shortened};
use super::{CONSISTENCY, Client, Repeat, Request};
use crate::WeaviateError;
use crate::class_name::ClassName;
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
    fn json(&self, class: &ClassName) -> Value {
        let properties: Map<String, Value> =
            self.properties.iter().map(|(property, value)| (property.name().to_owned(), value.clone())).collect();
        let mut object = json!({"class": class.as_str(), "id": self.id, "properties": properties});
        if let Some(vector) = &self.vector {
            object["vector"] = json!(vector);
        }
        object
    }

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

/// An object that was read.
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

impl Client {
    /// Writes objects. When this returns, a quorum has all of them. After an error, some may be written.
    ///
    /// # Errors
    ///
    /// [`WeaviateError::Vector`], [`WeaviateError::NotStored`], or if Weaviate fails.
    pub async fn put(&self, class: &ClassName, objects: &[Object]) -> Result<(), WeaviateError> {
        let is_sound = |vector: &Vec<f32>| !vector.is_empty() && vector.iter().all(|value| value.is_finite());
        if !objects.iter().filter_map(|object| object.vector.as_ref()).all(is_sound) {
            return Err(WeaviateError::Vector);
        }
        for batch in batches(objects) {
            self.put_batch(class, batch).await?;
        }
        Ok(())
    }

    /// Writes a batch, and again the objects of it that were not stored.
    async fn put_batch(&self, class: &ClassName, batch: &[Object]) -> Result<(), WeaviateError> {
        let mut left: Vec<&Object> = batch.iter().collect();
        let mut attempt = 1;
        loop {
            let failed = self.attempt_batch(class, &left).await?;
            let Some(reason) = failed.values().next().cloned() else { return Ok(()) };
            if attempt == self.attempts {
                return Err(WeaviateError::NotStored { failed: failed.len(), of: batch.len(), reason });
            }
            self.wait(attempt).await;
            attempt += 1;
            left.retain(|object| failed.contains_key(&object.id));
        }
    }

    /// Writes objects once. Returns why those that were not stored were not.
    async fn attempt_batch(
        &self,
        class: &ClassName,
        objects: &[&Object],
    ) -> Result<HashMap<Uuid, String>, WeaviateError> {
        let objects_json: Vec<Value> = objects.iter().map(|object| object.json(class)).collect();
        let request = Request {
            method: reqwest::Method::POST,
            path: &["v1", "batch", "objects"],
            query: &[CONSISTENCY],
            body: Some(json!({"objects": objects_json})),
            repeat: Repeat::Yes,
        };
        let outcomes: Vec<Outcome> = self.read_reply(request).await?;
        let outcomes: HashMap<Uuid, OfObject> =
            outcomes.into_iter().map(|outcome| (outcome.id, outcome.result)).collect();
        let failure = |object: &&Object| {
            let reason = match outcomes.get(&object.id) {
                Some(result) if result.status.as_deref() == Some("SUCCESS") && result.errors.is_none() => return None,
                Some(OfObject { errors: Some(errors), .. }) => errors.text(),
                _ => "it gave no reason".to_owned(),
            };
            Some((object.id, reason))
        };
        Ok(objects.iter().filter_map(failure).collect())
    }

    /// Reads an object from a quorum. None if there is none.
    ///
    /// # Errors
    ///
    /// If Weaviate fails.
    pub async fn object(&self, class: &ClassName, id: Uuid) -> Result<Option<StoredObject>, WeaviateError> {
        let id = id.to_string();
        let path = ["v1", "objects", class.as_str(), &id];
        self.read(Request { query: &[CONSISTENCY], ..Request::get(&path) }).await
    }

    /// Reads the vector of an object from a quorum. None if there is no such object, or it has no vector.
    ///
    /// # Errors
    ///
    /// If Weaviate fails.
    pub async fn vector(&self, class: &ClassName, id: Uuid) -> Result<Option<Vec<f32>>, WeaviateError> {
        let id = id.to_string();
        let path = ["v1", "objects", class.as_str(), &id];
        let request = Request { query: &[CONSISTENCY, ("include", "vector")], ..Request::get(&path) };
        let object: Option<StoredObject> = self.read(request).await?;
        Ok(object.map(|object| object.vector).filter(|vector| !vector.is_empty()))
    }

    /// Sets a text of an object, and leaves its other properties as they are. Returns whether there is such an object.
    ///
    /// # Errors
    ///
    /// If Weaviate fails.
    pub async fn set_text(
        &self,
        class: &ClassName,
        id: Uuid,
        property: Property,
        text: &str,
    ) -> Result<bool, WeaviateError> {
        let id_text = id.to_string();
        let path = ["v1", "objects", class.as_str(), &id_text];
        let request = Request {
            method: reqwest::Method::PATCH,
            path: &path,
            query: &[CONSISTENCY],
            body: Some(json!({"class": class.as_str(), "id": id, "properties": {property.name(): text}})),
            repeat: Repeat::Yes,
        };
        match self.send(request).await {
            Ok(_) => Ok(true),
            Err(WeaviateError::Refused { status: 404, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes an object. Succeeds too if there is none.
    ///
    /// # Errors
    ///
    /// If Weaviate fails.
    pub async fn delete_object(&self, class: &ClassName, id: Uuid) -> Result<(), WeaviateError> {
        let id = id.to_string();
        let path = ["v1", "objects", class.as_str(), &id];
        let request = Request { method: reqwest::Method::DELETE, query: &[CONSISTENCY], ..Request::get(&path) };
        match self.send(request).await {
            Ok(_) | Err(WeaviateError::Refused { status: 404, .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Objects in requests that are not too long.
fn batches(objects: &[Object]) -> impl Iterator<Item = &[Object]> {
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

#[derive(Deserialize)]
struct Outcome {
    id: Uuid,
    #[serde(default)]
    result: OfObject,
}

#[derive(Default, Deserialize)]
struct OfObject {
    status: Option<String>,
    errors: Option<Errors>,
}

#[derive(Deserialize)]
struct Errors {
    #[serde(default)]
    error: Vec<Message>,
}

impl Errors {
    fn text(&self) -> String {
        let messages: Vec<&str> = self.error.iter().map(|each| each.message.as_str()).collect();
        shortened(&messages.join("; "))
    }
}

#[cfg(test)]
mod tests {
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
}
