use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SecretReference;

/// A Redis server, for the stores that use one. The names of the server's keys begin with `ragengine:`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Redis {
    /// The address, such as `redis://HOST:6379`, or `redis://USER@HOST:6379/1` with a user and the number of a database,
    /// without a password. `rediss://` encrypts the connection and verifies the server's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<SecretReference>,
}
