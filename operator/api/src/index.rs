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

use crate::AccessRules;
use crate::rules::{INDEX_NAME, OBJECT_NAME};

/// Finalizer that earlier versions set on an Index with the deletion policy `Delete`. This version only removes it.
pub const INDEX_FINALIZER: &str = "ragengine.dev/index";

/// Annotation that starts a synchronisation. Each new value starts one.
pub const SYNC_ANNOTATION: &str = "ragengine.dev/sync";

/// Annotation that confirms the deletion of documents that a source suddenly lost. Each new value holds for one
/// synchronisation.
pub const CONFIRM_DELETE_ANNOTATION: &str = "ragengine.dev/confirm-delete";

/// Desired state of an Index.
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
    doc = "An index of a RAGEngine that is kept in step with its sources.",
    printcolumn(name = "Documents", type_ = "integer", json_path = ".status.documents"),
    printcolumn(name = "Revision", type_ = "string", json_path = ".status.revision"),
    printcolumn(name = "Synced", type_ = "date", json_path = ".status.lastSuccessTime"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Reason", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].reason"#),
    printcolumn(name = "Engine", type_ = "string", json_path = ".spec.engineRef.name", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp", priority = 1),
    // Shorter than the usual 63 characters because the names of Jobs are this name plus a suffix.
    validation = Rule::new(
        "self.metadata.name.size() <= 50 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"
    )
    .message(
        "metadata.name must be at most 50 characters, contain only lower case letters, digits and '-', begin with a \
         letter and end with a letter or digit, because Jobs are named after it: for example handbook"
    ),
    validation = Rule::new(
        "(has(self.spec.indexName) ? self.spec.indexName : self.metadata.name) == \
         (has(oldSelf.spec.indexName) ? oldSelf.spec.indexName : oldSelf.metadata.name)"
    )
    .message(
        "indexName cannot be changed, because the documents are stored under that name: create another Index with \
         the new name and delete this one"
    ),
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.engineRef.name == oldSelf.engineRef.name")
        .message(
            "engineRef.name cannot be changed, because the documents are in that engine: create another Index for \
             the other engine and delete this one"
        ),
)]
pub struct IndexSpec {
    /// RAGEngine that stores the index. Immutable.
    pub engine_ref: EngineRef,
    /// Name of the index in the engine, which requests use as `index_name`. Several Indexes can fill the same index if
    /// their settings agree. Immutable. Default: the name of this object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = INDEX_NAME))]
    pub index_name: Option<String>,
    /// How documents are split into chunks. A change rebuilds the index; until the rebuild is complete, queries use the
    /// old chunks. Default: the settings of the existing index, otherwise those of the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunking: Option<IndexChunking>,
    /// Type of the vector index: `auto`, `Flat`, `SQ8`, `HNSW<M>` or `HNSW<M>_SQ8` with M from 4 to 64, or
    /// `IVF<N>,Flat` with N from 4 to 16384. A change rebuilds the index; until the rebuild is complete, queries use
    /// the old type. Default: the type of the existing index, otherwise that of the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    #[x_kube(
        validation = Rule::new(
            "self.matches('^(auto|Flat|SQ8|HNSW([4-9]|[1-5][0-9]|6[0-4])(_SQ8)?|\
             IVF([4-9]|[1-9][0-9]{1,3}|1[0-5][0-9]{3}|16[0-2][0-9]{2}|163[0-7][0-9]|1638[0-4]),Flat)$')"
        )
        .message(
            "vectorIndex must be auto, Flat, SQ8, HNSW<M> or HNSW<M>_SQ8 with M from 4 to 64, or IVF<N>,Flat with N \
             from 4 to 16384: for example HNSW32"
        )
    )]
    pub vector_index: Option<String>,
    /// Where the documents come from. A document that is removed from its source is deleted from the index. Documents
    /// that were added through the API are kept.
    #[schemars(length(min = 1, max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub sources: Vec<IndexSource>,
    /// When the sources are read again: a cron expression of five fields in UTC, such as `0 * * * *` for every full
    /// hour. Default: only when the specification changes, a ConfigMap or Secret that it names changes, or the
    /// annotation `ragengine.dev/sync` gets a new value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    #[x_kube(
        validation = Rule::new("self.matches('^[^ ]+( [^ ]+){4}$')").message(
            "schedule must have five fields with one space between them (minute, hour, day of the month, month, day \
             of the week), in UTC: for example 0 * * * * for every full hour"
        )
    )]
    pub schedule: Option<String>,
    /// If true, no new synchronisation starts; a running one finishes. Default: false.
    #[serde(default)]
    pub suspend: bool,
    /// `Delete` deletes the documents from the engine when the Index is deleted; `Retain` keeps them. The value at the
    /// last synchronisation applies. Default: `Delete`.
    #[serde(default)]
    pub deletion_policy: IndexDeletionPolicy,
    /// Addresses and CIDR ranges that http, git and s3 sources may connect to although they are loopback, link-local or
    /// the API server's, such as `10.0.0.0/8` or `fd00::/8`. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(min = 2, max = 64), regex(pattern = r"^[0-9a-fA-F.:]+(/[0-9]{1,3})?$")))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub allowed_ranges: Vec<String>,
    /// Who may use the index, if the RAGEngine has `auth.modes`. Until the Index has documents in its index, the rules
    /// only narrow `auth.defaultAccess` of the RAGEngine. A change reaches the server within two minutes and needs no
    /// restart: until then the previous rules hold, and for a new Index `auth.defaultAccess`. Default:
    /// `auth.defaultAccess` of the RAGEngine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessRules>,
    /// CPU and memory of the container that runs a synchronisation.
    #[serde(default)]
    pub resources: SyncResources,
}

/// Reference to a RAGEngine in the same namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EngineRef {
    /// Name of a RAGEngine in the same namespace.
    #[schemars(length(min = 1, max = 50), regex(pattern = OBJECT_NAME))]
    pub name: String,
}

/// What happens to the documents when the Index is deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IndexDeletionPolicy {
    /// The documents are deleted afterwards, as soon as the operator and the engine run.
    #[default]
    Delete,
    /// The documents stay in the engine.
    Retain,
}

impl Index {
    /// Name of the index in the engine: `spec.indexName`, otherwise the name of the object.
    pub fn index_name(&self) -> &str {
        self.spec.index_name.as_deref().or(self.metadata.name.as_deref()).unwrap_or_default()
    }
}
