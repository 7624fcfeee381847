use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SecretReference;

/// Authorization of writes. Reading and chatting need no token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Auth {
    /// The token that every write must carry as `Authorization: Bearer TOKEN`. Not set: writes need no token. A file is
    /// read again while the server runs, so that the token can be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_token: Option<SecretReference>,
    /// Describes where to find the token. Shown to a client that writes without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_token_source: Option<String>,
    /// How long the previous token remains valid after a change, in seconds.
    pub previous_token_seconds: u64,
}

impl Default for Auth {
    fn default() -> Self {
        Self { write_token: None, write_token_source: None, previous_token_seconds: 300 }
    }
}
