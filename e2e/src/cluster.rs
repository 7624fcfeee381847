//! Connects to the cluster, and names the images that it can pull.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::Error;

/// How to set a missing variable, for error messages.
const HOW: &str = "`make test-cluster` sets it if KUBECONFIG is not set";

/// Connects to the cluster that `KUBECONFIG` names. There is no default, so that tests never run on a cluster by
/// mistake.
///
/// # Errors
///
/// When `KUBECONFIG` is not set, the file does not exist, or it names a proxy.
pub async fn connect() -> Result<Client, Error> {
    drop(rustls::crypto::ring::default_provider().install_default());
    require_kubeconfig()?;
    let reading = |error| Error::kubernetes("reading the file of KUBECONFIG")(kube::Error::InferKubeconfig(error));
    let kubeconfig = Kubeconfig::read().map_err(reading)?;
    if names_proxy(&kubeconfig) {
        return Err(Error::Environment(
            "KUBECONFIG names a cluster behind a proxy (proxy-url), which the tests do not support: \
             name a cluster that is reachable without a proxy"
                .to_owned(),
        ));
    }
    let mut config =
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(reading)?;
    // Only a proxy from the environment is left here. It is for addresses on the internet, and cannot reach the
    // cluster.
    config.proxy_url = None;
    Client::try_from(config).map_err(Error::kubernetes("preparing a client of the cluster of KUBECONFIG"))
}

/// Fails when `KUBECONFIG` is not set.
pub(crate) fn require_kubeconfig() -> Result<(), Error> {
    from_environment("KUBECONFIG", "the kubeconfig of the cluster to test on").map(drop)
}

/// Whether the cluster of the current context has a proxy. (Error messages must not show its URL, which may be secret.)
fn names_proxy(kubeconfig: &Kubeconfig) -> bool {
    let current = kubeconfig.contexts.iter().find(|context| Some(&context.name) == kubeconfig.current_context.as_ref());
    let name = current.and_then(|context| context.context.as_ref()).map(|context| &context.cluster);
    let cluster = kubeconfig.clusters.iter().find(|cluster| Some(&cluster.name) == name);
    let proxy = cluster.and_then(|cluster| cluster.cluster.as_ref()?.proxy_url.as_deref());
    proxy.is_some_and(|proxy| !proxy.is_empty())
}

/// The image of the server.
///
/// # Errors
///
/// When `RAGENGINE_IMAGE` is not set.
pub fn server_image() -> Result<String, Error> {
    from_environment("RAGENGINE_IMAGE", "an image of the server that the cluster has or can pull")
}

/// The image of the operator.
///
/// # Errors
///
/// When `RAGENGINE_OPERATOR_IMAGE` is not set.
pub fn operator_image() -> Result<String, Error> {
    from_environment("RAGENGINE_OPERATOR_IMAGE", "an image of the operator that the cluster has or can pull")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_current_cluster_s_own_proxy_counts() {
        for (context, is_behind_proxy) in [("direct", false), ("empty", false), ("proxied", true), ("unknown", false)] {
            let text = format!(
                "current-context: {context}
contexts:
- {{name: direct, context: {{cluster: a, user: me}}}}
- {{name: empty, context: {{cluster: b, user: me}}}}
- {{name: proxied, context: {{cluster: c, user: me}}}}
clusters:
- {{name: a, cluster: {{server: 'https://127.0.0.1:6443'}}}}
- {{name: b, cluster: {{server: 'https://127.0.0.1:6443', proxy-url: ''}}}}
- {{name: c, cluster: {{server: 'https://127.0.0.1:6443', proxy-url: 'http://proxy.example:3128'}}}}
"
            );
            assert_eq!(names_proxy(&Kubeconfig::from_yaml(&text).unwrap()), is_behind_proxy, "{context}");
        }
    }
}
