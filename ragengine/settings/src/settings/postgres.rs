use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SecretReference;

/// A PostgreSQL database, for the stores that use one. The server creates its tables, whose names begin with
/// `ragengine_`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Postgres {
    /// The address, such as `postgres://USER@HOST:5432/DATABASE`, without a password. Add `?sslmode=verify-full` to
    /// encrypt connections and to verify the server's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The user's password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<SecretReference>,
}
