use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StateStore;

/// Votes on answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Feedback {
    /// Whether votes are kept. If `false`, `/feedback` gets a 400. See `endpoints` for where votes change the order of
    /// chunks.
    pub enabled: bool,
    /// Where answers and votes are kept: `redb` (the file `state.redb` in `dataDir`) or `postgres`. An answer without
    /// votes is kept for 30 days, and a vote with its answer for 365 days.
    pub store: StateStore,
}

impl Default for Feedback {
    fn default() -> Self {
        Self { enabled: true, store: StateStore::Redb }
    }
}
