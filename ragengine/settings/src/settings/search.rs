use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How indexes are searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Search {
    /// An index with fewer chunks is searched exactly, whatever `vectorIndex` says.
    pub exact_below_rows: u32,
    /// Candidate nodes that a search of an HNSW graph keeps (FAISS's `efSearch`). A higher value is slower and finds
    /// more.
    pub ef_search: u32,
    /// Lists that a search of an `IVF<N>,Flat` index compares (FAISS's `nprobe`). A higher value is slower and finds
    /// more. Default: three times the square root of the number of lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_probe: Option<u32>,
    /// Threads that search. 0: one for each core.
    pub threads: u32,
}

impl Default for Search {
    fn default() -> Self {
        Self { exact_below_rows: 10_000, ef_search: 128, n_probe: None, threads: 0 }
    }
}
