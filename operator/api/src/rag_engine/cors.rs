use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Web pages of other origins that may call the server from a browser (CORS).
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cors {
    /// Allowed origins: scheme, host and a non-default port, such as `https://chat.example`. Requests from pages of
    /// other origins are rejected; clients that are not browsers are not affected. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        inner(length(min = 1, max = 300), regex(pattern = r"^[A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9._:\[\]-]+$"))
    )]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub allowed_origins: Vec<String>,
}
