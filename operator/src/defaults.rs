//! What the operator was started with, and every resource depends on.

use std::collections::BTreeSet;

use clap::ValueEnum;
use ragengine_settings::sync::AddressRange;

use crate::openshift::PodUser;
use crate::rollouts::Rollouts;
use crate::server_image::ServerImage;

/// What the operator was started with, and every engine depends on.
#[derive(Debug, Clone)]
pub struct Defaults {
    /// The server's image, where a resource names none.
    pub server_image: ServerImage,
    /// The Secrets that it is pulled with in every namespace, besides those that a resource names.
    pub pull_secrets: Vec<String>,
    /// Whose user the pods run as.
    pub pod_user: PodUser,
    /// The engines that are being rolled because the above is other than it was.
    pub rollouts: Rollouts,
    /// The namespace of the operator, which a NetworkPolicy lets in.
    pub operator_namespace: String,
    /// The cluster's domain, as `cluster.local`.
    pub cluster_domain: String,
    /// How many synchronisations run at a time.
    pub max_jobs: usize,
    /// Whether Secrets of sources have to say which hosts they may be sent to.
    pub require_secret_hosts: bool,
    /// The addresses that `allowedRanges` of an Index may name.
    pub allowed_ranges: Vec<AddressRange>,
    /// The operator's own ServiceAccount.
    pub account: Option<String>,
    /// What `podTemplate` may set besides what is harmless.
    pub pod_template: BTreeSet<Allowance>,
}

/// Something that a template of a pod sets only where the operator's owner allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub enum Allowance {
    /// Volumes of the node's own folders.
    HostPath,
    /// Privileged containers, capabilities that are added, and more rights than the parent process.
    Privileged,
    /// The node's own network, processes and ports.
    HostNamespaces,
}

impl Allowance {
    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::HostPath => "host-path",
            Self::Privileged => "privileged",
            Self::HostNamespaces => "host-namespaces",
        }
    }
}
