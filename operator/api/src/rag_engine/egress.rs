use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LabelSelector;

/// Destinations that pods may connect to. DNS of the cluster is always allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Egress {
    /// Allowed destinations. The server needs its language model, its embedding endpoint, its reranker, its PostgreSQL
    /// database, its Redis and RabbitMQ servers, the issuers of `auth.jwt` and the model hub; a Job needs its sources.
    /// Default: none.
    #[schemars(length(max = 32))]
    pub to: Vec<Destination>,
}

/// A destination: pods, selected by labels, or a range of addresses.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.ipBlock) != (has(self.namespaceSelector) || has(self.podSelector))").message(
        "networkPolicy: an entry of egress.to or syncEgress.to needs either ipBlock or selectors: write podSelector, \
         namespaceSelector or both for pods, or ipBlock: {cidr: 0.0.0.0/0} for all addresses"
    )
)]
pub struct Destination {
    /// Labels of the pods' namespace; `{}` selects all namespaces. Default: the namespace of the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// Labels of the pods. Default: all pods of the selected namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_selector: Option<LabelSelector>,
    /// Addresses outside of the pod network. Select the pods of a Service by their labels instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip_block: Option<IpBlock>,
    /// Allowed ports of the destination; for a Service, the ports of its pods. Default: all ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub ports: Vec<DestinationPort>,
}

/// A range of addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IpBlock {
    /// Address range in CIDR notation, such as `10.0.0.0/8`.
    #[schemars(length(max = 64), regex(pattern = r"^[0-9a-fA-F.:]+/[0-9]{1,3}$"))]
    pub cidr: String,
    /// Ranges within `cidr` that are not allowed, in CIDR notation. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(max = 64), regex(pattern = r"^[0-9a-fA-F.:]+/[0-9]{1,3}$")))]
    pub except: Vec<String>,
}

/// A port or a range of ports.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.endPort) || self.endPort >= self.port").message(
        "networkPolicy: endPort of an egress port must not be less than port: write the last port of the range, or \
         remove endPort"
    )
)]
pub struct DestinationPort {
    /// Port number, or the first port of a range.
    #[schemars(range(min = 1, max = 65535))]
    pub port: u32,
    /// Last port of a range. Default: only `port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub end_port: Option<u32>,
    /// Protocol: `TCP` or `UDP`. Default: `TCP`.
    #[serde(default)]
    pub protocol: Protocol,
}

/// Transport protocol of a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Protocol {
    /// Most services, such as HTTP.
    #[default]
    #[serde(rename = "TCP")]
    Tcp,
    /// DNS and HTTP/3.
    #[serde(rename = "UDP")]
    Udp,
}

impl Protocol {
    /// The value of `protocol` in a NetworkPolicy.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        }
    }
}
