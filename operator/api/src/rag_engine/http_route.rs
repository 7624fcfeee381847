use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{DOMAIN, OBJECT_NAME};

/// HTTPRoute of the Service. The cluster needs the Gateway API.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpRoute {
    /// Gateways that the route belongs to.
    #[schemars(length(min = 1, max = 32))]
    pub parent_refs: Vec<ParentReference>,
    /// Host names of requests, such as `docs.example`. Default: those of the Gateways.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(min = 1, max = 253), regex(pattern = DOMAIN)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub hostnames: Vec<String>,
}

/// A Gateway.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ParentReference {
    /// Name of the Gateway.
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub name: String,
    /// Namespace of the Gateway. Default: that of the RAGEngine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = OBJECT_NAME))]
    pub namespace: Option<String>,
    /// Name of a listener of the Gateway. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub section_name: Option<String>,
}
