//! What the tests on a Kubernetes cluster are made of. They run against the cluster that `KUBECONFIG` names, whoever made it, each in a
//! namespace of its own; what they ask from within the cluster, a program of this crate asks for them (`cluster-client`).

mod diagnosis;
mod error;

pub mod changes;
pub mod cluster;
pub mod cluster_client;
pub mod definition;
pub mod engine;
pub mod forward;
pub mod helm;
pub mod index;
pub mod logs;
pub mod metrics;
mod names;
pub mod namespace;
pub mod operator;
pub mod pod;
pub mod previous;
pub mod server;
pub mod skip;
pub mod source;
pub mod upstream;
pub mod wait;

pub use error::Error;
