//! What of an object is not kept: it is not looked at, and there may be thousands.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::Resource;
use kube::api::ObjectMeta;
use serde_json::Value;

use crate::hash::hash;
use crate::names::{HOSTS_ANNOTATION, SERVICE_ACCOUNT_ANNOTATION, index_of};

/// The annotations of a Secret that say what it is for.
const OF_USE: [&str; 2] = [HOSTS_ANNOTATION, SERVICE_ACCOUNT_ANNOTATION];

/// Who owns which field: often more than the object itself.
pub(super) fn managed_fields<K: Resource>(object: &mut K) {
    let metadata = object.meta_mut();
    metadata.managed_fields = None;
    // A list of one is read into room for four, and an owner has some hundred bytes.
    metadata.owner_references.iter_mut().for_each(Vec::shrink_to_fit);
}

/// The same, without the room that the list of ports was read into.
pub(super) fn service(service: &mut Service) {
    managed_fields(service);
    service.spec.iter_mut().filter_map(|spec| spec.ports.as_mut()).for_each(Vec::shrink_to_fit);
}

/// All but what names an object, its version, its owner and its labels.
pub(super) fn metadata<K: Resource>(object: &mut K) {
    managed_fields(object);
    let metadata = std::mem::take(object.meta_mut());
    *object.meta_mut() = ObjectMeta {
        name: metadata.name,
        namespace: metadata.namespace,
        uid: metadata.uid,
        resource_version: metadata.resource_version,
        labels: metadata.labels,
        owner_references: metadata.owner_references,
        ..ObjectMeta::default()
    };
}

/// Keeps in the place of an object's version that of its content, where it can be told: a label, or an annotation, makes a new object of nobody's. Who
/// has written the content last, in which second, and which keys it has, stands beside the fields; the content itself is never read. What is written
/// twice in a second has one version, which is shown when that second is over: see `settled`.
fn content_version<K: Resource>(object: &mut K) {
    let metadata = object.meta_mut();
    let content = |entry: &ManagedFieldsEntry| {
        let fields = entry.fields_v1.as_ref()?.0.as_object()?;
        // The names of its keys: one that is taken away changes nothing else.
        let found: Vec<_> = CONTENT.iter().filter_map(|field| fields.get(*field)).map(Value::to_string).collect();
        let writer = (entry.manager.clone(), entry.operation.clone(), entry.time.clone());
        (!found.is_empty()).then_some((writer, found))
    };
    let mut writers: Vec<_> = metadata.managed_fields.iter().flatten().filter_map(content).collect();
    writers.sort();
    if !writers.is_empty() {
        metadata.resource_version = Some(hash(&writers));
    }
}

/// The fields of Secrets and ConfigMaps that have their content.
const CONTENT: [&str; 3] = ["f:data", "f:stringData", "f:binaryData"];

/// All but what names an object, its version, its owner and what its owner says of its use: where it has one, labels do not say whose it is.
pub(super) fn owned<K: Resource>(object: &mut K) {
    content_version(object);
    let said = object.meta_mut().annotations.take();
    metadata(object);
    let of_use = said.into_iter().flatten().filter(|(name, _)| OF_USE.contains(&name.as_str()));
    let of_use: BTreeMap<_, _> = of_use.collect();
    object.meta_mut().annotations = (!of_use.is_empty()).then_some(of_use);
    let metadata = object.meta_mut();
    let mut owners = metadata.owner_references.iter().flatten();
    if owners.any(|owner| owner.controller == Some(true)) {
        metadata.labels = None;
    }
}

/// All but what names an object, and its version: what is read of objects that others have made, of which there may be many.
pub(super) fn version<K: Resource>(object: &mut K) {
    content_version(object);
    metadata(object);
    object.meta_mut().labels = None;
    object.meta_mut().owner_references = None;
}

/// The lists of a Deployment's pod are read into room for twice as many or more, and a volume alone has some 2 KiB.
pub(super) fn deployment(deployment: &mut Deployment) {
    managed_fields(deployment);
    deployment.status.iter_mut().filter_map(|status| status.conditions.as_mut()).for_each(Vec::shrink_to_fit);
    let Some(pod) = deployment.spec.as_mut().and_then(|spec| spec.template.spec.as_mut()) else { return };
    pod.volumes.iter_mut().for_each(Vec::shrink_to_fit);
    pod.init_containers.iter_mut().for_each(Vec::shrink_to_fit);
    pod.containers.shrink_to_fit();
    for container in pod.containers.iter_mut().chain(pod.init_containers.iter_mut().flatten()) {
        container.env.iter_mut().for_each(Vec::shrink_to_fit);
        container.volume_mounts.iter_mut().for_each(Vec::shrink_to_fit);
        container.ports.iter_mut().for_each(Vec::shrink_to_fit);
    }
}

/// A pod's specification: the Deployment has it, or the Job.
pub(super) fn pod(pod: &mut Pod) {
    metadata_with_times(pod);
    pod.spec = None;
}

/// A Job's specification: it never changes.
pub(super) fn job(job: &mut Job) {
    // The requests that it was made for.
    let annotations = job.metadata.annotations.take();
    metadata_with_times(job);
    job.metadata.annotations = annotations;
    job.spec = None;
}

/// What a synchronisation is to do may be long, as documents may stand in it, and is read by nobody but its pod.
pub(super) fn config_map(config_map: &mut ConfigMap) {
    managed_fields(config_map);
    if index_of(&config_map.metadata).is_some() {
        config_map.data = None;
    }
}

fn metadata_with_times<K: Resource>(object: &mut K) {
    let times = object.meta_mut();
    let (created, deleted) = (times.creation_timestamp.take(), times.deletion_timestamp.take());
    metadata(object);
    object.meta_mut().creation_timestamp = created;
    object.meta_mut().deletion_timestamp = deleted;
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;
    use kube::api::PartialObjectMeta;
    use serde_json::json;

    use super::*;

    fn stripped(version: &str, fields: &Value) -> Option<String> {
        let mut secret: PartialObjectMeta<Secret> = serde_json::from_value(json!({
            "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
            "metadata": {"name": "s", "resourceVersion": version, "managedFields": fields},
        }))
        .unwrap();
        owned(&mut secret);
        secret.metadata.resource_version
    }

    #[test]
    fn a_label_is_no_other_content() {
        let entry = |manager: &str, time: &str, fields: Value| json!({"manager": manager, "operation": "Update", "time": time, "fieldsType": "FieldsV1", "fieldsV1": fields});
        let content = entry("kubectl-create", "2026-11-22T09:00:00Z", json!({"f:data": {"f:token": {}}, "f:type": {}}));
        let label = entry("kubectl-label", "2026-11-22T10:00:00Z", json!({"f:metadata": {"f:labels": {"f:a": {}}}}));
        let edited = entry("kubectl-edit", "2026-11-22T11:00:00Z", json!({"f:data": {"f:token": {}}}));
        let before = stripped("7", &json!([content]));
        assert_eq!(stripped("8", &json!([content, label])), before);
        assert_eq!(stripped("9", &json!([label, content])), before);
        assert_ne!(stripped("10", &json!([content, edited, label])), before);
        let without = entry("kubectl-create", "2026-11-22T09:00:00Z", json!({"f:data": {}, "f:type": {}}));
        assert_ne!(stripped("11", &json!([without, label])), before, "a key was taken away");
        assert_eq!(stripped("11", &json!([])), Some("11".to_owned()), "nobody says who wrote what");
    }
}
