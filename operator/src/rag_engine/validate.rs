//! The second look at a specification: what the API server's rules cannot see.

use k8s_openapi::DeepMerge as _;
use k8s_openapi::api::core::v1::{PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::ObjectMeta;
use ragengine_operator_api::{PodTemplate, RagEngine, RagEngineSpec};
use ragengine_settings::Settings;
use serde_json::Value;
use serde_path_to_error::Segment;

use super::monitoring::Monitoring;
use super::references::{Reference, ReferenceKind, references};
use super::server_image::ServerImage;
use super::{build, settings};
use crate::names::{CONTAINER, Identity};
use crate::openshift::PodUser;
use crate::rollouts::Rollouts;

/// What the operator was started with, and every engine depends on.
#[derive(Debug, Clone)]
pub struct Defaults {
    /// The server's image, where a resource names none.
    pub server_image: ServerImage,
    /// The Secrets that it is pulled with in every namespace, besides those that a resource names.
    pub pull_secrets: Vec<String>,
    /// Whose user the pods run as.
    pub pod_user: PodUser,
    /// The engines that are being rolled because the above is other than it was.
    pub rollouts: Rollouts,
    /// The namespace of the operator, which a NetworkPolicy lets in.
    pub operator_namespace: String,
    /// The cluster's domain, as `cluster.local`.
    pub cluster_domain: String,
}

/// A specification that can be built.
#[derive(Debug, Clone)]
pub struct Validated {
    /// Whose it is.
    pub identity: Identity,
    /// What was asked for.
    pub spec: RagEngineSpec,
    /// Where probes and monitors ask the server.
    pub monitoring: Monitoring,
    /// The server's settings.
    pub settings: Settings,
    /// The pod, with the user's template merged over it; without the annotations that roll it.
    pub pod: PodTemplateSpec,
    /// The Secrets and ConfigMaps that the pod cannot start without, or is rolled by.
    pub references: Vec<Reference>,
}

/// Why a specification cannot be built: everything that is wrong, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Invalid(pub Vec<String>);

/// Looks at a specification.
///
/// # Errors
///
/// [`Invalid`] with everything that is wrong.
pub fn validate(engine: &RagEngine, defaults: &Defaults) -> Result<Validated, Invalid> {
    let identity = Identity::of(engine);
    let spec = engine.spec.clone();
    let template = spec.pod_template.clone().unwrap_or_default();
    let (users_pod, unknown) = match users_pod(&template) {
        Ok(users_pod) => (users_pod, Vec::new()),
        Err(unknown) => (PodSpec::default(), unknown),
    };
    let monitoring = Monitoring::of(&spec.image, &users_pod, defaults);
    let settings = settings::settings(&spec, &identity, defaults, monitoring);
    let mut wrong: Vec<String> = ragengine_settings::validate(&settings).iter().map(ToString::to_string).collect();
    wrong.extend(unknown);
    if !wrong.is_empty() {
        return Err(Invalid(wrong));
    }
    let mut pod = build::pod(&spec, &identity, defaults, monitoring);
    merge(&mut pod, template, users_pod, &identity);
    let ours = [(ReferenceKind::ConfigMap, identity.settings()), (ReferenceKind::Secret, identity.write_token())];
    let references = references(&pod, &ours);
    Ok(Validated { identity, spec, monitoring, settings, pod, references })
}

/// The user's part of the pod as a pod has it.
fn users_pod(template: &PodTemplate) -> Result<PodSpec, Vec<String>> {
    let mut unknown = Vec::new();
    let mut ignored = |path: serde_ignored::Path<'_>| {
        // A field that may be left out is a step of its own there.
        let path = path.to_string().replace("?.", "");
        unknown.push(format!("podTemplate.spec has no field {path}: remove it, or see how it is spelled in a Pod"));
    };
    let spec = Value::Object(template.spec.clone());
    let read = serde_path_to_error::deserialize(serde_ignored::Deserializer::new(spec, &mut ignored));
    let pod: PodSpec = read.map_err(|error| vec![unreadable(&error)])?;
    let containers = pod.containers.iter().chain(pod.init_containers.iter().flatten());
    unknown.extend(
        containers.filter(|container| container.name.is_empty()).map(|_| {
            format!("podTemplate.spec.containers: a container has no name; that of the server is {CONTAINER}")
        }),
    );
    if unknown.is_empty() { Ok(pod) } else { Err(unknown) }
}

/// A value of the wrong type, and where it is.
fn unreadable(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    // As `serde_ignored` spells a path.
    let steps = error.path().iter().map(|step| match step {
        Segment::Seq { index } => format!(".{index}"),
        Segment::Map { key } => format!(".{key}"),
        Segment::Enum { variant } => format!(".{variant}"),
        Segment::Unknown => ".?".to_owned(),
    });
    format!("podTemplate.spec{} cannot be read: {}", steps.collect::<String>(), error.inner())
}

/// As a strategic merge patch does: lists by their keys, values replaced. What the pod is found by stays.
fn merge(pod: &mut PodTemplateSpec, template: PodTemplate, users_pod: PodSpec, identity: &Identity) {
    let metadata = template.metadata.unwrap_or_default();
    let node_labels = pod.spec.as_ref().and_then(|spec| spec.node_selector.clone());
    pod.merge_from(PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(metadata.labels),
            annotations: (!metadata.annotations.is_empty()).then_some(metadata.annotations),
            ..ObjectMeta::default()
        }),
        spec: Some(users_pod),
    });
    // Those of `compute` would be replaced as a whole.
    if let (Some(spec), Some(node_labels)) = (&mut pod.spec, node_labels) {
        let users = spec.node_selector.replace(node_labels).unwrap_or_default();
        spec.node_selector.get_or_insert_default().extend(users);
    }
    if let Some(metadata) = &mut pod.metadata {
        metadata.labels.get_or_insert_default().extend(identity.labels());
    }
}

/// How its pods are selected.
pub(super) fn selector(identity: &Identity) -> LabelSelector {
    LabelSelector { match_labels: Some(identity.selector()), match_expressions: None }
}
