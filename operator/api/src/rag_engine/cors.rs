use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Which pages of other sites may use the server from a browser.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cors {
    /// Their origins: scheme, host and, where it is not the scheme's own, port, such as `https://chat.example`. Requests of any other page are refused; programs send no origin, and need none here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        inner(length(min = 1, max = 300), regex(pattern = r"^[A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9._:\[\]-]+$"))
    )]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub allowed_origins: Vec<String>,
}
