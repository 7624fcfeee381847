//! Sources of documents in the cluster: a web server, a git server, an object store and a volume. Each is a pod of
//! `cluster-client`. A test changes the content through a second port.

mod bucket;
mod claim;
mod files;
mod git;

use std::collections::BTreeMap;

pub use bucket::Bucket;
pub use claim::Claim;
pub use files::{Files, RecordedRequest};
pub use git::Git;
use hyper::Method;
use k8s_openapi::api::core::v1::{
    EmptyDirVolumeSource, PersistentVolumeClaimVolumeSource, Probe, Service, ServicePort, ServiceSpec, TCPSocketAction,
    Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::ObjectMeta;
use serde_json::{Value, json};

use crate::changes::Changes;
use crate::forward::{Connection, Reply};
use crate::namespace::Namespace;
use crate::{Error, pod};

/// The port for readers.
pub const PORT: u16 = 8000;
/// The control port for the test.
pub const CONTROL_PORT: u16 = 8001;
/// The name of the bucket.
pub const BUCKET: &str = "documents";
/// The name of the repository.
pub const REPOSITORY: &str = "handbook.git";
/// The branch that commits go to.
pub const BRANCH: &str = "main";

/// The writable folder of a source.
const WORK_FOLDER: &str = "/work";

/// The memory limit. git needs this much for a large file.
const MAX_MEMORY: &str = "512Mi";

/// The storage of a source.
enum Storage<'a> {
    /// A folder that is deleted with the pod.
    Ephemeral,
    /// A claim.
    Claim(&'a str),
}

/// A pod with a Service of the same name.
struct Source {
    namespace: Namespace,
    name: String,
}

impl Source {
    async fn start(namespace: &Namespace, name: &str, arguments: &[&str], storage: Storage<'_>) -> Result<Self, Error> {
        let labels = BTreeMap::from([("app".to_owned(), name.to_owned())]);
        let mut pod = pod::client_pod(name, arguments)?;
        pod.metadata =
            ObjectMeta { name: Some(name.to_owned()), labels: Some(labels.clone()), ..ObjectMeta::default() };
        if let Some(spec) = &mut pod.spec {
            spec.volumes = Some(vec![volume(&storage)]);
            for container in &mut spec.containers {
                container.readiness_probe = Some(control_answers());
                container.resources = Some(pod::resources("10m", "16Mi", MAX_MEMORY));
                let mount = VolumeMount {
                    name: "work".to_owned(),
                    mount_path: WORK_FOLDER.to_owned(),
                    ..VolumeMount::default()
                };
                container.volume_mounts = Some(vec![mount]);
            }
        }
        namespace.create_object(&pod).await?;
        let port = ServicePort { port: i32::from(PORT), ..ServicePort::default() };
        let service = Service {
            metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
            spec: Some(ServiceSpec { selector: Some(labels), ports: Some(vec![port]), ..ServiceSpec::default() }),
            status: None,
        };
        namespace.create_object(&service).await?;
        let is_running = |pod: &_| if pod::is_ready(pod) { Ok(()) } else { Err(pod::describe(pod)) };
        namespace.until(name, &format!("the source {name} runs"), is_running).await?;
        Ok(Self { namespace: namespace.clone(), name: name.to_owned() })
    }

    /// Host and port in the cluster.
    fn authority(&self) -> String {
        format!("{}:{PORT}", self.namespace.host(&self.name))
    }

    async fn control(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Reply, Error> {
        Connection::open(&self.namespace.api(), &self.name, CONTROL_PORT).await?.send(method, path, body).await
    }

    async fn change(&self, changes: &Changes) -> Result<Value, Error> {
        self.control(Method::POST, "/changes", Some(&json!(changes))).await?.ok()
    }

    /// Sends a PUT. The expected reply has no content.
    async fn configure(&self, path: &str, body: &Value) -> Result<(), Error> {
        let reply = self.control(Method::PUT, path, Some(body)).await?;
        match reply.status {
            200 => Ok(()),
            status => Err(Error::Unexpected(format!("{}: {status}: {}", reply.request, reply.text))),
        }
    }
}

fn volume(storage: &Storage) -> Volume {
    let name = "work".to_owned();
    match storage {
        Storage::Ephemeral => Volume { name, empty_dir: Some(EmptyDirVolumeSource::default()), ..Volume::default() },
        Storage::Claim(claim) => {
            let claim = PersistentVolumeClaimVolumeSource { claim_name: (*claim).to_owned(), read_only: None };
            Volume { name, persistent_volume_claim: Some(claim), ..Volume::default() }
        }
    }
}

/// Whether the pod is ready. The control port is opened last.
fn control_answers() -> Probe {
    let port = IntOrString::Int(i32::from(CONTROL_PORT));
    Probe { tcp_socket: Some(TCPSocketAction { host: None, port }), period_seconds: Some(1), ..Probe::default() }
}
