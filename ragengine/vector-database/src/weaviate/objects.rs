//! Single objects, and batches of them.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::body::{Message, shortened};
use super::replicas::{MAX_READ_WAIT, Replicas, Write};
use super::{Client, Repeat, Request};
use crate::VectorDatabaseError;
use crate::collection_name::CollectionName;
use crate::object::{Object, StoredObject, batches, check_vectors};
use crate::property::Property;

/// Requests for single objects that run at the same time.
const SINGLE_REQUESTS: usize = 16;

/// A replica that is known to be missing has this time to answer before a property is left as it is.
const MAX_WAIT_FOR_MISSING: Duration = Duration::from_secs(1);

fn object_json(object: &Object, collection: &CollectionName) -> Value {
    let properties: Map<String, Value> =
        object.properties.iter().map(|(property, value)| (property.name().to_owned(), value.clone())).collect();
    let mut json = json!({"class": collection.as_str(), "id": object.id, "properties": properties});
    if let Some(vector) = &object.vector {
        json["vector"] = json!(vector);
    }
    json
}

impl Client {
    /// Writes objects. When this returns, all replicas have them, or a majority if not all
    /// answer. After an error, some may be written.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::Vector`], [`VectorDatabaseError::NotStored`], or if Weaviate fails.
    pub async fn put(&self, collection: &CollectionName, objects: &[Object]) -> Result<(), VectorDatabaseError> {
        check_vectors(objects)?;
        for batch in batches(objects) {
            self.put_batch(collection, batch).await?;
        }
        Ok(())
    }

    /// Writes objects of a class with `shards` shards so that their vectors survive the end of a node's process.
    ///
    /// Weaviate 1.35 flushes its logs before the vectors of a request are in them, and answers when they are: what it
    /// acknowledged is lost when it is killed. The next request to the same shard flushes them. So each shard gets an
    /// object again that it has, which changes nothing.
    ///
    /// # Errors
    ///
    /// As [`Self::put`].
    pub async fn put_vectors(
        &self,
        collection: &CollectionName,
        objects: &[Object],
        shards: u32,
    ) -> Result<(), VectorDatabaseError> {
        self.put(collection, objects).await?;
        let of_every_shard = if shards == 1 { objects.len().saturating_sub(1) } else { 0 };
        self.put(collection, &objects[of_every_shard..]).await
    }

    /// Writes a batch, and again the objects of it that were not stored.
    async fn put_batch(&self, collection: &CollectionName, batch: &[Object]) -> Result<(), VectorDatabaseError> {
        let mut left: Vec<&Object> = batch.iter().collect();
        let mut write = Write::new(self);
        let mut attempt = 1;
        loop {
            let failed = match self.attempt_batch(collection, &left, write.replicas()).await {
                Err(error) if write.goes_on(&error).await => continue,
                result => result?,
            };
            let Some(reason) = failed.values().next().cloned() else {
                write.has_succeeded();
                return Ok(());
            };
            left.retain(|object| failed.contains_key(&object.id));
            let error = VectorDatabaseError::NotStored { failed: failed.len(), of: batch.len(), reason };
            if write.goes_on(&error).await {
                continue;
            }
            if attempt == self.attempts {
                return Err(error);
            }
            self.wait(attempt).await;
            attempt += 1;
        }
    }

    /// Writes objects once. Returns why those that were not stored were not.
    async fn attempt_batch(
        &self,
        collection: &CollectionName,
        objects: &[&Object],
        replicas: Replicas,
    ) -> Result<HashMap<Uuid, String>, VectorDatabaseError> {
        let objects_json: Vec<Value> = objects.iter().map(|object| object_json(object, collection)).collect();
        let request = Request {
            method: reqwest::Method::POST,
            path: &["v1", "batch", "objects"],
            query: &[],
            replicas: Some(replicas),
            body: Some(json!({"objects": objects_json})),
            repeat: Repeat::Yes,
        };
        let outcomes: Vec<Outcome> = self.read_reply(request).await?;
        let outcomes: HashMap<Uuid, OfObject> =
            outcomes.into_iter().map(|outcome| (outcome.id, outcome.result)).collect();
        let failure = |object: &&Object| {
            let reason = match outcomes.get(&object.id) {
                Some(result) if result.status.as_deref() == Some("SUCCESS") && result.errors.is_none() => return None,
                Some(OfObject { errors: Some(errors), .. }) => self.redacted(errors.text()),
                _ => "it gave no reason".to_owned(),
            };
            Some((object.id, reason))
        };
        Ok(objects.iter().filter_map(failure).collect())
    }

    /// Reads an object from a majority. None if there is none.
    ///
    /// # Errors
    ///
    /// If Weaviate fails.
    pub async fn object(
        &self,
        collection: &CollectionName,
        id: Uuid,
    ) -> Result<Option<StoredObject>, VectorDatabaseError> {
        self.object_from(Replicas::Majority, collection, id).await
    }

