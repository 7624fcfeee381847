//! Describes the pod of a Job for the status of its Index.

use k8s_openapi::api::core::v1::Pod;

use crate::names::CONTAINER;
use crate::pod;

/// The last output of a container that ended.
pub fn last_words(pod: &Pod) -> Option<String> {
    let statuses = pod.status.as_ref()?.container_statuses.as_deref().unwrap_or_default();
    let ended = statuses.iter().find(|status| status.name == CONTAINER)?.state.as_ref()?.terminated.as_ref()?;
    if ended.reason.as_deref() == Some("OOMKilled") {
        return Some(
            "the pod exceeded its memory limit and was killed: raise resources.limits.memory of the Index".to_owned(),
        );
    }
    ended.message.as_deref().map(pod::last_message)
}
