//! Objects by their ids, and batches of them.

use std::collections::HashMap;

use qdrant_client::Payload;
use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use qdrant_client::qdrant::with_vectors_selector::SelectorOptions;
use qdrant_client::qdrant::{
    DeletePoints, DeletePointsBuilder, GetPoints, GetPointsBuilder, PayloadIncludeSelector, PointStruct, PointsIdsList,
    PointsOperationResponse, RetrievedPoint, SetPayloadPoints, SetPayloadPointsBuilder, UpdateStatus, UpsertPoints,
    UpsertPointsBuilder, VectorsSelector, WriteOrdering, WriteOrderingType,
};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::conditions::{filter, point_id};
use super::payload::{embedding, point, properties, uuid};
use super::{Client, EMBEDDING, Operation, is_not_found, send};
use crate::VectorDatabaseError;
use crate::collection_name::CollectionName;
use crate::object::{Deletion, Object, StoredObject, batches, check_vectors};
use crate::predicate::Predicate;
use crate::property::Property;

/// Objects that are read by one request.
const READ_AT_ONCE: usize = 500;

/// The embedding, and not the words.
pub(super) fn embedding_only() -> SelectorOptions {
    SelectorOptions::Include(VectorsSelector { names: vec![EMBEDDING.to_owned()] })
}

/// Writes of one object have the same order on all replicas. Another replica leads when the leader is away.
fn in_order() -> WriteOrdering {
    WriteOrdering { r#type: WriteOrderingType::Medium.into() }
}

/// Fails if a write is not done yet: then reads may not see it.
fn check_done(reply: PointsOperationResponse) -> Result<(), VectorDatabaseError> {
    match reply.result.map(|result| result.status()) {
        Some(UpdateStatus::Completed) => Ok(()),
        Some(status) => {
            let message = format!("a write is not done, but {}", status.as_str_name());
            Err(VectorDatabaseError::Unavailable { status: 0, message })
        }
        None => Err(VectorDatabaseError::Reply("a write has no status".to_owned())),
    }
}

/// Points that are chosen by their ids.
fn these(ids: &[Uuid]) -> PointsIdsList {
    PointsIdsList { ids: ids.iter().copied().map(point_id).collect() }
}

/// What is read of points.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    Properties(&'a [Property]),
    Embedding,
}

impl Client {
    /// Writes objects. When this returns, every later read has them. After an error, some may be written.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::Vector`], or if Qdrant fails.
    pub async fn put(&self, collection: &CollectionName, objects: &[Object]) -> Result<(), VectorDatabaseError> {
        check_vectors(objects)?;
        for batch in batches(objects) {
            let points: Vec<PointStruct> = batch.iter().map(point).collect();
            let request = UpsertPointsBuilder::new(collection.as_str(), points).wait(true).ordering(in_order());
            let request = UpsertPoints::from(request.timeout(self.timeout_seconds()));
            check_done(send!(self, Operation::Write, points.upsert(request)).await?)?;
        }
        Ok(())
    }

    /// Reads properties of an object. None if there is none.
    ///
    /// # Errors
    ///
    /// If Qdrant fails.
    pub async fn object(
        &self,
        collection: &CollectionName,
        id: Uuid,
        properties: &[Property],
    ) -> Result<Option<StoredObject>, VectorDatabaseError> {
        Ok(self.objects(collection, &[id], properties).await?.remove(&id))
    }

    /// Reads properties of objects, by their ids. Those that do not exist are missing.
    ///
    /// # Errors
    ///
    /// If Qdrant fails.
    pub async fn objects(
        &self,
        collection: &CollectionName,
        ids: &[Uuid],
        properties: &[Property],
    ) -> Result<HashMap<Uuid, StoredObject>, VectorDatabaseError> {
        self.read(collection, ids, Wanted::Properties(properties)).await
    }

