use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A condition of an object, in the standard form of `metav1.Condition`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Type of the condition: `Ready`, `Progressing` or `Degraded`; of a RAGEngine also `BackupSucceeded`.
    #[serde(rename = "type")]
    #[schemars(with = "String", length(min = 1, max = 64))]
    pub type_: ConditionType,
    /// Status of the condition: `True`, `False` or `Unknown`.
    pub status: ConditionStatus,
    /// Reason for the status, as one word in CamelCase.
    #[schemars(with = "String", length(min = 1, max = 128))]
    pub reason: Reason,
    /// Explanation of the status, and what to do about a problem.
    #[schemars(length(max = 32768))]
    pub message: String,
    /// When `status` last changed.
    #[schemars(schema_with = "date_time")]
    pub last_transition_time: Time,
    /// `metadata.generation` that this condition describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
}

/// Type of a condition. A type that a newer version wrote is read as `Other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ConditionType {
    /// The object serves requests, as specified.
    Ready,
    /// A requested change is not finished.
    Progressing,
    /// An error needs attention: it does not resolve by waiting.
    Degraded,
    /// The last backup succeeded.
    BackupSucceeded,
    /// A value that this version does not know.
    #[serde(other)]
    Other,
}

/// Status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// The operator cannot determine whether the condition holds.
    Unknown,
}

/// Reason for the status of a condition. A reason that a newer version wrote is read as `Other`, so that objects stay
/// readable after a downgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// The server is ready for reads and writes.
    Serving,
    /// `replicas` is 0.
    Stopped,
    /// The annotation `ragengine.dev/paused` is `true`: the operator creates, changes and deletes nothing.
    Paused,
    /// No error (`Degraded`), or nothing in progress (`Progressing`).
    AsExpected,
    /// Objects were created or changed, and the new pod does not run yet.
    RollingOut,
    /// The pod runs but is not ready: it downloads its model or loads its indexes.
    Starting,
    /// The specification is invalid.
    InvalidSpec,
    /// The API server rejected an object that the operator creates for this one.
    ObjectRefused,
    /// A Secret that the specification names does not exist.
    SecretMissing,
    /// A Secret that the specification names must not be used for this purpose.
    SecretRefused,
    /// A Secret that the specification names lacks a required key.
    SecretKeyMissing,
    /// A ConfigMap that the specification names does not exist.
    ConfigMapMissing,
    /// The PersistentVolumeClaim that the specification names does not exist.
    ClaimMissing,
    /// The PersistentVolumeClaim is not bound to a volume.
    ClaimNotBound,
    /// The volume is full.
    VolumeFull,
    /// Writing to the volume fails.
    VolumeFailed,
    /// A volume of the pod cannot be mounted.
    VolumeNotMounted,
    /// No node has room for the pod or matches its constraints.
    PodUnschedulable,
    /// A node that is made for `compute.instanceType` is not ready.
    NodeNotReady,
    /// The image cannot be pulled.
    ImagePullFailed,
    /// The container cannot be started.
    ContainerNotStarted,
    /// The server exits repeatedly.
    PodCrashing,
    /// The server cannot load its indexes: one is damaged, or the disk failed to read or write it.
    IndexesFailed,
    /// The server cannot download, find or run its embedding model.
    EmbeddingModelFailed,
    /// The remote embedding endpoint does not respond or returns errors.
    EmbeddingServiceFailed,
    /// The endpoint of the language model does not respond or returns errors.
    InferenceServiceFailed,
    /// The PostgreSQL database does not respond or returns errors.
    PostgresFailed,
    /// Redis does not respond or returns errors.
    RedisFailed,
    /// The server cannot download, find or run its local reranker.
    RerankerFailed,
    /// RabbitMQ does not respond or returns errors.
    EventsFailed,
    /// The guardrails policy is missing or invalid: chats are refused.
    GuardrailsFailed,
    /// The server cannot read the rules of indexes, or the keys that callers prove who they are with.
    AuthFailed,
    /// The operator cannot read the keys of the cluster's ServiceAccount tokens from the API server.
    TokenKeysUnreadable,
    /// The cluster has no Gateway API, so that an HTTPRoute cannot be created.
    GatewayApiMissing,
    /// The operator cannot reach the server.
    ServerUnreachable,
    /// The index matches its sources.
    Synced,
    /// A synchronisation runs or is about to start.
    Syncing,
    /// The engine rebuilds the index because its settings or the embedding model have changed. Queries use the old
    /// index until the rebuild is complete.
    Rebuilding,
    /// `suspend` is true.
    Suspended,
    /// The engine has a different data directory: all documents are sent again.
    Refilling,
    /// The documents of a deleted Index with the same name are being deleted.
    Deleting,
    /// The documents of a deleted Index, or the nodes of a deleted RAGEngine, could not be deleted.
    DeletionFailed,
    /// The RAGEngine does not exist.
    EngineNotFound,
    /// The RAGEngine does not accept documents yet.
    EngineNotReady,
    /// Another Index fills the same index with different settings.
    SettingsConflict,
    /// The last synchronisation failed.
    SyncFailed,
    /// A source suddenly lost so many documents that their deletion needs a confirmation.
    HeldBack,
    /// Some files could not be indexed; all others are in the index.
    FilesFailed,
    /// The last backup is complete.
    BackupCompleted,
    /// The last backup failed.
    BackupFailed,
    /// No backup has ended yet.
    NoBackupYet,
    /// A value that this version does not know.
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
    fn a_condition_has_the_json_of_a_kubernetes_condition() {
        let json = concat!(
            r#"{"type":"Ready","status":"False","reason":"SecretMissing","message":"make it","#,
            r#""lastTransitionTime":"2026-11-22T09:00:00Z","observedGeneration":3}"#
        );
        let condition: Condition = serde_json::from_str(json).unwrap();
        assert_eq!(condition.type_, ConditionType::Ready);
        assert_eq!(condition.status, ConditionStatus::False);
        assert_eq!(condition.reason, Reason::SecretMissing);
        assert_eq!(serde_json::to_string(&condition).unwrap(), json);
    }

    #[test]
    fn unknown_types_and_reasons_of_a_newer_version_can_be_read() {
        let json = concat!(
            r#"{"type":"Paused","status":"True","reason":"OnFriday","message":"","#,
            r#""lastTransitionTime":"2026-11-22T09:00:00Z"}"#
        );
        let condition: Condition = serde_json::from_str(json).unwrap();
        assert_eq!((condition.type_, condition.reason), (ConditionType::Other, Reason::Other));
    }
}
