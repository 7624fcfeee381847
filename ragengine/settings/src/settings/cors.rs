use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Access from browsers to pages of other sites (CORS).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Cors {
    /// Allowed origins: scheme, host and, unless it is the scheme's default, port, such as `https://chat.example`. A
    /// request whose `Origin` has a different host or port from its `Host` gets a 403 unless its origin is listed. A
    /// request without `Origin`, as programs send it, is accepted.
    pub allowed_origins: Vec<String>,
}
