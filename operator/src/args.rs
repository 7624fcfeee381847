//! The command line.

use std::net::SocketAddr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ragengine_settings::sync::AddressRange;

use crate::defaults::Allowance;
use crate::openshift::OpenShift;
use crate::server_image::ServerImage;

/// Makes of each RAGEngine a server with its Service, settings and volume, and says what became of it.
#[derive(Debug, Parser)]
#[command(name = "ragengine-operator", version)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Watch and act, in the cluster that it runs in, or the one that KUBECONFIG names.
    Run(Box<Run>),
    /// Print what the operator has to be allowed to do, as YAML: the source of the chart's roles.
    Permissions,
    /// Print a Markdown table of the metrics.
    MetricsReference,
}

/// How to run. Each can be set by an environment variable too.
#[derive(Debug, Clone, Args)]
pub struct Run {
    /// The namespaces to watch, with commas between them. None: all of them.
    #[arg(long, env = "WATCH_NAMESPACES", value_delimiter = ',', default_value = "", hide_default_value = true)]
    pub watch_namespaces: Vec<String>,
    /// The server's image, with its tag or its digest (@sha256:…) or both: what engines run that name none.
    #[arg(long, env = "SERVER_IMAGE", default_value = concat!("ragengine:", env!("CARGO_PKG_VERSION")))]
    pub server_image: ServerImage,
    /// Secrets that the server's image is pulled with in the namespace of each engine, with commas between them, besides those that a podTemplate names.
    #[arg(long, env = "SERVER_IMAGE_PULL_SECRETS", value_delimiter = ',')]
    pub server_image_pull_secrets: Vec<String>,
    /// Whether the cluster is an OpenShift, which chooses the users of pods itself.
    #[arg(long, env = "OPENSHIFT", value_enum, default_value = "auto")]
    pub openshift: OpenShift,
    /// Where /healthz, /readyz and /metrics are answered.
    #[arg(long, env = "ADMIN_ADDRESS", default_value = "0.0.0.0:8080")]
    pub admin_address: SocketAddr,
    /// The name of the lease: of all operators with the same one, one acts.
    #[arg(long, env = "LEASE_NAME", default_value = "ragengine-operator")]
    pub lease_name: String,
    /// The operator's own namespace, where the lease is.
    #[arg(long, env = "POD_NAMESPACE", default_value = "default")]
    pub namespace: String,
    /// What this process is called in the lease and in events: no other may have the same. Not set: a name is made.
    #[arg(long, env = "POD_NAME")]
    pub identity: Option<String>,
    /// Reconciles at a time, in all.
    #[arg(long, env = "CONCURRENCY", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub concurrency: u16,
    /// The addresses that allowedRanges of an Index may name, as 10.0.0.0/8, with commas between them. None: it may name none.
    #[arg(long, env = "ALLOWED_RANGES", value_delimiter = ',')]
    pub allowed_ranges: Vec<AddressRange>,
    /// Use a Secret for a source only where its annotation ragengine.dev/hosts says which hosts it may be sent to.
    #[arg(long, env = "REQUIRE_SECRET_HOSTS", action = clap::ArgAction::Set, default_value_t = false)]
    pub require_secret_hosts: bool,
    /// What podTemplate of a RAGEngine may set besides what is harmless, with commas between them.
    #[arg(long, env = "POD_TEMPLATE", value_enum, value_delimiter = ',')]
    pub pod_template: Vec<Allowance>,
    /// The operator's own ServiceAccount, which no pod that it makes may have.
    #[arg(long, env = "SERVICE_ACCOUNT")]
    pub service_account: Option<String>,
    /// Synchronisations of Indexes at a time: the others wait for their turn.
    #[arg(long, env = "MAX_JOBS", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    pub max_jobs: u16,
    /// Engines that are rolled at a time because the operator was upgraded or is set otherwise: the others wait for their turn.
    #[arg(long, env = "MAX_ROLLOUTS", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    pub max_rollouts: u16,
    /// The cluster's DNS domain.
    #[arg(long, env = "CLUSTER_DOMAIN", default_value = "cluster.local")]
    pub cluster_domain: String,
    /// How a log line looks. RUST_LOG says what is logged.
    #[arg(long, env = "LOG_FORMAT", default_value = "json")]
    pub log_format: LogFormat,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// Readable.
    Text,
}
