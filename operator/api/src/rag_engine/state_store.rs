use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of the store: `redb` (a file on the engine's volume) or `postgres` (the database of `postgres`). Default:
/// `redb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StateStore {
    /// In a file on the engine's volume.
    Redb,
    /// In the database of `postgres`.
    Postgres,
}
