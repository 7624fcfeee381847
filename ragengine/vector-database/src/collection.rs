//! Collections: what a vector database keeps objects of one kind in. Weaviate calls them classes.

use crate::collection_name::CollectionName;
use crate::property::Property;

/// How vectors are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorIndex {
    /// All are compared.
    Flat,
    /// A graph.
    Hnsw {
        /// The most neighbours of a node.
        max_connections: u32,
        /// The candidates when a node is added.
        ef_construction: u32,
        /// The candidates of a search. None: the database chooses.
        ef: Option<u32>,
    },
}

/// The type of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataType {
    /// A text that is only kept.
    Stored,
    /// A text that is found as a whole.
    Exact,
    /// A list of hashes, in hexadecimal digits, that are found as a whole.
    Hashes,
    /// Words with spaces between them, which are found and counted as they are.
    Words,
    /// An integer that is only kept.
    StoredInteger,
    /// An integer that is added up.
    Integer,
    /// A number that is compared and sorted by.
    Number,
    /// A text that objects are counted by.
    Group,
}

/// A property of a collection.
pub type PropertyShape = (Property, DataType);

/// The vectors of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorShape {
    /// How they are searched.
    pub index: VectorIndex,
    /// How many values each has.
    pub dimensions: usize,
}

/// A collection to make.
#[derive(Debug, Clone)]
pub struct CollectionShape<'a> {
    /// Its name.
    pub name: &'a CollectionName,
    /// Its properties.
    pub properties: &'a [PropertyShape],
    /// Its vectors, if its objects have any.
    pub vectors: Option<VectorShape>,
    /// How many nodes have each object.
    pub replicas: u32,
    /// The shards. Each has BM25 statistics of its own.
    pub shards: u32,
}

/// What is known of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionDescription {
    /// How many nodes have each object.
    pub replicas: u32,
    /// How many parts it has.
    pub shards: u32,
}
