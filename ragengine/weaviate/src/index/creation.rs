//! Making, opening and deleting indexes.

use super::{Index, layout};
use crate::WeaviateError;
use crate::class_name::{Classes, index_of_class};
use crate::client::{ClassShape, Client, VectorIndex};

/// How an index is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexShape {
    /// How its vectors are searched.
    pub vector_index: VectorIndex,
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
    /// [`WeaviateError::LongName`], or if Weaviate fails.
    pub async fn create(
        client: Client,
        namespace: &str,
        name: &str,
        shape: &IndexShape,
    ) -> Result<Self, WeaviateError> {
        let classes = Classes::of(namespace, name)?;
        let IndexShape { vector_index, replicas, shards } = *shape;
        // The chunks come last: an index is there when they are.
        for (name, properties, vector_index) in [
            (&classes.documents, layout::DOCUMENTS, None),
            (&classes.texts, layout::TEXTS, None),
            (&classes.chunks, layout::CHUNKS, Some(vector_index)),
        ] {
            client.create_class(&ClassShape { name, properties, vector_index, replicas, shards }).await?;
        }
        Self::open(client, namespace, name).await
    }

    /// Opens an index.
    ///
    /// # Errors
    ///
    /// [`WeaviateError::NoSuchIndex`], or if Weaviate fails.
    pub async fn open(client: Client, namespace: &str, name: &str) -> Result<Self, WeaviateError> {
        let classes = Classes::of(namespace, name)?;
        let Some(class) = client.class(&classes.chunks).await? else {
            return Err(WeaviateError::NoSuchIndex(name.to_owned()));
        };
        Ok(Self { client, name: name.to_owned(), classes, is_replicated: class.replicas > 1, shards: class.shards })
    }

    /// An index of this name, to delete it. It need not be there.
    ///
    /// # Errors
    ///
    /// [`WeaviateError::LongName`].
    pub fn named(client: Client, namespace: &str, name: &str) -> Result<Self, WeaviateError> {
        let classes = Classes::of(namespace, name)?;
        Ok(Self { client, name: name.to_owned(), classes, is_replicated: false, shards: 1 })
    }

    /// Deletes the index with everything in it. Succeeds too if it is gone.
    ///
    /// # Errors
    ///
    /// If Weaviate fails. It can then be called again.
    pub async fn delete_index(&self) -> Result<(), WeaviateError> {
        for class in [&self.classes.chunks, &self.classes.texts, &self.classes.documents] {
            self.client.delete_class(class).await?;
        }
        Ok(())
    }
}

/// The names of the indexes of a namespace, in order.
///
/// # Errors
///
/// If Weaviate fails.
pub async fn index_names(client: &Client, namespace: &str) -> Result<Vec<String>, WeaviateError> {
    let classes = client.classes().await?;
    let mut names: Vec<String> = classes.iter().filter_map(|class| index_of_class(namespace, class)).collect();
    names.sort_unstable();
    Ok(names)
}
