use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The state of the server, for its operators.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EngineStatus {
    /// Whether the server is ready, as reported by `/readyz`.
    pub ready: bool,
    /// The id of the data folder. It changes if the folder is emptied or replaced. Null until everything is loaded.
    pub data_id: Option<String>,
    /// Number of indexes. 0 until everything is loaded.
    pub indexes: u32,
    /// Number of documents in all indexes.
    pub documents: u64,
    /// Number of chunks in all indexes.
    pub chunks: u64,
    /// Pending work and errors. Those that prevent readiness come first.
    pub problems: Vec<Problem>,
    /// The next generations of indexes that are being built.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generations: Vec<GrowingGeneration>,
    /// Owners whose sources are deleted with them: at most 1,000, each once per index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<OwnedSources>,
}

/// An owner whose sources in an index are deleted with it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct OwnedSources {
    /// The name of the index.
    pub index: String,
    /// The owner's name.
    pub name: String,
    /// The owner's uid.
    pub uid: String,
    /// The scope of the owner.
    pub scope: String,
}

/// A next generation of an index that is being built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GrowingGeneration {
    /// The name of the index, which serves requests during the build.
    pub index: String,
    /// Number of documents so far.
    pub documents: u64,
    /// Expected number of documents.
    pub total: u64,
    /// The error that delays the build, which is retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Pending work or an error of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// The kind of problem.
    pub kind: ProblemKind,
    /// A description of the problem.
    pub detail: String,
}

/// The kinds of pending work and errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The indexes are being loaded.
    LoadingIndexes,
    /// The embedding model is being downloaded or loaded, or its endpoint is being checked.
    LoadingModel,
    /// The indexes cannot be loaded. Loading is retried.
    IndexesFailed,
    /// An index is damaged, or the disk failed to read or write it. Other indexes are available.
    IndexUnavailable,
    /// The volume is full.
    VolumeFull,
    /// The data folder cannot be written.
    VolumeFailed,
    /// The local embedding model cannot be downloaded or loaded. This is retried.
    EmbeddingModelFailed,
    /// The embedding endpoint does not answer, or refuses requests. This is retried.
    EmbeddingServiceFailed,
    /// The language model's endpoint does not answer, or refuses requests. The server is ready nevertheless, because
    /// retrieval does not need it.
    InferenceServiceFailed,
    /// The PostgreSQL database cannot be used. The server is ready nevertheless: chats are answered without votes and
    /// interactions, and without the history of their session if it is there.
    PostgresFailed,
    /// Redis cannot be used. The server is ready nevertheless, unless the settings say to refuse: questions are answered
    /// without the history of their session.
    RedisFailed,
    /// The local reranker cannot be downloaded or loaded. This is retried. The server is ready nevertheless: chunks stay
    /// in the order of the search.
    RerankerFailed,
    /// RabbitMQ cannot be used. This is retried. The server is ready nevertheless: the oldest events may be lost.
    EventsFailed,
    /// The guardrails policy is missing or invalid. The server is ready nevertheless, but chats get a 503 until a valid
    /// policy was read.
    GuardrailsFailed,
    /// The rules of indexes or the keys of an issuer cannot be read. The last ones hold. Without any, the server is not
    /// ready.
    AuthFailed,
    /// An unknown kind, reported by a newer server.
    #[serde(other)]
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_kind_is_read_as_other() {
        let problem = |kind: &str| serde_json::from_value(serde_json::json!({"kind": kind, "detail": "d"}));
        let read: Problem = problem("volume_full").unwrap();
        assert_eq!(read.kind, ProblemKind::VolumeFull);
        let read: Problem = problem("moon_phase_wrong").unwrap();
        assert_eq!((read.kind, read.detail.as_str()), (ProblemKind::Other, "d"));
    }
}
