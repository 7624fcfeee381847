//! Describes the pod of a Job for the status of its Index.

use k8s_openapi::api::core::v1::Pod;
use ragengine_operator_api::Reason;

use crate::finding::Finding;
use crate::names::CONTAINER;
use crate::pod;
use crate::warnings::Warning;

/// Why the pod cannot run, if so.
pub fn obstacle(pod: &Pod, warnings: &[Warning]) -> Option<Finding> {
    let found = pod::obstacle(pod, warnings)?;
    Some(match found.reason {
        Reason::ImagePullFailed => {
            Finding::new(found.reason, format!("the Job uses the RAGEngine's image: {}", found.message))
        }
        _ => found,
    })
}

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
