//! A Redis server: a pod with a Service. Its password is in a Secret.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    EnvVar, EnvVarSource, Pod, Secret, SecretKeySelector, Service, ServicePort, ServiceSpec,
};
use kube::api::ObjectMeta;

use crate::namespace::Namespace;
use crate::{Error, pod};

/// The name of the pod, the Service and the Secret.
pub const REDIS: &str = "redis";

/// The key of the password in the Secret.
const PASSWORD: &str = "REDIS_ACCESS_SECRET";

const PORT: u16 = 6379;

/// Starts the server, which keeps nothing on disk. Returns its URL.
///
/// # Errors
///
/// When the cluster refuses, or the pod does not start in time.
pub async fn start(namespace: &Namespace, password: &str) -> Result<String, Error> {
    let metadata = || ObjectMeta {
        name: Some(REDIS.to_owned()),
        labels: Some(BTreeMap::from([("app".to_owned(), REDIS.to_owned())])),
        ..ObjectMeta::default()
    };
    let secret = Secret {
        metadata: metadata(),
        string_data: Some(BTreeMap::from([(PASSWORD.to_owned(), password.to_owned())])),
        ..Secret::default()
    };
    namespace.create_object(&secret).await?;
    namespace.create_object(&server(metadata())?).await?;
    let port = ServicePort { port: i32::from(PORT), ..ServicePort::default() };
    let spec = ServiceSpec { selector: metadata().labels, ports: Some(vec![port]), ..ServiceSpec::default() };
    namespace.create_object(&Service { metadata: metadata(), spec: Some(spec), status: None }).await?;
    let is_running = |pod: &Pod| if pod::is_ready(pod) { Ok(()) } else { Err(pod::describe(pod)) };
    namespace.until(REDIS, "the Redis server runs", is_running).await?;
    Ok(format!("redis://{}:{PORT}", namespace.host(REDIS)))
}

/// The pod, from the image of `cluster-client`, which has the server too.
fn server(metadata: ObjectMeta) -> Result<Pod, Error> {
    let arguments = ["--port", "6379", "--save", "", "--requirepass", "$(PASSWORD)", "--protected-mode", "no"];
    let mut pod = pod::client_pod(REDIS, &arguments)?;
    pod.metadata = metadata;
    for container in pod.spec.iter_mut().flat_map(|spec| &mut spec.containers) {
        let key = SecretKeySelector { name: REDIS.to_owned(), key: PASSWORD.to_owned(), optional: None };
        container.command = Some(vec!["/usr/bin/redis-server".to_owned()]);
        container.env = Some(vec![EnvVar {
            name: "PASSWORD".to_owned(),
            value_from: Some(EnvVarSource { secret_key_ref: Some(key), ..EnvVarSource::default() }),
            ..EnvVar::default()
        }]);
    }
    Ok(pod)
}
