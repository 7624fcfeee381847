//! Validates a specification beyond the rules of its CRD.

mod cron_job;
mod nodes;

use axum::http::Uri;
use k8s_openapi::DeepMerge as _;
use k8s_openapi::api::core::v1::{PodSpec, PodTemplateSpec};
use k8s_openapi::jiff::Timestamp;
use kube::api::ObjectMeta;
use ragengine_operator_api::{PodTemplate, RagEngine, RagEngineSpec, Storage};
use ragengine_settings::Settings;
use serde_json::Value;
use serde_path_to_error::Segment;

use super::backups::host_of;
use super::monitoring::Monitoring;
use super::references::{Reference, ReferenceKind, references};
use super::{pod, pod_template, settings};
use crate::defaults::Defaults;
use crate::finding::Invalid;
use crate::index::schedule::Schedule;
use crate::names::{CONTAINER, Identity};
use crate::pod_parts::tolerations;

/// A valid specification, with the settings and the pod that follow from it.
#[derive(Debug, Clone)]
pub struct Validated {
    /// The RAGEngine that it belongs to.
    pub identity: Identity,
    /// The specification.
    pub spec: RagEngineSpec,
    /// The listener that probes and monitors use.
    pub monitoring: Monitoring,
    /// The server's settings.
    pub settings: Settings,
    /// The pod with the user's template merged over it, without the annotations that trigger a rollout.
    pub pod: PodTemplateSpec,
    /// Why the template is invalid, if it is. The running pod is then kept, and all other objects are applied.
    pub wrong_template: Option<Invalid>,
    /// The Secrets and ConfigMaps that the pod needs in order to start, or whose change restarts it.
    pub references: Vec<Reference>,
    /// The Secrets whose content the server sends to other hosts.
    pub sent: Vec<SentSecret>,
}

/// A Secret that the server sends as credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentSecret {
    /// Its name.
    pub name: String,
    /// The host that receives it. `None`: the default model hub.
    pub host: Option<String>,
}

/// Validates a specification.
///
/// # Errors
///
/// [`Invalid`] with all violations.
pub fn validate(engine: &RagEngine, defaults: &Defaults) -> Result<Validated, Invalid> {
    let identity = Identity::of(engine);
    let spec = engine.spec.clone();
    let template = spec.pod_template.clone().unwrap_or_default();
    let users_pod = users_pod(&template).and_then(|pod| {
        let refused = pod_template::refused(&pod, &identity.namespace, defaults);
        if refused.is_empty() { Ok(pod) } else { Err(refused) }
    });
    let (users_pod, wrong_template) = match users_pod {
        Ok(users_pod) => (users_pod, None),
        Err(wrong) => (PodSpec::default(), Some(Invalid(wrong))),
    };
    let monitoring = Monitoring::of(&spec, defaults);
    let settings = settings::settings(&spec, &identity, defaults, monitoring);
    let wrong_settings = ragengine_settings::validate(&settings);
    let wrong_settings = wrong_settings.iter().map(ToString::to_string);
    let wrong_fields = settings::wrong_fields(&spec).into_iter().chain(wrong_schedule(&spec));
    let wrong: Vec<String> = wrong_settings.chain(wrong_fields).chain(nodes::wrong(engine, defaults)).collect();
    if !wrong.is_empty() {
        // All violations are reported together.
        return Err(Invalid(wrong.into_iter().chain(wrong_template.into_iter().flat_map(|wrong| wrong.0)).collect()));
    }
    let mut pod = pod::pod(&spec, &identity, defaults, monitoring);
    merge(&mut pod, template, users_pod, &identity);
    if let Some(pod) = &mut pod.spec {
        // The merge replaces this list.
        pod.tolerations = tolerations(spec.compute.as_ref(), pod.tolerations.take().unwrap_or_default());
    }
    let ours = [
        (ReferenceKind::ConfigMap, identity.settings()),
        (ReferenceKind::ConfigMap, identity.auth()),
        (ReferenceKind::Secret, identity.write_token()),
    ];
    let references = references(&pod, &ours, &pod::reread(&spec));
    let sent = sent(&spec);
    Ok(Validated { identity, spec, monitoring, settings, pod, wrong_template, references, sent })
}

