//! The operator's settings that affect all resources.

use std::collections::BTreeSet;

use clap::ValueEnum;
use ragengine_settings::sync::AddressRange;

use crate::karpenter::NodeClass;
use crate::openshift::PodUser;
use crate::rollouts::Rollouts;
use crate::server_image::ServerImage;

/// The settings that the operator was started with.
#[derive(Debug, Clone)]
pub struct Defaults {
    /// The server's image for engines that name none.
    pub server_image: ServerImage,
    /// The pull secrets for this image in every namespace, in addition to those of a resource.
    pub pull_secrets: Vec<String>,
    /// The user that pods run as.
    pub pod_user: PodUser,
    /// The slots of engines that roll out because the operator has changed.
    pub rollouts: Rollouts,
    /// The namespace of the operator, which NetworkPolicies allow.
    pub operator_namespace: String,
    /// The DNS domain of the cluster, such as `cluster.local`.
    pub cluster_domain: String,
    /// The maximum number of concurrent synchronisations.
    pub max_jobs: usize,
    /// Whether Secrets of sources must name the hosts that they may be sent to.
    pub require_secret_hosts: bool,
    /// The address ranges that `allowedRanges` of an Index may contain.
    pub allowed_ranges: Vec<AddressRange>,
    /// The operator's own ServiceAccount.
    pub account: Option<String>,
    /// The privileged settings that `podTemplate` may use.
    pub pod_template: BTreeSet<Allowance>,
    /// The node class of the nodes that are made for engines. `None`: no nodes are made.
    pub node_class: Option<NodeClass>,
    /// What an engine may ask of these nodes.
    pub node_limits: NodeLimits,
}

/// What an engine may ask of the nodes that are made for it. Who may write RAGEngines could else get any number of any
/// machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLimits {
    /// The largest number of nodes of one engine.
    pub most: u32,
    /// The machine types. Empty: any.
    pub instance_types: BTreeSet<String>,
}

/// A privileged setting of `podTemplate` that the operator's administrator must allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub enum Allowance {
    /// hostPath volumes, which mount folders of the node.
    HostPath,
    /// Privileged containers, added capabilities and privilege escalation.
    Privileged,
    /// The node's network, process and IPC namespaces, and host ports.
    HostNamespaces,
}

impl Allowance {
    /// The value on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::HostPath => "host-path",
            Self::Privileged => "privileged",
            Self::HostNamespaces => "host-namespaces",
        }
    }
}
