mod chunking;
mod resources;
mod source;
mod status;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use chunking::IndexChunking;
pub use resources::SyncResources;
pub use source::{
    ConfigMapSource, GitSource, HttpSource, IndexSource, InlineFile, InlineSource, ObjectStoreSource, Origin,
    VolumeSource,
};
pub use status::{HandledRequests, IndexStatus, LastSync, SourceError, SourceStatus, SyncResult};

use crate::rules::OBJECT_NAME;

/// The finalizer that earlier versions have put on an Index whose documents go with it.
pub const INDEX_FINALIZER: &str = "ragengine.dev/index";

/// The annotation that asks for a synchronisation: each new value for one.
pub const SYNC_ANNOTATION: &str = "ragengine.dev/sync";

/// The annotation that lets one synchronisation delete what a source has suddenly lost: each new value for one.
pub const CONFIRM_DELETE_ANNOTATION: &str = "ragengine.dev/confirm-delete";

/// What an Index is to hold.
#[derive(CustomResource, KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "ragengine.dev",
    version = "v1alpha1",
    kind = "Index",
    plural = "indexes",
    shortname = "idx",
    category = "ragengine-all",
    namespaced,
    status = "IndexStatus",
    derive = "PartialEq",
    doc = "An index of a RAGEngine that holds exactly what its sources hold.",
    printcolumn(name = "Documents", type_ = "integer", json_path = ".status.documents"),
    printcolumn(name = "Revision", type_ = "string", json_path = ".status.revision"),
    printcolumn(name = "Synced", type_ = "date", json_path = ".status.lastSuccessTime"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Reason", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].reason"#),
    printcolumn(name = "Engine", type_ = "string", json_path = ".spec.engineRef.name", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp", priority = 1),
    // Not 63: Jobs are named after it, with something behind.
    validation = Rule::new("self.metadata.name.size() <= 50 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')")
        .message("metadata.name must be at most 50 characters, lower case letters, digits and '-', begin with a letter and end with a letter or digit, because Jobs are named after it: for example handbook"),
    validation = Rule::new("(has(self.spec.indexName) ? self.spec.indexName : self.metadata.name) == (has(oldSelf.spec.indexName) ? oldSelf.spec.indexName : oldSelf.metadata.name)")
        .message("indexName cannot be changed, because the documents are in the index of that name: make another Index with the other name, and delete this one"),
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.engineRef.name == oldSelf.engineRef.name")
        .message("engineRef.name cannot be changed, because the documents are in that engine: make another Index for the other engine, and delete this one"),
)]
pub struct IndexSpec {
    /// The RAGEngine whose index it is. It cannot be changed.
    pub engine_ref: EngineRef,
    /// The name of the index in the engine, which a question names. Several Indexes may fill one index when their settings agree. Not set: the Index's own name. It cannot be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$"))]
    pub index_name: Option<String>,
    /// How documents are cut. Not set: as the engine does by itself, or as the index is cut already. A change builds the index anew; it answers as it was until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunking: Option<IndexChunking>,
    /// How vectors are kept: `auto`, `Flat`, `SQ8`, `HNSW<M>` or `HNSW<M>_SQ8`, M from 4 to 64, or `IVF<N>,Flat`, N from 4 to 16384. Not set: as the engine does by itself, or as the index keeps them already. A change builds the index anew; it answers as it was until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    #[x_kube(validation = Rule::new("self.matches('^(auto|Flat|SQ8|HNSW([4-9]|[1-5][0-9]|6[0-4])(_SQ8)?|IVF([4-9]|[1-9][0-9]{1,3}|1[0-5][0-9]{3}|16[0-2][0-9]{2}|163[0-7][0-9]|1638[0-4]),Flat)$')").message("vectorIndex must be auto, Flat, SQ8, HNSW<M> or HNSW<M>_SQ8 with M from 4 to 64, or IVF<N>,Flat with N from 4 to 16384: for example HNSW32"))]
    pub vector_index: Option<String>,
    /// Where the documents come from. What leaves a source leaves the index; documents that came another way are not touched.
    #[schemars(length(min = 1, max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub sources: Vec<IndexSource>,
    /// When the sources are looked at again: minute, hour, day of the month, month and day of the week, as in a crontab, in UTC. Not set: when something is changed, or the annotation `ragengine.dev/sync` gets another value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    #[x_kube(validation = Rule::new("self.matches('^[^ ]+( [^ ]+){4}$')").message("schedule must have five fields with one space between them, minute, hour, day of the month, month and day of the week, in UTC: for example 0 * * * * for every full hour"))]
    pub schedule: Option<String>,
    /// Whether no synchronisation is begun. One that runs is finished.
    #[serde(default)]
    pub suspend: bool,
    /// What happens to the documents when the Index is deleted: what the last synchronisation said of it counts.
    #[serde(default)]
    pub deletion_policy: IndexDeletionPolicy,
    /// Addresses that http, git and s3 sources may use although they are link-local, loopback or the API server's: `10.0.0.0/8`, `fd00::/8`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(min = 2, max = 64), regex(pattern = r"^[0-9a-fA-F.:]+(/[0-9]{1,3})?$")))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub allowed_ranges: Vec<String>,
    /// What the container of a synchronisation is given, and what it may use at most.
    #[serde(default)]
    pub resources: SyncResources,
}

/// A RAGEngine of the same namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EngineRef {
    /// Its name.
    #[schemars(length(min = 1, max = 50), regex(pattern = OBJECT_NAME))]
    pub name: String,
}

/// What happens to the documents when the Index is deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IndexDeletionPolicy {
    /// They are deleted after it, as soon as an operator and the engine are there.
    #[default]
    Delete,
    /// They stay in the engine.
    Retain,
}

impl Index {
    /// The name of the index in the engine.
    pub fn index_name(&self) -> &str {
        self.spec.index_name.as_deref().or(self.metadata.name.as_deref()).unwrap_or_default()
    }
}
