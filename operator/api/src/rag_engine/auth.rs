use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who may do what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Auth {
    /// Who may write documents. Chats and retrievals are open to whoever reaches the Service.
    pub writes: Writes,
}

/// Who may write documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Writes {
    /// Whoever sends the token of the Secret `NAME-write` (key `token`) as `Authorization: Bearer`. The Secret is made once; one that is there already is used.
    #[default]
    Token,
    /// Whoever reaches the Service. Any pod of the cluster can then change what is answered.
    Open,
}
