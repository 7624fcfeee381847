use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{OBJECT_NAME, bare_url};

/// What keeps and searches documents and vectors.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.engine) || !(self.engine in ['weaviate','qdrant']) || has(self.url)").message(
        "storage.vectorDB.url is needed with engine: weaviate or qdrant: write the address of Weaviate there, such as \
         http://weaviate.db.svc:8080, or that of Qdrant, such as http://qdrant.db.svc:6334, or engine: faiss"
    ),
    validation = Rule::new(
        "!(has(self.url) || has(self.accessSecret) || has(self.replicationFactor) || has(self.shards)) || \
         (has(self.engine) && self.engine.lowerAscii() != 'faiss')"
    )
    .message(
        "storage.vectorDB.url, accessSecret, replicationFactor and shards are only used with engine: weaviate or \
         qdrant, because FAISS is in the server: write one of these engines, or remove them"
    ),
)]
pub struct VectorDatabase {
    /// `faiss` keeps indexes in the server, on its volume. `weaviate` and `qdrant` keep them in Weaviate or Qdrant, and
    /// the list of indexes in the database of `postgres`, so that the engine can have several pods. Indexes are not
    /// moved when it is changed. Default: `faiss`.
    // A text, because one that an older operator let pass must not hide all RAGEngines from this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(
        validation = Rule::new("self in ['weaviate','qdrant'] || self.lowerAscii() == 'faiss'").message(
            "storage.vectorDB.engine must be faiss, weaviate or qdrant: write engine: faiss, or remove vectorDB, to \
             keep the indexes in the server, or engine: weaviate or engine: qdrant with the url of that database"
        )
    )]
    pub engine: Option<String>,
    /// URL of Weaviate, such as `http://weaviate.db.svc:8080`, or of Qdrant's gRPC interface, such as
    /// `http://qdrant.db.svc:6334`. Required with these engines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    #[x_kube(validation = bare_url("storage.vectorDB.url", "http://weaviate.db.svc:8080"))]
    pub url: Option<String>,
    /// Name of a Secret whose key `VECTOR_DB_ACCESS_SECRET` is an API key of Weaviate or Qdrant. Default: no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub access_secret: Option<String>,
    /// How many nodes of Weaviate or Qdrant have each object of new indexes. With 3, one node may fail. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 7))]
    pub replication_factor: Option<u32>,
    /// How many parts new indexes have in Weaviate or Qdrant. More than one is for indexes that are too large for one
    /// node. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub shards: Option<u32>,
}

impl VectorDatabase {
    /// Whether the indexes are in Weaviate or Qdrant.
    pub fn is_external(&self) -> bool {
        matches!(self.engine.as_deref(), Some("weaviate" | "qdrant"))
    }

    /// The name of an engine that is not supported, if it is one. The definition refuses it, but an older one did not.
    pub fn unknown_engine(&self) -> Option<&str> {
        self.engine.as_deref().filter(|engine| !self.is_external() && !engine.eq_ignore_ascii_case("faiss"))
    }
}
