//! Drops unused parts of cached objects, of which there may be thousands.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, PodSpec, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::Resource;
use kube::api::ObjectMeta;
use serde_json::Value;

use crate::hash::hash;
use crate::names::{HOSTS_ANNOTATION, SERVICE_ACCOUNT_ANNOTATION, index_of};

/// The annotations of a Secret that the operator uses.
const OF_USE: [&str; 2] = [HOSTS_ANNOTATION, SERVICE_ACCOUNT_ANNOTATION];

/// Drops the managed fields, which are often larger than the object.
pub(super) fn managed_fields<K: Resource>(object: &mut K) {
    let metadata = object.meta_mut();
    metadata.managed_fields = None;
    // Deserialisation allocates room for four items, and an owner reference has some hundred bytes.
    metadata.owner_references.iter_mut().for_each(Vec::shrink_to_fit);
}

/// Drops the managed fields and unused capacity of a Service.
pub(super) fn service(service: &mut Service) {
    managed_fields(service);
    service.spec.iter_mut().filter_map(|spec| spec.ports.as_mut()).for_each(Vec::shrink_to_fit);
}

/// Keeps only name, version, owners and labels of an object.
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

/// Replaces the resource version by the version of the content, if it can be derived, so that a label or an annotation
/// does not count as a change. The managed fields show which client wrote the content last, in which second, and which
/// keys it has. The content itself is never read. Writes within the same second have the same version: see `settled`.
fn content_version<K: Resource>(object: &mut K) {
    let metadata = object.meta_mut();
    let content = |entry: &ManagedFieldsEntry| {
        let fields = entry.fields_v1.as_ref()?.0.as_object()?;
        // The names of the keys: removing a key changes nothing else.
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

/// The fields that hold the content of Secrets and ConfigMaps.
const CONTENT: [&str; 3] = ["f:data", "f:stringData", "f:binaryData"];

/// Keeps name, content version, owners and the used annotations of a Secret. Labels are dropped if it has a controller,
/// which already identifies its owner.
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

/// Keeps only name and content version, for objects that users create, of which there may be many.
pub(super) fn version<K: Resource>(object: &mut K) {
    content_version(object);
    metadata(object);
    object.meta_mut().labels = None;
    object.meta_mut().owner_references = None;
}

/// Drops managed fields and unused capacity of a Deployment. Its lists are allocated with at least twice the needed
/// room, and one volume has some 2 KiB.
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

/// Drops the specification of a pod, which equals that of its Deployment or Job, except the name of its node.
pub(super) fn pod(pod: &mut Pod) {
    metadata_with_times(pod);
    let node_name = pod.spec.take().and_then(|spec| spec.node_name);
    pod.spec = node_name.map(|node_name| PodSpec { node_name: Some(node_name), ..PodSpec::default() });
}

/// Drops the specification of a Job, which never changes.
pub(super) fn job(job: &mut Job) {
    // The annotations hold the requests that the Job was created for.
    let annotations = job.metadata.annotations.take();
    metadata_with_times(job);
    job.metadata.annotations = annotations;
    job.spec = None;
}

/// Drops the task of a synchronisation, which may be long because it contains inline documents. Only its pod reads it.
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
    fn of_the_specification_of_a_pod_only_its_node_stays() {
        for (spec, expected) in [
            (json!({"nodeName": "n", "containers": [{"name": "a"}]}), json!({"nodeName": "n", "containers": []})),
            (json!({"containers": [{"name": "a"}]}), Value::Null),
        ] {
            let mut found: Pod = serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap();
            pod(&mut found);
            assert_eq!(json!(found.spec), expected);
        }
    }

    #[test]
    fn a_label_does_not_change_the_content_version() {
        let entry = |manager: &str, time: &str, fields: Value| {
            json!({
                "manager": manager, "operation": "Update", "time": time, "fieldsType": "FieldsV1", "fieldsV1": fields,
            })
        };
        let content = entry("kubectl-create", "2026-11-22T09:00:00Z", json!({"f:data": {"f:token": {}}, "f:type": {}}));
        let label = entry("kubectl-label", "2026-11-22T10:00:00Z", json!({"f:metadata": {"f:labels": {"f:a": {}}}}));
        let edited = entry("kubectl-edit", "2026-11-22T11:00:00Z", json!({"f:data": {"f:token": {}}}));
        let before = stripped("7", &json!([content]));
        assert_eq!(stripped("8", &json!([content, label])), before);
        assert_eq!(stripped("9", &json!([label, content])), before);
        assert_ne!(stripped("10", &json!([content, edited, label])), before);
        let without = entry("kubectl-create", "2026-11-22T09:00:00Z", json!({"f:data": {}, "f:type": {}}));
        assert_ne!(stripped("11", &json!([without, label])), before, "a key was removed");
        assert_eq!(
            stripped("11", &json!([])),
            Some("11".to_owned()),
            "without managed fields the resource version stays"
        );
    }
}
