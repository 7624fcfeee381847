use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a secret is. The settings never hold a secret itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SecretReference {
    /// A file whose content is the secret; white space at its end is cut. It is read at start, and the write token's while the server runs, too.
    File(PathBuf),
    /// The name of an environment variable that holds the secret.
    Env(String),
}
