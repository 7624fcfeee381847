//! A vector database: the few requests that indexes are made of. Each database answers them in its own way.

use std::collections::HashMap;

use uuid::Uuid;

use crate::VectorDatabaseError;
use crate::collection::{CollectionDescription, CollectionShape};
use crate::collection_name::CollectionName;
use crate::filter::Comparisons;
use crate::object::{Deletion, Found, Object, Search, StoredObject, Sums};
use crate::predicate::Predicate;
use crate::property::Property;
use crate::{qdrant, weaviate};

/// A vector database. Clones share connections.
#[derive(Debug, Clone)]
pub enum Database {
    /// Weaviate.
    Weaviate(weaviate::Client),
    /// Qdrant.
    Qdrant(qdrant::Client),
}

/// Sends a request to the database that is used.
macro_rules! to_database {
    ($database:expr, $client:ident => $request:expr) => {
        match $database {
            Database::Weaviate($client) => $request.await,
            Database::Qdrant($client) => $request.await,
        }
    };
}

impl Database {
    /// The name of the database, for people.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Weaviate(_) => "Weaviate",
            Self::Qdrant(_) => "Qdrant",
        }
    }

    /// How values are compared in filters.
    pub fn comparisons(&self) -> Comparisons {
        match self {
            Self::Weaviate(_) => Comparisons::Patterns,
            Self::Qdrant(_) => Comparisons::Prefixes,
        }
    }

    /// Succeeds if the database is ready.
    ///
    /// # Errors
    ///
    /// Why it is not.
    pub async fn ready(&self) -> Result<(), VectorDatabaseError> {
        to_database!(self, client => client.ready())
    }

    /// Makes a collection. Returns whether it was made: it may exist.
    ///
    /// # Errors
    ///
    /// If the database fails or refuses.
    pub async fn create_collection(&self, shape: &CollectionShape<'_>) -> Result<bool, VectorDatabaseError> {
        to_database!(self, client => client.create_collection(shape))
    }

    /// Describes a collection. None if it does not exist.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn collection(
        &self,
        name: &CollectionName,
    ) -> Result<Option<CollectionDescription>, VectorDatabaseError> {
        to_database!(self, client => client.collection(name))
    }

    /// The names of all collections.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn collections(&self) -> Result<Vec<String>, VectorDatabaseError> {
        to_database!(self, client => client.collections())
    }

    /// Deletes a collection and its objects. Succeeds too if there is none.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn delete_collection(&self, name: &CollectionName) -> Result<(), VectorDatabaseError> {
        to_database!(self, client => client.delete_collection(name))
    }

    /// Writes objects. When this returns, every later read has them. After an error, some may be written.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::Vector`], [`VectorDatabaseError::NotStored`], or if the database fails.
    pub async fn put(&self, collection: &CollectionName, objects: &[Object]) -> Result<(), VectorDatabaseError> {
        to_database!(self, client => client.put(collection, objects))
    }

    /// Writes objects of a collection with `shards` shards so that their vectors survive the end of a process.
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
        match self {
            Self::Weaviate(client) => client.put_vectors(collection, objects, shards).await,
            Self::Qdrant(client) => client.put(collection, objects).await,
        }
    }

    /// Reads at least these properties of an object, as the latest acknowledged write left them. None if there is none.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn object(
        &self,
        collection: &CollectionName,
        id: Uuid,
        properties: &[Property],
    ) -> Result<Option<StoredObject>, VectorDatabaseError> {
        match self {
            Self::Weaviate(client) => client.object(collection, id).await,
            Self::Qdrant(client) => client.object(collection, id, properties).await,
        }
    }

    /// Reads objects by their ids, as [`Self::object`] does. Those that do not exist are missing.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn objects(
        &self,
        collection: &CollectionName,
        ids: &[Uuid],
        properties: &[Property],
    ) -> Result<HashMap<Uuid, StoredObject>, VectorDatabaseError> {
        match self {
            Self::Weaviate(client) => client.objects(collection, ids).await,
            Self::Qdrant(client) => client.objects(collection, ids, properties).await,
        }
    }

    /// Reads objects by their ids, from all replicas. Those that none of them has are missing. With Qdrant, whose
    /// replicas in use have every write, one replica is asked.
    ///
    /// # Errors
    ///
    /// If the database fails, or a replica of Weaviate does not answer.
    pub async fn objects_on_all_replicas(
        &self,
        collection: &CollectionName,
        ids: &[Uuid],
        properties: &[Property],
    ) -> Result<HashMap<Uuid, StoredObject>, VectorDatabaseError> {
        match self {
            Self::Weaviate(client) => client.objects_on_all_replicas(collection, ids).await,
            Self::Qdrant(client) => client.objects(collection, ids, properties).await,
        }
    }

    /// Reads the vector of an object. None if there is no such object, or it has no vector.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn vector(&self, collection: &CollectionName, id: Uuid) -> Result<Option<Vec<f32>>, VectorDatabaseError> {
        to_database!(self, client => client.vector(collection, id))
    }

    /// Sets a text of an object, and leaves its other properties as they are. Returns whether there is such an object.
    ///
    /// # Errors
    ///
    /// If the database fails, or a replica of Weaviate does not answer.
    pub async fn set_text(
        &self,
        collection: &CollectionName,
        id: Uuid,
        property: Property,
        text: &str,
    ) -> Result<bool, VectorDatabaseError> {
        to_database!(self, client => client.set_text(collection, id, property, text))
    }

    /// Deletes an object. Succeeds too if there is none.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn delete_object(&self, collection: &CollectionName, id: Uuid) -> Result<(), VectorDatabaseError> {
        to_database!(self, client => client.delete_object(collection, id))
    }

    /// Notes that a replica does not answer, and why.
    pub fn one_is_missing(&self, error: &VectorDatabaseError) {
        if let Self::Weaviate(client) = self {
            client.one_is_missing(error);
        }
    }

    /// Whether a replica may lack writes, as far as the writes of this client know.
    pub fn may_be_behind(&self) -> bool {
        match self {
            Self::Weaviate(client) => client.may_be_behind(),
            Self::Qdrant(_) => false,
        }
    }

    /// Whether all replicas of a collection have every write, as far as the writes of this client know. If one was
    /// missing that answers now, it may still be behind, so only a call a minute later says yes.
    pub async fn has_all_replicas(&self, collection: &CollectionName) -> bool {
        match self {
            Self::Weaviate(client) => client.has_all_replicas(collection).await,
            // A replica that misses a write is asked for nothing.
            Self::Qdrant(_) => true,
        }
    }

    /// Deletes all objects that a condition holds for. Everything is not deleted this way.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::NotDeleted`], or if the database fails. What was deleted before the error stays deleted.
    pub async fn delete_where(
        &self,
        collection: &CollectionName,
        predicate: &Predicate,
    ) -> Result<(), VectorDatabaseError> {
        if is_everything_or_nothing(predicate) {
            return Ok(());
        }
        match self {
            Self::Weaviate(client) => client.delete_where(collection, predicate).await.map(drop),
            Self::Qdrant(client) => client.delete_where(collection, predicate).await,
        }
    }

    /// The same, and counts what was deleted, which Qdrant needs another request for.
    ///
    /// # Errors
    ///
    /// As [`Self::delete_where`].
    pub async fn delete_and_count(
        &self,
        collection: &CollectionName,
        predicate: &Predicate,
    ) -> Result<Deletion, VectorDatabaseError> {
        if is_everything_or_nothing(predicate) {
            return Ok(Deletion::default());
        }
        match self {
            Self::Weaviate(client) => client.delete_where(collection, predicate).await,
            Self::Qdrant(client) => client.delete_and_count(collection, predicate).await,
        }
    }

    /// Searches.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::Vector`], [`VectorDatabaseError::Query`], or if the database fails.
    pub async fn search(&self, search: &Search<'_>) -> Result<Vec<Found>, VectorDatabaseError> {
        to_database!(self, client => client.search(search))
    }

    /// Counts the objects that a condition holds for, and adds up their integers.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::Query`], or if the database fails.
    pub async fn sums(
        &self,
        collection: &CollectionName,
        predicate: &Predicate,
        properties: &[Property],
    ) -> Result<Sums, VectorDatabaseError> {
        to_database!(self, client => client.sums(collection, predicate, properties))
    }

    /// The sums of the objects with each value of a text, for at most `most` values.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::Query`], or if the database fails.
    pub async fn sums_by(
        &self,
        collection: &CollectionName,
        text: Property,
        most: usize,
        properties: &[Property],
    ) -> Result<Vec<(String, Sums)>, VectorDatabaseError> {
        to_database!(self, client => client.sums_by(collection, text, most, properties))
    }
}

/// Whether a deletion has nothing to do: to delete everything is to delete the collection.
fn is_everything_or_nothing(predicate: &Predicate) -> bool {
    matches!(predicate, Predicate::Nothing | Predicate::Everything)
}
