//! Making, opening and deleting indexes.

use super::{Index, layout};
use crate::VectorDatabaseError;
use crate::collection::{CollectionShape, VectorIndex, VectorShape};
use crate::collection_name::{Collections, index_of_collection};
use crate::database::Database;

/// How an index is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexShape {
    /// How its vectors are searched.
    pub vector_index: VectorIndex,
    /// How many values each vector has.
    pub dimensions: usize,
    /// How many nodes have each object. With 3, one node may fail.
    pub replicas: u32,
    /// How many parts it has. With more than one, each has BM25 statistics of its own.
    pub shards: u32,
}

impl Index {
    /// Makes an index, or completes and opens the one that is there.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::LongName`], or if the vector database fails.
    pub async fn create(
        database: Database,
        namespace: &str,
        name: &str,
        shape: &IndexShape,
    ) -> Result<Self, VectorDatabaseError> {
        let collections = Collections::of(namespace, name)?;
        let IndexShape { vector_index, dimensions, replicas, shards } = *shape;
        let vectors = VectorShape { index: vector_index, dimensions };
        // The chunks come last: an index is there when they are.
        for (name, properties, vectors) in [
            (&collections.documents, layout::DOCUMENTS, None),
            (&collections.texts, layout::TEXTS, None),
            (&collections.chunks, layout::CHUNKS, Some(vectors)),
        ] {
            database.create_collection(&CollectionShape { name, properties, vectors, replicas, shards }).await?;
        }
        Self::open(database, namespace, name).await
    }

    /// Opens an index.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::NoSuchIndex`], or if the vector database fails.
    pub async fn open(database: Database, namespace: &str, name: &str) -> Result<Self, VectorDatabaseError> {
        let collections = Collections::of(namespace, name)?;
        let Some(collection) = database.collection(&collections.chunks).await? else {
            return Err(VectorDatabaseError::NoSuchIndex(name.to_owned()));
        };
        Ok(Self {
            database,
            name: name.to_owned(),
            collections,
            is_replicated: collection.replicas > 1,
            shards: collection.shards,
        })
    }

    /// An index of this name, to delete it. It need not be there.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::LongName`].
    pub fn named(database: Database, namespace: &str, name: &str) -> Result<Self, VectorDatabaseError> {
        let collections = Collections::of(namespace, name)?;
        Ok(Self { database, name: name.to_owned(), collections, is_replicated: false, shards: 1 })
    }

    /// Deletes the index with everything in it. Succeeds too if it is gone.
    ///
    /// # Errors
    ///
    /// If the vector database fails. It can then be called again.
    pub async fn delete_index(&self) -> Result<(), VectorDatabaseError> {
        for collection in [&self.collections.chunks, &self.collections.texts, &self.collections.documents] {
            self.database.delete_collection(collection).await?;
        }
        Ok(())
    }
}

/// The names of the indexes of a namespace, in order.
///
/// # Errors
///
/// If the vector database fails.
pub async fn index_names(database: &Database, namespace: &str) -> Result<Vec<String>, VectorDatabaseError> {
    let collections = database.collections().await?;
    let mut names: Vec<String> = collections.iter().filter_map(|name| index_of_collection(namespace, name)).collect();
    names.sort_unstable();
    Ok(names)
}
