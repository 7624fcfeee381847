//! Builds the pod of a server, before the user's template is merged over it.

mod reread;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, ConfigMapVolumeSource, Container, ContainerPort, EmptyDirVolumeSource, EnvVar, HTTPGetAction, KeyToPath,
    Lifecycle, LifecycleHandler, NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm,
    PersistentVolumeClaimVolumeSource, PodSpec, PodTemplateSpec, PreferredSchedulingTerm, Probe, ResourceRequirements,
    SecretVolumeSource, SleepAction, TopologySpreadConstraint, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::ObjectMeta;
use ragengine_operator_api::{self as api, Compute, RagEngineSpec};
pub use reread::{Reread, reread};

use super::monitoring::Monitoring;
use super::settings::{
    AUTH_FOLDER, RESTORE, RESTORE_FOLDER, SETTINGS_FILE, SETTINGS_FOLDER, accesses, data_folder, has_modes, restore_of,
};
use crate::defaults::Defaults;
use crate::names::{CONTAINER, Identity};
use crate::pod_parts::{INSTANCE_TYPE, container_security, node_labels, pod_security, pull_secrets};
use crate::ports::{ADMIN_PORT, ADMIN_PORT_NAME, PORT, PORT_NAME};
use crate::scheme::Scheme;

/// The grace period of the pod in seconds. The server needs up to 25 s for running requests
/// (`limits.shutdownGraceSeconds`).
const GRACE_PERIOD_S: i64 = 40;

/// How long the server goes on after its pod was told to stop, in seconds. It is a part of the grace period.
const PAUSE_BEFORE_STOP_S: i64 = 5;

/// The labels of nodes for the places that pods are spread over.
const PLACES: [&str; 2] = ["kubernetes.io/hostname", "topology.kubernetes.io/zone"];

const DATA: &str = "data";
const SETTINGS: &str = "settings";
const AUTH: &str = "auth";

/// The pod, before the user's template is merged over it.
pub fn pod(spec: &RagEngineSpec, identity: &Identity, defaults: &Defaults, monitoring: Monitoring) -> PodTemplateSpec {
    let labels = identity.labels().into_iter().chain(monitoring.label()).chain(Scheme::of(spec).label()).collect();
    PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels), ..ObjectMeta::default() }),
        spec: Some(PodSpec {
            affinity: spec.compute.as_ref().and_then(preferred_nodes),
            automount_service_account_token: Some(false),
            containers: vec![container(spec, identity, defaults, monitoring)],
            enable_service_links: Some(false),
            // The user's pull secrets are merged into these by name.
            image_pull_secrets: pull_secrets(defaults, Vec::new()),
            node_selector: spec.compute.as_ref().and_then(nodes),
            security_context: Some(pod_security(defaults.pod_user)),
            service_account_name: Some(identity.name.clone()),
            termination_grace_period_seconds: Some(GRACE_PERIOD_S),
            topology_spread_constraints: spec
                .is_external()
                .then(|| PLACES.map(|place| spread(identity, place)).to_vec()),
            volumes: Some(volumes(spec, identity)),
            ..PodSpec::default()
        }),
    }
}

fn container(spec: &RagEngineSpec, identity: &Identity, defaults: &Defaults, monitoring: Monitoring) -> Container {
    let api::Resources { requests, limits } = spec.resources.clone();
    let probe = |path: &str, pace: &Pace| Some(probe(spec, monitoring, path, pace));
    Container {
        name: CONTAINER.to_owned(),
        image: Some(defaults.server_image.of_engine(&spec.image)),
        image_pull_policy: Some(spec.image.pull_policy.as_str().to_owned()),
        // Empty values disable the variables of the image, which would override the settings file.
        env: Some(["DATA_DIR", "LISTEN"].map(empty_variable).to_vec()),
        ports: Some(ports(monitoring)),
        // /livez answers as soon as the server listens, so a server that loads a large index is not killed.
        startup_probe: probe("/livez", &Pace { period_s: 1, timeout_s: 5, failures: 60 }),
        liveness_probe: probe("/livez", &Pace { period_s: 10, timeout_s: 10, failures: 6 }),
        readiness_probe: probe("/readyz", &Pace { period_s: 2, timeout_s: 10, failures: 3 }),
        lifecycle: spec.is_external().then(pause_before_stop),
        resources: Some(ResourceRequirements {
            requests: Some(requests.0),
            limits: Some(limits.0),
            ..ResourceRequirements::default()
        }),
        security_context: Some(container_security()),
        // The status quotes the last output of a server that ended.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(mounts(spec, identity)),
        ..Container::default()
    }
}

