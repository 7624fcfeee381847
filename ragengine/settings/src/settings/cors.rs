use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which pages of other sites may use the server from a browser.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Cors {
    /// Their origins: scheme, host and, where it is not the scheme's own, port, such as `https://chat.example`. A request whose `Origin` has another host or port than its `Host` is a 403 unless it is one of these; one without an `Origin`, as programs send it, passes.
    pub allowed_origins: Vec<String>,
}
