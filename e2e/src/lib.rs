//! The library of the cluster tests. They run on the cluster that `KUBECONFIG` names, each in its own namespace. The
//! program `cluster-client` of this crate sends requests from inside the cluster.

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
pub mod karpenter;
pub mod load;
pub mod logs;
pub mod metrics;
mod names;
pub mod namespace;
pub mod operator;
pub mod pod;
pub mod postgres;
pub mod previous;
pub mod redis;
pub mod server;
pub mod skip;
pub mod source;
mod turns;
pub mod upstream;
pub mod wait;
pub mod weaviate;

pub use error::Error;