/// The server takes requests for some seconds after its pod was told to stop: until the last node has learnt that the
/// Service does not have this pod any more, new connections still arrive. An engine that has one pod only needs no pause.
fn pause_before_stop() -> Lifecycle {
    let sleep = Some(SleepAction { seconds: PAUSE_BEFORE_STOP_S });
    Lifecycle { pre_stop: Some(LifecycleHandler { sleep, ..LifecycleHandler::default() }), ..Lifecycle::default() }
}

/// Prefers places with fewer pods of the engine. Every engine that can have several pods has this, so that another number
/// of them restarts none.
fn spread(identity: &Identity, place: &str) -> TopologySpreadConstraint {
    TopologySpreadConstraint {
        label_selector: Some(LabelSelector { match_labels: Some(identity.selector()), match_expressions: None }),
        max_skew: 1,
        topology_key: place.to_owned(),
        when_unsatisfiable: "ScheduleAnyway".to_owned(),
        ..TopologySpreadConstraint::default()
    }
}

fn empty_variable(name: &str) -> EnvVar {
    EnvVar { name: name.to_owned(), value: Some(String::new()), value_from: None }
}

fn ports(monitoring: Monitoring) -> Vec<ContainerPort> {
    let port = |name: &str, port: u16| ContainerPort {
        name: Some(name.to_owned()),
        container_port: i32::from(port),
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    };
    match monitoring {
        Monitoring::OwnListener => vec![port(PORT_NAME, PORT), port(ADMIN_PORT_NAME, ADMIN_PORT)],
        Monitoring::SameListener => vec![port(PORT_NAME, PORT)],
    }
}

/// The timing of a probe.
struct Pace {
    period_s: i32,
    timeout_s: i32,
    failures: i32,
}

fn probe(spec: &RagEngineSpec, monitoring: Monitoring, path: &str, pace: &Pace) -> Probe {
    let scheme = match monitoring {
        // Never with TLS.
        Monitoring::OwnListener => Scheme::Http,
        Monitoring::SameListener => Scheme::of(spec),
    };
    let action = HTTPGetAction {
        path: Some(path.to_owned()),
        port: IntOrString::String(monitoring.port_name().to_owned()),
        scheme: Some(scheme.to_string().to_uppercase()),
        ..HTTPGetAction::default()
    };
    Probe {
        http_get: Some(action),
        period_seconds: Some(pace.period_s),
        timeout_seconds: Some(pace.timeout_s),
        failure_threshold: Some(pace.failures),
        ..Probe::default()
    }
}

fn mounts(spec: &RagEngineSpec, identity: &Identity) -> Vec<VolumeMount> {
    let mount = |name: &str, path: &str, read_only: Option<bool>| VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only,
        ..VolumeMount::default()
    };
    let secrets = accesses(spec, identity)
        .into_iter()
        .map(|(access, _)| mount(access.volume(), &access.folder().to_string_lossy(), Some(true)));
    let reread = reread(spec).into_iter().map(|found| mount(found.volume, &found.folder.to_string_lossy(), Some(true)));
    let auth = has_modes(spec).then(|| mount(AUTH, AUTH_FOLDER, Some(true)));
    [mount(DATA, data_folder(spec), None), mount(SETTINGS, SETTINGS_FOLDER, Some(true))]
        .into_iter()
        .chain(secrets)
        .chain(reread)
        .chain(auth)
        .chain(restored_claim(spec).map(|_| mount(RESTORE, RESTORE_FOLDER, Some(true))))
        .collect()
}

