use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How the server is: what whoever operates it wants to know at once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EngineStatus {
    /// Whether it can answer: what `/readyz` says.
    pub ready: bool,
    /// The id of the data folder. Another one means that the folder was emptied or replaced. Null until everything is loaded.
    pub data_id: Option<String>,
    /// How many indexes there are. 0 until everything is loaded.
    pub indexes: u32,
    /// How many documents all of them hold.
    pub documents: u64,
    /// How many chunks those were cut into.
    pub chunks: u64,
    /// What it waits for, and what is wrong. What keeps it from being ready comes first.
    pub problems: Vec<Problem>,
    /// The next generations of indexes that are being built.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generations: Vec<GrowingGeneration>,
    /// The owners of sources that are to be deleted when these are gone: at most 1,000, each once for each index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<OwnedSources>,
}

/// An owner that has sources in an index, which are to be deleted when it is gone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct OwnedSources {
    /// The index.
    pub index: String,
    /// The owner's name.
    pub name: String,
    /// The owner's uid.
    pub uid: String,
    /// Where the owner is known.
    pub scope: String,
}

/// A next generation of an index that is being built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GrowingGeneration {
    /// The index, which serves meanwhile.
    pub index: String,
    /// How many documents it has so far.
    pub documents: u64,
    /// How many it is to have, as far as is known.
    pub total: u64,
    /// Why it does not get on. It is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Something that the server waits for, or that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Which it is.
    pub kind: ProblemKind,
    /// The same in words.
    pub detail: String,
}

/// What the server waits for, or what is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The indexes are being loaded.
    LoadingIndexes,
    /// The embedding model is being fetched or loaded, or its endpoint asked.
    LoadingModel,
    /// The indexes cannot be loaded, which is tried again.
    IndexesFailed,
    /// An index is damaged, or the disk refused to read or write something of it. The others are served.
    IndexUnavailable,
    /// The volume is full.
    VolumeFull,
    /// The data folder cannot be written.
    VolumeFailed,
    /// The local embedding model cannot be fetched or loaded. It is tried again.
    EmbeddingModelFailed,
    /// The embedding endpoint does not answer, or refuses. It is tried again.
    EmbeddingServiceFailed,
    /// The language model's endpoint does not answer, or refuses. The server is ready all the same: retrieval works without.
    InferenceServiceFailed,
    /// One that a newer server has words for.
    #[serde(other)]
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_a_newer_server_is_read_as_another_one() {
        let problem = |kind: &str| serde_json::from_value(serde_json::json!({"kind": kind, "detail": "d"}));
        let read: Problem = problem("volume_full").unwrap();
        assert_eq!(read.kind, ProblemKind::VolumeFull);
        let read: Problem = problem("moon_phase_wrong").unwrap();
        assert_eq!((read.kind, read.detail.as_str()), (ProblemKind::Other, "d"));
    }
}
