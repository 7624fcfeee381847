use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Access control of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Auth {
    /// Who may write documents. `token`: clients that send the token of the Secret `NAME-write` (key `token`) as
    /// `Authorization: Bearer`. `open`: every client that can reach the Service. Reads need no token. Default: `token`.
    pub writes: Writes,
}

/// Who may write documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Writes {
    /// Clients that send the token of the Secret `NAME-write` (key `token`) as `Authorization: Bearer`. The operator
    /// creates the Secret if it does not exist.
    #[default]
    Token,
    /// Every client that can reach the Service. Any pod of the cluster can then change the answers.
    Open,
}