/// The claim with the backup that a new engine restores.
pub(super) fn restored_claim(spec: &RagEngineSpec) -> Option<String> {
    Some(restore_of(spec)?.persistent_volume_claim.as_ref()?.claim_name.clone())
}

fn volumes(spec: &RagEngineSpec, identity: &Identity) -> Vec<Volume> {
    let settings = Volume {
        name: SETTINGS.to_owned(),
        config_map: Some(ConfigMapVolumeSource {
            name: identity.settings(),
            items: Some(vec![item(SETTINGS_FILE)]),
            ..ConfigMapVolumeSource::default()
        }),
        ..Volume::default()
    };
    let secrets = accesses(spec, identity).into_iter().map(|(access, secret)| Volume {
        name: access.volume().to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(secret),
            // Mount only the key that the server reads. If the Secret lacks it, the pod does not start and the status
            // says so.
            items: Some(vec![item(access.key())]),
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    });
    // All keys are mounted, so that one that is added needs no restart.
    let auth = has_modes(spec).then(|| Volume {
        name: AUTH.to_owned(),
        config_map: Some(ConfigMapVolumeSource { name: identity.auth(), ..ConfigMapVolumeSource::default() }),
        ..Volume::default()
    });
    let reread = reread(spec).into_iter().map(Reread::into_volume);
    let restored = restored_claim(spec).map(|claim_name| Volume {
        name: RESTORE.to_owned(),
        persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource { claim_name, read_only: Some(true) }),
        ..Volume::default()
    });
    [data_volume(spec, identity), settings]
        .into_iter()
        .chain(secrets)
        .chain(reread)
        .chain(auth)
        .chain(restored)
        .collect()
}

fn item(key: &str) -> KeyToPath {
    KeyToPath { key: key.to_owned(), path: key.to_owned(), mode: None }
}

fn data_volume(spec: &RagEngineSpec, identity: &Identity) -> Volume {
    let claim = identity.claim_of(spec);
    Volume {
        name: DATA.to_owned(),
        empty_dir: claim.is_none().then(EmptyDirVolumeSource::default),
        persistent_volume_claim: claim
            .map(|claim_name| PersistentVolumeClaimVolumeSource { claim_name, read_only: None }),
        ..Volume::default()
    }
}

/// The labels of the nodes that the pod may run on, if any. The machine type wins over a label for it.
fn nodes(compute: &Compute) -> Option<BTreeMap<String, String>> {
    let machine = compute.instance_type.clone().map(|machine| (INSTANCE_TYPE.to_owned(), machine));
    let labels: BTreeMap<_, _> = node_labels(compute).into_iter().flatten().chain(machine).collect();
    (!labels.is_empty()).then_some(labels)
}

/// One term for each node, because a match on metadata.name allows only one value.
fn preferred_nodes(compute: &Compute) -> Option<Affinity> {
    let term = |node: &String| PreferredSchedulingTerm {
        weight: 100,
        preference: NodeSelectorTerm {
            match_fields: Some(vec![NodeSelectorRequirement {
                key: "metadata.name".to_owned(),
                operator: "In".to_owned(),
                values: Some(vec![node.clone()]),
            }]),
            match_expressions: None,
        },
    };
    let terms: Vec<_> = compute.preferred_nodes.iter().map(term).collect();
    (!terms.is_empty()).then(|| Affinity {
        node_affinity: Some(NodeAffinity {
            preferred_during_scheduling_ignored_during_execution: Some(terms),
            required_during_scheduling_ignored_during_execution: None,
        }),
        ..Affinity::default()
    })
}
