use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SecretReference;

/// What keeps and searches documents, chunks and vectors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VectorEngine {
    /// The server itself, with FAISS, in `dataDir`.
    #[default]
    Faiss,
    /// Weaviate. The server then keeps nothing of an index, so several servers can share them.
    Weaviate,
    /// Qdrant. As with Weaviate, the server then keeps nothing of an index.
    Qdrant,
}

/// The vector engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct VectorDatabase {
    /// `faiss` keeps the indexes in `dataDir`. `weaviate` and `qdrant` keep them in Weaviate or Qdrant, and the list of
    /// indexes and the records of sources in PostgreSQL, so they need `postgres.url`. Servers with the same
    /// `stateNamespace` share the indexes.
    pub engine: VectorEngine,
    /// The address of Weaviate, such as `http://weaviate:8080`, or of Qdrant's gRPC interface, which is on port 6334 by
    /// default, such as `http://qdrant:6334`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The key for Weaviate or Qdrant, if it wants one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretReference>,
    /// How many nodes of Weaviate or Qdrant have each object of new indexes, 1 to 7. With 3, one node may fail.
    pub replication_factor: u32,
    /// How many parts new indexes have in Weaviate or Qdrant, 1 to 64. Each part has BM25 statistics of its own, so
    /// more than one is for indexes that are too large for a node.
    pub shards: u32,
}

impl Default for VectorDatabase {
    fn default() -> Self {
        Self { engine: VectorEngine::Faiss, url: None, api_key: None, replication_factor: 1, shards: 1 }
    }
}

impl VectorDatabase {
    /// Whether the indexes are not in the server.
    pub fn is_external(&self) -> bool {
        self.engine != VectorEngine::Faiss
    }
}
