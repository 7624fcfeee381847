use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Condition;
use crate::condition::date_time;

/// What an Index holds, and what became of its synchronisations. The engine keeps the record; this is what it said last.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexStatus {
    /// Whether it holds what its sources hold (`Ready`), whether a synchronisation runs or waits (`Progressing`), and whether something is wrong (`Degraded`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// The generation of the specification that all of this was found for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// The documents of its sources. Not set until the first synchronisation has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<u64>,
    /// The chunks of these documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<u64>,
    /// The size of their texts in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// What was synchronised: the source's revision, or where there are several one over all of them. It moves only when everything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub revision: Option<String>,
    /// While a synchronisation runs: the files that are done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<u64>,
    /// While a synchronisation runs: all files that were found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The synchronisation that ended last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sync: Option<LastSync>,
    /// When the last synchronisation ended that was complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "date_time")]
    pub last_success_time: Option<Time>,
    /// Each source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub sources: Vec<SourceStatus>,
    /// The values of the annotations that were acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled: Option<HandledRequests>,
    /// The synchronisations in a row that failed for what is wanted now. The next one waits the longer the more there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// The identity of the engine's data directory that was filled: another one means that everything has to be sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub data_id: Option<String>,
}

/// A synchronisation that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastSync {
    /// Its name, which the engine's record and the Job carry.
    #[schemars(length(max = 64))]
    pub id: String,
    /// What was wanted then: a hash. As long as the same is wanted and the result is good, nothing is to be done.
    #[schemars(length(max = 64))]
    pub wanted: String,
    /// The same without the schedule: as long as it is wanted, what is there is what was asked for.
    #[schemars(length(max = 64))]
    pub specification: String,
    /// When it began.
    #[schemars(schema_with = "date_time")]
    pub started_at: Time,
    /// When it ended.
    #[schemars(schema_with = "date_time")]
    pub finished_at: Time,
    /// What became of it.
    pub result: SyncResult,
    /// Why, where it did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
    /// What `ragengine.dev/confirm-delete` must say so that what is held back is deleted. Of another revision of a source it confirms nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub confirmation: Option<String>,
}

/// What became of a synchronisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SyncResult {
    /// The index holds what the sources hold, but for files that have an error of their own.
    Succeeded,
    /// A source could not be read, or the engine not be written.
    Failed,
    /// A source or a file of it has suddenly lost so much that it may be broken: nothing of it was deleted.
    HeldBack,
}

/// One source.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceStatus {
    /// Its name.
    #[schemars(length(max = 40))]
    pub name: String,
    /// Its documents in the index.
    #[serde(default)]
    pub documents: u64,
    /// The chunks of these.
    #[serde(default)]
    pub chunks: u64,
    /// The size of their texts in bytes.
    #[serde(default)]
    pub bytes: u64,
    /// What of it is in the index: a commit, a hash over its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub revision: Option<String>,
    /// When it was last synchronised to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "date_time")]
    pub last_sync_time: Option<Time>,
    /// How many of its files have an error.
    #[serde(default)]
    pub error_count: u64,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub errors: Vec<SourceError>,
    /// How many documents would be deleted if it were confirmed.
    #[serde(default, skip_serializing_if = "is_none_left")]
    pub held_back: u64,
    /// Why it failed, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub message: Option<String>,
}

/// A file that could not be taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceError {
    /// Its path in the source.
    #[schemars(length(max = 512))]
    pub path: String,
    /// What is wrong with it.
    #[schemars(length(max = 512))]
    pub message: String,
}

/// The values of the annotations that were acted on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandledRequests {
    /// Of `ragengine.dev/sync`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub sync: Option<String>,
    /// Of `ragengine.dev/confirm-delete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub confirm_delete: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_none_left(count: &u64) -> bool {
    *count == 0
}