    async fn object_from(
        &self,
        replicas: Replicas,
        collection: &CollectionName,
        id: Uuid,
    ) -> Result<Option<StoredObject>, VectorDatabaseError> {
        let id = id.to_string();
        let path = ["v1", "objects", collection.as_str(), &id];
        self.read(Request::get_from(replicas, &path)).await
    }

    /// Reads objects from a majority, by their ids. Those that do not exist are missing.
    ///
    /// # Errors
    ///
    /// If Weaviate fails.
    pub async fn objects(
        &self,
        collection: &CollectionName,
        ids: &[Uuid],
    ) -> Result<HashMap<Uuid, StoredObject>, VectorDatabaseError> {
        self.objects_from(Replicas::Majority, collection, ids).await
    }

    /// Reads objects from all replicas, by their ids. Those that none of them has are missing.
    ///
    /// # Errors
    ///
    /// If Weaviate fails, or a replica does not answer.
    pub async fn objects_on_all_replicas(
        &self,
        collection: &CollectionName,
        ids: &[Uuid],
    ) -> Result<HashMap<Uuid, StoredObject>, VectorDatabaseError> {
        self.objects_from(Replicas::All, collection, ids).await
    }

    async fn objects_from(
        &self,
        replicas: Replicas,
        collection: &CollectionName,
        ids: &[Uuid],
    ) -> Result<HashMap<Uuid, StoredObject>, VectorDatabaseError> {
        let read = |id: Uuid| self.object_from(replicas, collection, id);
        let read: Vec<Option<StoredObject>> =
            stream::iter(ids.to_vec()).map(read).buffered(SINGLE_REQUESTS).try_collect().await?;
        Ok(read.into_iter().flatten().map(|object| (object.id, object)).collect())
    }

    /// Reads the vector of an object from a majority. None if there is no such object, or it has no vector.
    ///
    /// # Errors
    ///
    /// If Weaviate fails.
    pub async fn vector(&self, collection: &CollectionName, id: Uuid) -> Result<Option<Vec<f32>>, VectorDatabaseError> {
        let id = id.to_string();
        let path = ["v1", "objects", collection.as_str(), &id];
        let request = Request { query: &[("include", "vector")], ..Request::get_from(Replicas::Majority, &path) };
        let object: Option<StoredObject> = self.read(request).await?;
        Ok(object.map(|object| object.vector).filter(|vector| !vector.is_empty()))
    }

    /// Sets a text of an object, and leaves its other properties as they are. Returns whether there is such an object.
    ///
    /// Weaviate 1.35 takes an object for current on each replica that it changes, also if the replica missed an earlier
    /// write of it. So the object is read from all replicas before, which then have the latest write. A replica that
    /// does not answer the read may still get the change, seconds later: so nothing is changed then.
    ///
    /// # Errors
    ///
    /// If Weaviate fails, or a replica does not answer.
    pub async fn set_text(
        &self,
        collection: &CollectionName,
        id: Uuid,
        property: Property,
        text: &str,
    ) -> Result<bool, VectorDatabaseError> {
        match self.bring_up_to_date(collection, id).await {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(false),
            Err(error) => return Err(error),
        }
        let id_text = id.to_string();
        let path = ["v1", "objects", collection.as_str(), &id_text];
        let request = Request {
            method: reqwest::Method::PATCH,
            path: &path,
            query: &[],
            replicas: None,
            body: Some(json!({"class": collection.as_str(), "id": id, "properties": {property.name(): text}})),
            repeat: Repeat::Yes,
        };
        match self.send_write(request).await {
            Ok(_) => Ok(true),
            Err(VectorDatabaseError::Refused { status: 404, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads an object from all replicas, which gives those that are behind its latest write. Fails if one of them does
    /// not answer; one that is known to be missing has less time.
    async fn bring_up_to_date(
        &self,
        collection: &CollectionName,
        id: Uuid,
    ) -> Result<Option<StoredObject>, VectorDatabaseError> {
        let max_wait = if self.missing.is_one() { MAX_WAIT_FOR_MISSING } else { MAX_READ_WAIT };
        let read = self.object_from(Replicas::All, collection, id);
        tokio::time::timeout(max_wait, read).await.unwrap_or(Err(VectorDatabaseError::Timeout))
    }

    /// Deletes an object. Succeeds too if there is none.
    ///
    /// # Errors
    ///
    /// If Weaviate fails.
    pub async fn delete_object(&self, collection: &CollectionName, id: Uuid) -> Result<(), VectorDatabaseError> {
        let id = id.to_string();
        let path = ["v1", "objects", collection.as_str(), &id];
        let request = Request { method: reqwest::Method::DELETE, ..Request::get(&path) };
        match self.send_write(request).await {
            Ok(_) | Err(VectorDatabaseError::Refused { status: 404, .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
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
