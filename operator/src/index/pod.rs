//! What the pod of a Job says of itself.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use ragengine_operator_api::Reason;

use crate::names::CONTAINER;
use crate::rag_engine::status::Finding;
use crate::rag_engine::status::pod;
use crate::warnings::Warning;

pub use pod::has_begun;

/// The pod of a Job.
pub fn of<'a>(pods: &'a [Arc<Pod>], job: &Job) -> Option<&'a Pod> {
    let is_its = |pod: &&Arc<Pod>| {
        let owners = pod.metadata.owner_references.as_deref().unwrap_or_default();
        owners.iter().any(|owner| Some(&owner.uid) == job.metadata.uid.as_ref())
    };
    pods.iter().filter(is_its).max_by_key(|pod| &pod.metadata.creation_timestamp).map(Arc::as_ref)
}

/// Whether it may still be doing something.
pub fn is_alive(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    !matches!(phase, Some("Failed" | "Succeeded"))
}

/// Why it does not get to run.
pub fn obstacle(pod: &Pod, warnings: &[Warning]) -> Option<Finding> {
    let found = pod::obstacle(pod, warnings)?;
    Some(match found.reason {
        Reason::ImagePullFailed => {
            Finding::new(found.reason, format!("the RAGEngine's own image is used: {}", found.message))
        }
        _ => found,
    })
}

/// What its program said last.
pub fn last_words(pod: &Pod) -> Option<String> {
    let statuses = pod.status.as_ref()?.container_statuses.as_deref().unwrap_or_default();
    let ended = statuses.iter().find(|status| status.name == CONTAINER)?.state.as_ref()?.terminated.as_ref()?;
    if ended.reason.as_deref() == Some("OOMKilled") {
        return Some(
            "it needed more memory than resources.limits.memory of the Index and was killed: raise it".to_owned(),
        );
    }
    ended.message.as_deref().map(pod::last_message)
}
