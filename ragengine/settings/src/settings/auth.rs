use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SecretReference;

/// Who may write. Reading and chatting are open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Auth {
    /// The token that every write must carry as `Authorization: Bearer TOKEN`. Not set: everybody may write. A file is read again while the server runs, so that the token can be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_token: Option<SecretReference>,
    /// Where a person finds the token, in words: they are shown to whoever writes without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_token_source: Option<String>,
    /// How long the token before still holds after a change, in seconds.
    pub previous_token_seconds: u64,
}

impl Default for Auth {
    fn default() -> Self {
        Self { write_token: None, write_token_source: None, previous_token_seconds: 300 }
    }
}
