//! Objects by their ids, and batches of them.

use std::collections::HashMap;

use qdrant_client::Payload;
use qdrant_client::qdrant::read_consistency::Value as Consistency;
use qdrant_client::qdrant::with_vectors_selector::SelectorOptions;
use qdrant_client::qdrant::{
    CountPointsBuilder, DeletePointsBuilder, GetPointsBuilder, PointStruct, PointsIdsList, ReadConsistencyType,
    RetrievedPoint, SetPayloadPointsBuilder, UpsertPointsBuilder, VectorsSelector, WriteOrdering, WriteOrderingType,
};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::conditions::{filter, point_id};
use super::payload::{embedding, point, properties, uuid};
use super::{Client, EMBEDDING, Operation, is_not_found};
use crate::VectorDatabaseError;
use crate::collection_name::CollectionName;
use crate::object::{Deletion, Object, StoredObject, batches, check_vectors};
use crate::predicate::Predicate;
use crate::property::Property;

/// Objects that are read by one request.
const READ_AT_ONCE: usize = 500;

/// What a majority of the replicas has.
pub(super) fn majority() -> Consistency {
    Consistency::Type(ReadConsistencyType::Majority.into())
}

/// The embedding, and not the words.
pub(super) fn embedding_only() -> SelectorOptions {
    SelectorOptions::Include(VectorsSelector { names: vec![EMBEDDING.to_owned()] })
}

/// Writes of one object have the same order on all replicas.
fn in_order() -> WriteOrdering {
    WriteOrdering { r#type: WriteOrderingType::Strong.into() }
}

/// Points that are chosen by their ids.
fn these(ids: &[Uuid]) -> PointsIdsList {
    PointsIdsList { ids: ids.iter().copied().map(point_id).collect() }
}

/// Which vectors of points are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WithVectors {
    Yes,
    No,
}

impl Client {
    /// Writes objects. When this returns, a majority has all of them. After an error, some may be written.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::Vector`], or if Qdrant fails.
    pub async fn put(&self, collection: &CollectionName, objects: &[Object]) -> Result<(), VectorDatabaseError> {
        check_vectors(objects)?;
        for batch in batches(objects) {
            let points: Vec<PointStruct> = batch.iter().map(point).collect();
            let request = UpsertPointsBuilder::new(collection.as_str(), points).wait(true).ordering(in_order());
            self.send(Operation::Write, || self.qdrant.upsert_points(request.clone())).await?;
        }
        Ok(())
    }

    /// Reads an object from a majority. None if there is none.
    ///
    /// # Errors
    ///
    /// If Qdrant fails.
    pub async fn object(
        &self,
        collection: &CollectionName,
        id: Uuid,
    ) -> Result<Option<StoredObject>, VectorDatabaseError> {
        Ok(self.objects(collection, &[id]).await?.remove(&id))
    }

    /// Reads objects from a majority, by their ids. Those that do not exist are missing.
    ///
    /// # Errors
    ///
    /// If Qdrant fails.
    pub async fn objects(
        &self,
        collection: &CollectionName,
        ids: &[Uuid],
    ) -> Result<HashMap<Uuid, StoredObject>, VectorDatabaseError> {
        self.read(collection, ids, WithVectors::No).await
    }

    /// Reads the vector of an object from a majority. None if there is no such object, or it has no vector.
    ///
    /// # Errors
    ///
    /// If Qdrant fails.
    pub async fn vector(&self, collection: &CollectionName, id: Uuid) -> Result<Option<Vec<f32>>, VectorDatabaseError> {
        let object = self.read(collection, &[id], WithVectors::Yes).await?.remove(&id);
        Ok(object.map(|object| object.vector).filter(|vector| !vector.is_empty()))
    }

    async fn read(
        &self,
        collection: &CollectionName,
        ids: &[Uuid],
        vectors: WithVectors,
    ) -> Result<HashMap<Uuid, StoredObject>, VectorDatabaseError> {
        let mut objects = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(READ_AT_ONCE) {
            let request = GetPointsBuilder::new(collection.as_str(), these(ids).ids).read_consistency(majority());
            let request = match vectors {
                WithVectors::Yes => request.with_payload(false).with_vectors(embedding_only()),
                WithVectors::No => request.with_payload(true),
            };
            let reply = self.send(Operation::Read, || self.qdrant.get_points(request.clone())).await?;
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
            .ordering(in_order());
        match self.send(Operation::Write, || self.qdrant.set_payload(request.clone())).await {
            Ok(_) => Ok(true),
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
        let request =
            DeletePointsBuilder::new(collection.as_str()).points(these(&[id])).wait(true).ordering(in_order());
        self.send(Operation::Delete, || self.qdrant.delete_points(request.clone())).await.map(|_| ())
    }

    /// Deletes all objects that a condition holds for. How many there were is counted before.
    ///
    /// # Errors
    ///
    /// If Qdrant fails. What was deleted before the error stays deleted.
    pub async fn delete_where(
        &self,
        collection: &CollectionName,
        predicate: &Predicate,
    ) -> Result<Deletion, VectorDatabaseError> {
        let Some(filter) = filter(predicate) else { return Ok(Deletion::default()) };
        let count = CountPointsBuilder::new(collection.as_str()).filter(filter.clone()).exact(true);
        let reply = self.send(Operation::Query, || self.qdrant.count(count.clone())).await?;
        let objects = reply.result.map_or(0, |result| result.count);
        if objects > 0 {
            let request = DeletePointsBuilder::new(collection.as_str()).points(filter).wait(true).ordering(in_order());
            self.send(Operation::Delete, || self.qdrant.delete_points(request.clone())).await?;
        }
        Ok(Deletion { objects })
    }
}
