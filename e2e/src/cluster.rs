//! The cluster, and the images that it can pull.

use kube::{Client, Config};

use crate::Error;

/// Who sets what is missing.
const HOW: &str = "`make test-cluster` sets it for a cluster of its own";

/// A client of the cluster that `KUBECONFIG` names. There is no default: the tests must not find a cluster that nobody meant for them.
///
/// # Errors
///
/// When `KUBECONFIG` is not set, or is no such file.
pub async fn connect() -> Result<Client, Error> {
    drop(rustls::crypto::ring::default_provider().install_default());
    from_environment("KUBECONFIG", "the kubeconfig of the cluster to test on")?;
    let reading = Error::kubernetes("reading what KUBECONFIG names");
    let mut config = Config::infer().await.map_err(kube::Error::InferConfig).map_err(reading)?;
    // That of the environment leads out of this machine and its network; a cluster to test on is within.
    config.proxy_url = None;
    Client::try_from(config).map_err(Error::kubernetes("preparing a client of what KUBECONFIG names"))
}

/// The image of the server.
///
/// # Errors
///
/// When `RAGENGINE_IMAGE` is not set.
pub fn server_image() -> Result<String, Error> {
    from_environment("RAGENGINE_IMAGE", "an image of the server that the cluster has or can pull")
}

/// The image of `cluster-client`.
///
/// # Errors
///
/// When `RAGENGINE_E2E_IMAGE` is not set.
pub fn client_image() -> Result<String, Error> {
    from_environment("RAGENGINE_E2E_IMAGE", "an image of cluster-client that the cluster has or can pull")
}

fn from_environment(name: &str, meaning: &str) -> Result<String, Error> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty());
    value.ok_or_else(|| Error::Environment(format!("{name} must name {meaning}; {HOW}")))
}
