use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Condition;
use crate::condition::date_time;

/// Observed state of an Index. The engine keeps the record of documents and synchronisations; this is its latest copy.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexStatus {
    /// `Ready`: the index matches its sources. `Progressing`: a synchronisation runs or waits. `Degraded`: an error
    /// needs attention.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// `metadata.generation` that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// Number of documents in the index that come from the sources. Unset until the first synchronisation has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<u64>,
    /// Number of chunks of these documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<u64>,
    /// Total size of the texts of these documents, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Revision of the source in the index; with several sources, a hash of their revisions. Changes only after a
    /// complete synchronisation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub revision: Option<String>,
    /// Number of files processed by the running synchronisation. Unset if none runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<u64>,
    /// Number of files found by the running synchronisation. Unset if none runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The most recent synchronisation that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sync: Option<LastSync>,
    /// When the most recent complete synchronisation ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "date_time")]
    pub last_success_time: Option<Time>,
    /// Status of each source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub sources: Vec<SourceStatus>,
    /// Annotation values that have been handled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled: Option<HandledRequests>,
    /// Number of consecutive failed synchronisations of the current specification. The next one starts after 30
    /// seconds, and twice as long after each failure, up to half an hour.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// Identity of the engine's data directory. If it changes, all documents are sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub data_id: Option<String>,
}

/// A synchronisation that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastSync {
    /// Id of the synchronisation, also stored in the engine's record and on the Job.
    #[schemars(length(max = 64))]
    pub id: String,
    /// Hash of the desired state that was synchronised, including the schedule. If it is unchanged and the result is
    /// good, no synchronisation is needed.
    #[schemars(length(max = 64))]
    pub wanted: String,
    /// Hash of the desired state without the schedule. If it is unchanged, the index still matches the specification.
    #[schemars(length(max = 64))]
    pub specification: String,
    /// When the synchronisation started.
    #[schemars(schema_with = "date_time")]
    pub started_at: Time,
    /// When the synchronisation ended.
    #[schemars(schema_with = "date_time")]
    pub finished_at: Time,
    /// Result: `Succeeded`, `Failed`, or `HeldBack` if documents are kept until their deletion is confirmed.
    pub result: SyncResult,
    /// Error message. Unset after a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
    /// Value of the annotation `ragengine.dev/confirm-delete` that confirms the deletion of the held back documents. It
    /// is valid only while the same documents are held back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub confirmation: Option<String>,
}

/// Result of a synchronisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SyncResult {
    /// The index matches the sources, except for files with errors.
    Succeeded,
    /// A source could not be read, or the engine could not be updated.
    Failed,
    /// A source or file suddenly lost so many documents that it may be broken. None of them were deleted.
    HeldBack,
}

/// Observed state of one source.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceStatus {
    /// Name of the source.
    #[schemars(length(max = 40))]
    pub name: String,
    /// Number of documents of the source in the index.
    #[serde(default)]
    pub documents: u64,
    /// Number of chunks of these documents.
    #[serde(default)]
    pub chunks: u64,
    /// Total size of the texts of these documents, in bytes.
    #[serde(default)]
    pub bytes: u64,
    /// Revision of the source in the index: a git commit, or a hash of its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub revision: Option<String>,
    /// When the source was last synchronised completely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "date_time")]
    pub last_sync_time: Option<Time>,
    /// Number of files with errors.
    #[serde(default)]
    pub error_count: u64,
    /// The first 10 files with errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub errors: Vec<SourceError>,
    /// Number of documents that are kept until their deletion is confirmed.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub held_back: u64,
    /// Error message of the source. Unset if the source was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub message: Option<String>,
}

/// A file that could not be indexed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceError {
    /// Path of the file in the source.
    #[schemars(length(max = 512))]
    pub path: String,
    /// Error message of the file.
    #[schemars(length(max = 512))]
    pub message: String,
}

/// Annotation values that have been handled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandledRequests {
    /// Last handled value of `ragengine.dev/sync`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub sync: Option<String>,
    /// Last handled value of `ragengine.dev/confirm-delete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub confirm_delete: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero_u64(count: &u64) -> bool {
    *count == 0
}
