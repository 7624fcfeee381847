//! Logs of containers.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::LogParams;

use crate::Error;

/// Reads the log of a container, since its last start.
///
/// # Errors
///
/// When the container does not exist or has not started.
pub async fn of(pods: &Api<Pod>, pod: &str, container: &str) -> Result<String, Error> {
    let parameters = LogParams { container: Some(container.to_owned()), ..LogParams::default() };
    pods.logs(pod, &parameters).await.map_err(Error::kubernetes(format!("reading the log of {container} in {pod}")))
}
