use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where something is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StateStore {
    /// In the file `state.redb` in `dataDir`.
    #[default]
    Redb,
    /// In the database of `postgres`.
    Postgres,
}
