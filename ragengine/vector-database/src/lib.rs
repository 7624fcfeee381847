//! Documents, chunks and vectors in a vector database beside FAISS: Weaviate ([`weaviate`]) or Qdrant ([`qdrant`]). The
//! server then keeps nothing of its own.
//!
//! An [`Index`] is made of the few requests that a [`Database`] answers, so both databases have the same indexes. What
//! is the same as in `ragengine-index`: distances, filters, words and their BM25 formula, and that an acknowledged
//! write is in every later search and a deleted document in none. What differs:
//!
//! - Full text has one set of BM25 statistics for each shard. Weaviate keeps a length for each word list in one byte,
//!   and Qdrant compares lengths with a fixed one. Scores differ a little, and orders of nearly equal scores with them.
//! - Weaviate searches one replica of each shard. So writes wait for all replicas. While one of them does not answer,
//!   they wait for a majority, and searches may miss them until Weaviate's replicas have exchanged them. Deleted and
//!   replaced documents are never shown, because their own objects are read from a majority.
//! - Weaviate writes to its files, but does not wait for the disk. What it acknowledged survives the end of a process,
//!   and with replicas that of a machine; a power failure of all machines may lose the last seconds. With replicas, a
//!   node that is killed may keep chunks without their vectors, and its own searches then miss them until the documents
//!   are written again.
//! - Without a majority of the replicas of Weaviate, reads of documents and writes fail after the time limit of a
//!   request.
//! - Filters have bounds (see [`filter`]).
//! - Lists go on behind a place instead of at an offset.

mod api_key;
mod collection;
mod collection_name;
mod database;
pub mod document;
mod error;
mod fault;
pub mod filter;
mod generation;
pub mod index;
mod metrics;
mod object;
mod object_id;
mod options;
pub mod predicate;
pub mod property;
pub mod qdrant;
pub mod weaviate;

pub use api_key::ApiKey;
pub use collection::VectorIndex;
pub use database::Database;
pub use document::{Chunk, ChunkPlace, Document, DocumentRecord, StoredChunk, WholeDocument};
pub use error::VectorDatabaseError;
pub use generation::Generation;
pub use index::{
    DenseSearch, Hit, Index, IndexShape, IndexSize, Page, Selection, WithoutDocuments, WordSearch, index_names,
};
pub use metrics::VectorDatabaseMetrics;
pub use options::ClientOptions;