    /// Reads the vector of an object. None if there is no such object, or it has no vector.
    ///
    /// # Errors
    ///
    /// If Qdrant fails.
    pub async fn vector(&self, collection: &CollectionName, id: Uuid) -> Result<Option<Vec<f32>>, VectorDatabaseError> {
        let object = self.read(collection, &[id], Wanted::Embedding).await?.remove(&id);
        Ok(object.map(|object| object.vector).filter(|vector| !vector.is_empty()))
    }

    async fn read(
        &self,
        collection: &CollectionName,
        ids: &[Uuid],
        wanted: Wanted<'_>,
    ) -> Result<HashMap<Uuid, StoredObject>, VectorDatabaseError> {
        let mut objects = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(READ_AT_ONCE) {
            let request = GetPointsBuilder::new(collection.as_str(), these(ids).ids).timeout(self.timeout_seconds());
            let request = match wanted {
                Wanted::Embedding => request.with_payload(false).with_vectors(embedding_only()),
                Wanted::Properties(properties) => request.with_payload(fields(properties)),
            };
            let reply = send!(self, Operation::Read, points.get(GetPoints::from(request))).await?;
            for RetrievedPoint { id, payload, vectors, .. } in reply.result {
                let (id, properties, vector) = (uuid(id)?, properties(payload), embedding(vectors));
                objects.insert(id, StoredObject { id, properties, vector });
            }
        }
        Ok(objects)
    }

    /// Sets a text of an object, and leaves its other properties as they are. Returns whether there is such an object.
    ///
    /// # Errors
    ///
    /// If Qdrant fails.
    pub async fn set_text(
        &self,
        collection: &CollectionName,
        id: Uuid,
        property: Property,
        text: &str,
    ) -> Result<bool, VectorDatabaseError> {
        let payload = Payload::from(Map::from_iter([(property.name().to_owned(), Value::from(text))]));
        let request = SetPayloadPointsBuilder::new(collection.as_str(), payload)
            .points_selector(these(&[id]))
            .wait(true)
            .ordering(in_order())
            .timeout(self.timeout_seconds());
        match send!(self, Operation::Write, points.set_payload(SetPayloadPoints::from(request))).await {
            Ok(reply) => check_done(reply).map(|()| true),
            Err(error) if is_not_found(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes an object. Succeeds too if there is none.
    ///
    /// # Errors
    ///
    /// If Qdrant fails.
    pub async fn delete_object(&self, collection: &CollectionName, id: Uuid) -> Result<(), VectorDatabaseError> {
        self.delete(collection, these(&[id])).await
    }

    /// Deletes all objects that a condition holds for.
    ///
    /// # Errors
    ///
    /// If Qdrant fails. What was deleted before the error stays deleted.
    pub async fn delete_where(
        &self,
        collection: &CollectionName,
        predicate: &Predicate,
    ) -> Result<(), VectorDatabaseError> {
        match filter(predicate) {
            Some(filter) => self.delete(collection, filter).await,
            None => Ok(()),
        }
    }

    /// The same. How many there are is counted before.
    ///
    /// # Errors
    ///
    /// As [`Self::delete_where`].
    pub async fn delete_and_count(
        &self,
        collection: &CollectionName,
        predicate: &Predicate,
    ) -> Result<Deletion, VectorDatabaseError> {
        let objects = self.count(collection, predicate).await?;
        self.delete_where(collection, predicate).await?;
        Ok(Deletion { objects })
    }

    async fn delete(
        &self,
        collection: &CollectionName,
        points: impl Into<PointsSelectorOneOf>,
    ) -> Result<(), VectorDatabaseError> {
        let request = DeletePointsBuilder::new(collection.as_str())
            .points(points)
            .wait(true)
            .ordering(in_order())
            .timeout(self.timeout_seconds());
        check_done(send!(self, Operation::Delete, points.delete(DeletePoints::from(request))).await?)
    }
}

/// The fields of these properties.
pub(super) fn fields(properties: &[Property]) -> PayloadIncludeSelector {
    PayloadIncludeSelector { fields: properties.iter().map(|property| property.name().to_owned()).collect() }
}
