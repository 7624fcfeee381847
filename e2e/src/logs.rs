//! What containers have written.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::LogParams;

use crate::Error;

/// All that a container of a pod has written. Of one that was started again: since then.
///
/// # Errors
///
/// When there is no such container, or it has not begun.
pub async fn of(pods: &Api<Pod>, pod: &str, container: &str) -> Result<String, Error> {
    let parameters = LogParams { container: Some(container.to_owned()), ..LogParams::default() };
    pods.logs(pod, &parameters).await.map_err(Error::kubernetes(format!("reading the log of {container} in {pod}")))
}