/// Whether a schedule ever occurs does not depend on the time of the check.
fn wrong_schedule(spec: &RagEngineSpec) -> Option<String> {
    let schedule = &spec.backup.as_ref()?.schedule;
    let never = || Schedule::parse(schedule, "", Timestamp::UNIX_EPOCH).err();
    Some(format!("backup.{}", cron_job::refused(schedule).or_else(never)?))
}

fn sent(spec: &RagEngineSpec) -> Vec<SentSecret> {
    let embedding = spec.embedding();
    let local = embedding.local.map(|local| (local.model_access_secret, Some(local.hub_url)));
    let remote = embedding.remote.map(|remote| (remote.access_secret, Some(remote.url)));
    let language_model = spec.inference_service.clone().map(|service| (service.access_secret, service.url));
    let reranker = spec.rerank.clone().unwrap_or_default();
    let reranker_hub = reranker.local.map(|local| (local.model_access_secret, Some(local.hub_url)));
    let reranker = Some((reranker.access_secret, reranker.url));
    let postgres = spec.postgres.clone().map(|postgres| (postgres.access_secret, postgres.url));
    let redis = spec.redis.clone().map(|redis| (redis.access_secret, redis.url));
    let events = spec.events.clone().map(|events| (events.access_secret, events.url));
    let database = spec.storage.as_ref().and_then(Storage::external_database);
    let database = database.cloned().map(|database| (database.access_secret, database.url));
    let all = [local, remote, language_model, reranker, reranker_hub, postgres, redis, database, events];
    let all = all.into_iter().flatten();
    let bucket = settings::restore_of(spec).and_then(|restore| restore.s3.as_ref());
    let restored =
        bucket.and_then(|bucket| Some(SentSecret { name: bucket.access_secret.clone()?, host: host_of(bucket) }));
    all.filter_map(|(secret, url)| Some(SentSecret { name: secret?, host: url.as_deref().and_then(host) }))
        .chain(restored)
        .collect()
}

/// The host of an address, with its port and without the user.
pub(super) fn host(url: &str) -> Option<String> {
    let url: Uri = url.parse().ok()?;
    let authority = url.authority()?.as_str();
    Some(authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_owned())
}

/// Parses the user's template as a pod specification.
fn users_pod(template: &PodTemplate) -> Result<PodSpec, Vec<String>> {
    let mut unknown = Vec::new();
    let mut ignored = |path: serde_ignored::Path<'_>| {
        // `serde_ignored` adds a `?` step for each optional field.
        let path = path.to_string().replace("?.", "");
        unknown.push(format!("podTemplate.spec.{path} is not a field of a Pod: remove it or correct its spelling"));
    };
    let spec = Value::Object(template.spec.clone());
    let read = serde_path_to_error::deserialize(serde_ignored::Deserializer::new(spec, &mut ignored));
    let pod: PodSpec = read.map_err(|error| vec![unreadable(&error)])?;
    let containers = pod.containers.iter().chain(pod.init_containers.iter().flatten());
    unknown.extend(containers.filter(|container| container.name.is_empty()).map(|_| {
        format!("podTemplate.spec.containers: a container has no name: set one (the server's container is {CONTAINER})")
    }));
    if unknown.is_empty() { Ok(pod) } else { Err(unknown) }
}

/// The message for a value of the wrong type, with its path.
fn unreadable(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    // The same notation as `serde_ignored` uses.
    let steps = error.path().iter().map(|step| match step {
        Segment::Seq { index } => format!(".{index}"),
        Segment::Map { key } => format!(".{key}"),
        Segment::Enum { variant } => format!(".{variant}"),
        Segment::Unknown => ".?".to_owned(),
    });
    format!("podTemplate.spec{} is invalid: {}", steps.collect::<String>(), error.inner())
}

/// Merges the template like a strategic merge patch: lists by their keys, other values replaced. The labels of the
/// selector stay.
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
    // The merge would replace the node selector of `compute` as a whole.
    if let (Some(spec), Some(node_labels)) = (&mut pod.spec, node_labels) {
        let users = spec.node_selector.replace(node_labels).unwrap_or_default();
        spec.node_selector.get_or_insert_default().extend(users);
    }
    if let Some(metadata) = &mut pod.metadata {
        metadata.labels.get_or_insert_default().extend(identity.labels());
    }
}
