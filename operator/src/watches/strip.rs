//! What of an object is not kept: it is not looked at, and there may be thousands.

use k8s_openapi::api::apps::v1::Deployment;
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

/// All but what names an object, and its version: what is read of objects that others have made, of which there may be many.
pub(super) fn version<K: Resource>(object: &mut K) {
    metadata(object);
    object.meta_mut().labels = None;
    object.meta_mut().owner_references = None;
}

/// The lists of a Deployment's pod are read into room for twice as many or more, and a volume alone has some 2 KiB.
pub(super) fn deployment(deployment: &mut Deployment) {
    managed_fields(deployment);
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

/// A pod's specification: the Deployment has it.
pub(super) fn pod(pod: &mut Pod) {
    let (created, deleted) = (pod.metadata.creation_timestamp.take(), pod.metadata.deletion_timestamp.take());
    metadata(pod);
    pod.metadata.creation_timestamp = created;
    pod.metadata.deletion_timestamp = deleted;
    pod.spec = None;
}
