use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that is known about an object, in the shape of Kubernetes' own conditions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What the condition is about: `Ready`, `Progressing` or `Degraded`.
    #[serde(rename = "type")]
    #[schemars(with = "String", length(min = 1, max = 64))]
    pub type_: ConditionType,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, in one word.
    #[schemars(with = "String", length(min = 1, max = 128))]
    pub reason: Reason,
    /// Why, and what to do about it.
    #[schemars(length(max = 32768))]
    pub message: String,
    /// When `status` last changed.
    #[schemars(schema_with = "date_time")]
    pub last_transition_time: Time,
    /// The generation of the object that this was found for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
}

/// What a condition is about. One that a newer version writes is read as `Other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ConditionType {
    /// It serves, as its specification asks.
    Ready,
    /// Something that was asked for is not finished.
    Progressing,
    /// Something is wrong that does not go away by waiting.
    Degraded,
    /// Not one of this version's.
    #[serde(other)]
    Other,
}

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Nobody can tell.
    Unknown,
}

/// Why a condition has its status. One that a newer version writes is read as `Other`, so that going back a version does not
/// make objects unreadable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// The server is ready: documents can be written, questions are answered.
    Serving,
    /// `replicas` is 0.
    Stopped,
    /// The annotation `ragengine.dev/paused` is `true`: nothing is made, changed or deleted.
    Paused,
    /// Nothing is wrong, or nothing is going on.
    AsExpected,
    /// Objects were made or changed, and the pod is not there yet.
    RollingOut,
    /// The pod runs and the server is not ready: it fetches its model, or loads its indexes.
    Starting,
    /// The specification asks for something that cannot be done.
    InvalidSpec,
    /// The API server refused an object that belongs to this one.
    ObjectRefused,
    /// A Secret that the specification names does not exist.
    SecretMissing,
    /// A Secret that the specification names may not be used for that.
    SecretRefused,
    /// A Secret that the specification names has not the key that it must have.
    SecretKeyMissing,
    /// A ConfigMap that the specification names does not exist.
    ConfigMapMissing,
    /// The PersistentVolumeClaim that the specification names does not exist.
    ClaimMissing,
    /// The PersistentVolumeClaim has no volume.
    ClaimNotBound,
    /// The volume is full.
    VolumeFull,
    /// The volume cannot be written.
    VolumeFailed,
    /// A volume of the pod cannot be mounted.
    VolumeNotMounted,
    /// No node has room for the pod, or none is what it asks for.
    PodUnschedulable,
    /// The image cannot be pulled.
    ImagePullFailed,
    /// The container cannot be started.
    ContainerNotStarted,
    /// The server ends again and again.
    PodCrashing,
    /// The server cannot load its indexes, or one is damaged, or a disk that refused to read or write something of it has stopped it.
    IndexesFailed,
    /// The server cannot fetch, find or run its embedding model.
    EmbeddingModelFailed,
    /// The remote embedding endpoint does not answer, or refuses.
    EmbeddingServiceFailed,
    /// The language model's endpoint does not answer, or refuses.
    InferenceServiceFailed,
    /// The server does not answer the operator.
    ServerUnreachable,
    /// An Index holds what its sources hold.
    Synced,
    /// A synchronisation runs, or is about to.
    Syncing,
    /// The engine builds the index anew, because its settings or the embedding model have changed. It answers as it was until then.
    Rebuilding,
    /// `suspend` is true.
    Suspended,
    /// The engine's data directory is another one: everything is sent again.
    Refilling,
    /// The documents of an Index of the same name that is gone are being deleted.
    Deleting,
    /// The documents of an Index that is gone could not be deleted.
    DeletionFailed,
    /// The RAGEngine does not exist.
    EngineNotFound,
    /// The RAGEngine takes no documents now.
    EngineNotReady,
    /// Another Index fills the same index with other settings.
    SettingsConflict,
    /// The last synchronisation failed.
    SyncFailed,
    /// A source has suddenly lost so much that nothing of it is deleted until that is confirmed.
    HeldBack,
    /// Some files could not be taken; all others are there.
    FilesFailed,
    /// Not one of this version's.
    #[serde(other)]
    Other,
}

pub(crate) fn date_time(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "format": "date-time"})
}

#[cfg(test)]
mod tests {
    use super::{Condition, ConditionStatus, ConditionType, Reason};

    #[test]
    fn a_condition_is_written_as_kubernetes_writes_its_own() {
        let json = r#"{"type":"Ready","status":"False","reason":"SecretMissing","message":"make it","lastTransitionTime":"2026-11-22T09:00:00Z","observedGeneration":3}"#;
        let condition: Condition = serde_json::from_str(json).unwrap();
        assert_eq!(condition.type_, ConditionType::Ready);
        assert_eq!(condition.status, ConditionStatus::False);
        assert_eq!(condition.reason, Reason::SecretMissing);
        assert_eq!(serde_json::to_string(&condition).unwrap(), json);
    }

    #[test]
    fn what_a_newer_version_wrote_can_be_read() {
        let json = r#"{"type":"Paused","status":"True","reason":"OnFriday","message":"","lastTransitionTime":"2026-11-22T09:00:00Z"}"#;
        let condition: Condition = serde_json::from_str(json).unwrap();
        assert_eq!((condition.type_, condition.reason), (ConditionType::Other, Reason::Other));
    }
}
