use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How indexes are searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Search {
    /// Below this many chunks every search is exact, whatever `vectorIndex` says.
    pub exact_below_rows: u32,
    /// How many nodes of a graph a search keeps in view: more is slower and finds more.
    pub ef_search: u32,
    /// How many lists of an `IVF<N>,Flat` a search compares: more is slower and finds more. Not set: three times the square root of their number.
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
