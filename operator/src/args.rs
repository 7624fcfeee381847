//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ragengine_settings::sync::AddressRange;

use crate::defaults::Allowance;
use crate::karpenter::NodeClass;
use crate::openshift::OpenShift;
use crate::server_image::ServerImage;

/// Runs a server with its Service, settings and volume for each RAGEngine, fills the indexes of each Index, and reports
/// their status.
#[derive(Debug, Parser)]
#[command(name = "ragengine-operator", version)]
pub struct Arguments {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The command to run.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the operator, in the cluster of its pod or the one that KUBECONFIG names.
    Run(Box<Run>),
    /// Print the permissions that the operator needs, as YAML: the source of the chart's roles.
    Permissions,
    /// Print a Markdown table of the metrics.
    MetricsReference,
}

/// Options of `run`. Each can also be set by an environment variable.
#[derive(Debug, Clone, Args)]
pub struct Run {
    /// The namespaces to watch, separated by commas. Default: all namespaces.
    #[arg(long, env = "WATCH_NAMESPACES", value_delimiter = ',', default_value = "", hide_default_value = true)]
    pub watch_namespaces: Vec<String>,
    /// The server's image with a tag, a digest (@sha256:…) or both, for engines that name none.
    #[arg(long, env = "SERVER_IMAGE", default_value = concat!("ragengine:", env!("CARGO_PKG_VERSION")))]
    pub server_image: ServerImage,
    /// Pull secrets for the server's image, separated by commas. They are used in the namespace of each engine, in
    /// addition to those of its podTemplate.
    #[arg(long, env = "SERVER_IMAGE_PULL_SECRETS", value_delimiter = ',')]
    pub server_image_pull_secrets: Vec<String>,
    /// Whether the cluster is OpenShift, which chooses the users of pods itself.
    #[arg(long, env = "OPENSHIFT", value_enum, default_value = "auto")]
    pub openshift: OpenShift,
    /// The address that serves /healthz, /readyz and /metrics.
    #[arg(long, env = "ADMIN_ADDRESS", default_value = "[::]:8080")]
    pub admin_address: SocketAddr,
    /// The name of the lease for leader election: only one of the operators with the same name acts.
    #[arg(long, env = "LEASE_NAME", default_value = "ragengine-operator")]
    pub lease_name: String,
    /// The operator's own namespace, which contains the lease.
    #[arg(long, env = "POD_NAMESPACE", default_value = "default")]
    pub namespace: String,
    /// The name of this process in the lease and in events. Must be unique. Default: a generated name.
    #[arg(long, env = "POD_NAME")]
    pub identity: Option<String>,
    /// The maximum number of concurrent reconciles.
    #[arg(long, env = "CONCURRENCY", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub concurrency: u16,
    /// The address ranges that allowedRanges of an Index may contain, such as 10.0.0.0/8, separated by commas. Default:
    /// none.
    #[arg(long, env = "ALLOWED_RANGES", value_delimiter = ',')]
    pub allowed_ranges: Vec<AddressRange>,
    /// Use a Secret for a source only if its annotation ragengine.dev/hosts names the hosts that it may be sent to.
    #[arg(long, env = "REQUIRE_SECRET_HOSTS", action = clap::ArgAction::Set, default_value_t = false)]
    pub require_secret_hosts: bool,
    /// The privileged settings that podTemplate of a RAGEngine may use, separated by commas. Default: none.
    #[arg(long, env = "POD_TEMPLATE", value_enum, value_delimiter = ',')]
    pub pod_template: Vec<Allowance>,
    /// The node class of Karpenter for the nodes of engines with compute.instanceType, as GROUP/KIND/NAME, such as
    /// karpenter.k8s.aws/EC2NodeClass/default. Default: the operator makes no nodes.
    #[arg(long, env = "NODE_CLASS")]
    pub node_class: Option<NodeClass>,
    /// The maximum number of nodes that are made for an engine.
    #[arg(long, env = "MAX_NODES", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub max_nodes: u16,
    /// The machine types of the nodes that are made for engines, separated by commas. Default: any.
    #[arg(long, env = "INSTANCE_TYPES", value_delimiter = ',')]
    pub instance_types: Vec<String>,
    /// The operator's own ServiceAccount, which engines must not use.
    #[arg(long, env = "SERVICE_ACCOUNT")]
    pub service_account: Option<String>,
    /// The file with a token of this ServiceAccount for the audience ragengine-operator, which the operator sends to
    /// servers whose callers must prove who they are. Read at each use. Default: no token.
    #[arg(long, env = "SERVER_TOKEN_FILE")]
    pub server_token_file: Option<PathBuf>,
    /// The maximum number of concurrent synchronisations of Indexes. Further ones wait.
    #[arg(long, env = "MAX_JOBS", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    pub max_jobs: u16,
    /// The maximum number of engines that roll out at the same time after the operator was upgraded or its settings
    /// changed. Further ones wait.
    #[arg(long, env = "MAX_ROLLOUTS", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    pub max_rollouts: u16,
    /// The DNS domain of the cluster.
    #[arg(long, env = "CLUSTER_DOMAIN", default_value = "cluster.local")]
    pub cluster_domain: String,
    /// The format of the log. RUST_LOG sets the log level.
    #[arg(long, env = "LOG_FORMAT", default_value = "json")]
    pub log_format: LogFormat,
}

/// The format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Text for people.
    Text,
}
