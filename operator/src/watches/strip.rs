//! What of an object is not kept: it is not looked at, and there may be thousands.

use k8s_openapi::api::core::v1::Pod;
use kube::Resource;
use kube::api::ObjectMeta;

/// Who owns which field: often more than the object itself.
pub(super) fn managed_fields<K: Resource>(object: &mut K) {
    object.meta_mut().managed_fields = None;
}

/// All but what names an object, its version, its owner and its labels.
pub(super) fn metadata<K: Resource>(object: &mut K) {
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

/// A pod's specification: the Deployment has it.
pub(super) fn pod(pod: &mut Pod) {
    let (created, deleted) = (pod.metadata.creation_timestamp.take(), pod.metadata.deletion_timestamp.take());
    metadata(pod);
    pod.metadata.creation_timestamp = created;
    pod.metadata.deletion_timestamp = deleted;
    pod.spec = None;
}
