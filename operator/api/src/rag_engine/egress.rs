use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LabelSelector;

/// What pods may reach besides the cluster's DNS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Egress {
    /// Each entry allows some: a server's language model, embedding endpoint and the hub that a model is fetched from; a Job's sources. Empty: nothing.
    #[schemars(length(max = 32))]
    pub to: Vec<Destination>,
}

/// Pods, by their labels and those of their namespace, or addresses.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.ipBlock) != (has(self.namespaceSelector) || has(self.podSelector))")
    .message("networkPolicy: an entry of egress.to or syncEgress.to needs either ipBlock or selectors: write podSelector, namespaceSelector or both for pods, or ipBlock: {cidr: 0.0.0.0/0} for everywhere"))]
pub struct Destination {
    /// The labels of the pods' namespace; `{}` is every namespace. Not set: the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// The labels of the pods. Not set: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_selector: Option<LabelSelector>,
    /// Addresses: those of what is not a pod. A Service is reached by its pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip_block: Option<IpBlock>,
    /// The ports, as the pods have them. Empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub ports: Vec<DestinationPort>,
}

/// A range of addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IpBlock {
    /// The range, as `10.0.0.0/8`.
    #[schemars(length(max = 64), regex(pattern = r"^[0-9a-fA-F.:]+/[0-9]{1,3}$"))]
    pub cidr: String,
    /// Ranges in it that are not meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(max = 64), regex(pattern = r"^[0-9a-fA-F.:]+/[0-9]{1,3}$")))]
    pub except: Vec<String>,
}

/// A port, or several in a row.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.endPort) || self.endPort >= self.port")
    .message("networkPolicy: endPort of an egress port must not be less than port: write the last port of the range, or leave it out"))]
pub struct DestinationPort {
    /// The port, or the first one.
    #[schemars(range(min = 1, max = 65535))]
    pub port: u32,
    /// The last one. Not set: only `port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub end_port: Option<u32>,
    /// The protocol.
    #[serde(default)]
    pub protocol: Protocol,
}

/// What is spoken at a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Protocol {
    /// Most of what there is.
    #[default]
    #[serde(rename = "TCP")]
    Tcp,
    /// DNS, and HTTP/3.
    #[serde(rename = "UDP")]
    Udp,
}

impl Protocol {
    /// As a NetworkPolicy has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        }
    }
}
