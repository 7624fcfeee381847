use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy};
use k8s_openapi::api::core::v1::{
    ConfigMap, ConfigMapVolumeSource, Container, ContainerPort, EmptyDirVolumeSource, HTTPGetAction,
    PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeClaimVolumeSource, PodSpec, PodTemplateSpec,
    Probe, Service, ServicePort, ServiceSpec, Volume as PodVolume, VolumeMount, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::ObjectMeta;

use super::metadata;
use crate::{Error, cluster, pod};

/// The name of the Deployment, of its container and of the Service.
pub const SERVER: &str = "ragengine";
/// The port that the server listens on.
pub const PORT: u16 = 5000;
/// The label of the server's pods.
pub(super) const LABEL: &str = "app.kubernetes.io/name";

/// The folders for settings and data in the image.
const SETTINGS_FOLDER: &str = "/etc/ragengine";
const DATA_FOLDER: &str = "/data";

/// The grace period of the pod after SIGTERM. It is longer than that of the server (`limits.shutdownGraceSeconds`).
const GRACE_PERIOD_S: i64 = 60;

/// The image's settings, with a maximum distance for short questions.
const SETTINGS: &str = "\
embedding:
  local:
    modelID: /models/sentence-transformers/all-MiniLM-L6-v2
retrieval:
  maxDistance: 1.1
";

/// The volume of the data folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Volume {
    /// A claim on the default storage class.
    Claim,
    /// A volume that is deleted with the pod.
    Ephemeral,
    /// A read-only volume that is deleted with the pod.
    ReadOnly,
    /// 64 MiB of memory. A second container with `cluster-client` can fill it.
    Small,
}

fn labels() -> BTreeMap<String, String> {
    BTreeMap::from([(LABEL.to_owned(), SERVER.to_owned())])
}

/// The settings file.
pub(super) fn settings() -> ConfigMap {
    let data = BTreeMap::from([("settings.yaml".to_owned(), SETTINGS.to_owned())]);
    ConfigMap { metadata: metadata(SERVER), data: Some(data), ..ConfigMap::default() }
}

/// A claim on the default storage class.
pub(super) fn claim() -> PersistentVolumeClaim {
    let size = BTreeMap::from([("storage".to_owned(), Quantity("256Mi".to_owned()))]);
    PersistentVolumeClaim {
        metadata: metadata(SERVER),
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
            resources: Some(VolumeResourceRequirements { requests: Some(size), limits: None }),
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    }
}

/// The Service of the server.
pub(super) fn service() -> Service {
    let port = ServicePort { port: i32::from(PORT), ..ServicePort::default() };
    Service {
        metadata: metadata(SERVER),
        spec: Some(ServiceSpec { selector: Some(labels()), ports: Some(vec![port]), ..ServiceSpec::default() }),
        status: None,
    }
}

/// A Deployment of one server. The old pod ends before the new one starts, because only one process may use the data
/// folder.
pub(super) fn deployment(volume: Volume) -> Result<Deployment, Error> {
    let mut containers = vec![server_container(volume)?];
    if volume == Volume::Small {
        containers
            .push(Container { volume_mounts: Some(vec![data_mount(volume)]), ..pod::client_container(&["wait"])? });
    }
    let pod = PodSpec {
        automount_service_account_token: Some(false),
        containers,
        enable_service_links: Some(false),
        security_context: Some(pod::restricted_pod()),
        termination_grace_period_seconds: Some(GRACE_PERIOD_S),
        volumes: Some(vec![data_volume(volume), settings_volume()]),
        ..PodSpec::default()
    };
    Ok(Deployment {
        metadata: metadata(SERVER),
        spec: Some(DeploymentSpec {
            replicas: Some(1),
            selector: LabelSelector { match_labels: Some(labels()), match_expressions: None },
            strategy: Some(DeploymentStrategy { type_: Some("Recreate".to_owned()), rolling_update: None }),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(labels()), ..ObjectMeta::default() }),
                spec: Some(pod),
            },
            ..DeploymentSpec::default()
        }),
        status: None,
    })
}

fn server_container(volume: Volume) -> Result<Container, Error> {
    let settings = VolumeMount {
        name: "settings".to_owned(),
        mount_path: SETTINGS_FOLDER.to_owned(),
        read_only: Some(true),
        ..VolumeMount::default()
    };
    Ok(Container {
        name: SERVER.to_owned(),
        image: Some(cluster::server_image()?),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        liveness_probe: Some(probe("/livez")),
        ports: Some(vec![ContainerPort { container_port: i32::from(PORT), ..ContainerPort::default() }]),
        readiness_probe: Some(probe("/readyz")),
        resources: Some(pod::resources("100m", "256Mi", "1Gi")),
        security_context: Some(pod::restricted_container()),
        volume_mounts: Some(vec![data_mount(volume), settings]),
        ..Container::default()
    })
}

/// The interval is short, so that tests do not wait long. The timeout allows for slow replies on a busy machine.
fn probe(path: &str) -> Probe {
    let action = HTTPGetAction {
        path: Some(path.to_owned()),
        port: IntOrString::Int(i32::from(PORT)),
        ..HTTPGetAction::default()
    };
    Probe {
        failure_threshold: Some(3),
        http_get: Some(action),
        period_seconds: Some(1),
        timeout_seconds: Some(10),
        ..Probe::default()
    }
}

fn data_mount(volume: Volume) -> VolumeMount {
    VolumeMount {
        name: "data".to_owned(),
        mount_path: DATA_FOLDER.to_owned(),
        read_only: Some(volume == Volume::ReadOnly),
        ..VolumeMount::default()
    }
}

fn data_volume(volume: Volume) -> PodVolume {
    let mut data = PodVolume { name: "data".to_owned(), ..PodVolume::default() };
    match volume {
        Volume::Claim => {
            data.persistent_volume_claim =
                Some(PersistentVolumeClaimVolumeSource { claim_name: SERVER.to_owned(), read_only: None });
        }
        Volume::Ephemeral | Volume::ReadOnly => data.empty_dir = Some(EmptyDirVolumeSource::default()),
        Volume::Small => {
            data.empty_dir = Some(EmptyDirVolumeSource {
                medium: Some("Memory".to_owned()),
                size_limit: Some(Quantity("64Mi".to_owned())),
            });
        }
    }
    data
}

fn settings_volume() -> PodVolume {
    let source = ConfigMapVolumeSource { name: SERVER.to_owned(), ..ConfigMapVolumeSource::default() };
    PodVolume { name: "settings".to_owned(), config_map: Some(source), ..PodVolume::default() }
}
