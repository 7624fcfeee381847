//! Reads the state of a pod of the server or of a Job.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};
use ragengine_operator_api::Reason;

use crate::finding::{Finding, unended};
use crate::names::CONTAINER;
use crate::warnings::Warning;

/// The maximum length of a container's last output in a message, in characters.
const MAX_LAST_WORDS: usize = 600;
/// The maximum number of lines of it.
const MAX_LAST_LINES: usize = 12;

/// Whose pod a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodOf<'a> {
    /// The server of a RAGEngine.
    Server,
    /// The Job of this name, of an Index.
    Job(&'a str),
    /// The Job of this name, of the backups of a RAGEngine.
    Backup(&'a str),
}

impl fmt::Display for PodOf<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server => Ok(()),
            Self::Job(name) | Self::Backup(name) => write!(formatter, " of Job {name}"),
        }
    }
}

impl PodOf<'_> {
    /// Of which resource the fields are that a message names.
    fn resource(self) -> &'static str {
        match self {
            Self::Server | Self::Backup(_) => "",
            Self::Job(_) => " of the RAGEngine",
        }
    }
}

/// The pods that count, the youngest first: those that are neither being deleted nor have ended. If all have ended, such
/// as an evicted one, the youngest of these.
pub fn living(pods: &[Arc<Pod>]) -> Vec<&Pod> {
    let kept = pods.iter().map(Arc::as_ref).filter(|pod| pod.metadata.deletion_timestamp.is_none());
    let (mut ended, mut living): (Vec<_>, Vec<_>) = kept.partition(|pod| has_ended(pod));
    let age = |pod: &&Pod| (pod.metadata.creation_timestamp.clone(), pod.metadata.name.clone());
    living.sort_by_cached_key(|pod| std::cmp::Reverse(age(pod)));
    if living.is_empty() {
        living.extend(ended.drain(..).max_by_key(age));
    }
    living
}

/// The current pod: the youngest that counts.
pub fn current(pods: &[Arc<Pod>]) -> Option<&Pod> {
    living(pods).first().copied()
}

/// The pod whose server is asked for its status: the oldest that is ready, so that a new one changes nothing, else the
/// youngest.
pub fn asked(pods: &[Arc<Pod>]) -> Option<&Pod> {
    let living = living(pods);
    living.iter().rev().find(|pod| is_ready(pod)).or(living.first()).copied()
}

/// The name of the pod's node, once it has one.
pub fn node(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

/// Whether the pod gets requests.
pub fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// The youngest pod of a Job.
pub fn of_job<'a>(pods: &'a [Arc<Pod>], job: &Job) -> Option<&'a Pod> {
    let is_of_job = |pod: &&Arc<Pod>| {
        let owners = pod.metadata.owner_references.as_deref().unwrap_or_default();
        owners.iter().any(|owner| Some(&owner.uid) == job.metadata.uid.as_ref())
    };
    pods.iter().filter(is_of_job).max_by_key(|pod| &pod.metadata.creation_timestamp).map(Arc::as_ref)
}

/// Whether the pod may still be running.
pub fn is_alive(pod: &Pod) -> bool {
    !has_ended(pod)
}

fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Failed" | "Succeeded"))
}

/// Whether the main container has started, even if it has ended since.
pub fn has_begun(pod: &Pod) -> bool {
    server(pod).is_some_and(|status| {
        status.restart_count > 0
            || status.state.as_ref().is_some_and(|state| state.running.is_some() || state.terminated.is_some())
    })
}

/// The statuses of its containers, init containers first.
pub fn statuses(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    let status = pod.status.as_ref();
    let of = |statuses: fn(&_) -> &Option<Vec<ContainerStatus>>| {
        status.into_iter().flat_map(move |status| statuses(status).iter().flatten())
    };
    of(|status: &PodStatus| &status.init_container_statuses).chain(of(|status: &PodStatus| &status.container_statuses))
}

fn server(pod: &Pod) -> Option<&ContainerStatus> {
    statuses(pod).find(|status| status.name == CONTAINER)
}

/// The problem that keeps a pod from starting, if any.
pub fn obstacle(pod: &Pod, of: PodOf<'_>, warnings: &[Warning]) -> Option<Finding> {
    unschedulable(pod, of)
        .or_else(|| statuses(pod).find_map(|status| waiting(status, of)))
        .or_else(|| warned(pod, of, warnings))
}

/// The finding that no node can run the pod.
pub fn unschedulable(pod: &Pod, of: PodOf<'_>) -> Option<Finding> {
    let conditions = pod.status.as_ref()?.conditions.as_deref().unwrap_or_default();
    let scheduled = conditions.iter().find(|condition| condition.type_ == "PodScheduled")?;
    let is_refused = scheduled.status == "False" && scheduled.reason.as_deref() == Some("Unschedulable");
    is_refused.then(|| {
        let message = scheduled.message.as_deref().unwrap_or("Kubernetes gives no reason");
        let advice = match of {
            PodOf::Server => "Lower resources.requests, or check the node selector and the taints",
            PodOf::Job(_) => "Lower resources.requests of the Index, or check the node selector and the taints",
            PodOf::Backup(_) => {
                "Check the node selector and the taints. It runs on the node of the server where both mount the same claim"
            }
        };
        Finding::new(
            Reason::PodUnschedulable,
            format!("no node can run the pod{of}: {}. {advice}", unended(message)),
        )
    })
}

/// The finding that Kubernetes cannot start a container.
pub fn waiting(status: &ContainerStatus, of: PodOf<'_>) -> Option<Finding> {
    let waiting = status.state.as_ref()?.waiting.as_ref()?;
    let message = unended(waiting.message.as_deref().unwrap_or("Kubernetes gives no reason"));
    let of_resource = of.resource();
    match waiting.reason.as_deref()? {
        "ErrImagePull" | "ImagePullBackOff" | "InvalidImageName" | "ErrImageNeverPull" | "ImageInspectError" => {
            Some(Finding::new(
                Reason::ImagePullFailed,
                format!(
                    "the image {}{of} cannot be pulled: {message}. \
                     Correct spec.image{of_resource} or the chart value serverImage, \
                     or add a Secret to podTemplate.spec.imagePullSecrets{of_resource}",
                    status.image
                ),
            ))
        }
        "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" => {
            let reason = container_refused(message);
            let advice = match reason {
                Reason::SecretKeyMissing => "Add the key to the Secret".to_owned(),
                _ => format!("Check podTemplate{of_resource}"),
            };
            let name = &status.name;
            Some(Finding::new(reason, format!("the container {name}{of} cannot be started: {message}. {advice}")))
        }
        _ => None,
    }
}

/// Kubernetes reports a missing key of a Secret only in the message.
fn container_refused(message: &str) -> Reason {
    if message.contains("find key") && message.contains("in Secret") {
        Reason::SecretKeyMissing
    } else {
        Reason::ContainerNotStarted
    }
}

/// The last message in a log: the last line if it is JSON, otherwise all lines after the last JSON line, which belong
/// together.
pub fn last_message(log: &str) -> String {
    let lines: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_json = |line: &&&str| line.starts_with('{');
    let text = match lines.last() {
        None => "nothing".to_owned(),
        Some(last) if last.starts_with('{') => in_words(last),
        Some(_) => {
            let behind = lines.iter().rev().take_while(|line| !is_json(line)).count().min(MAX_LAST_LINES);
            lines[lines.len() - behind..].join(" ")
        }
    };
    text.chars().take(MAX_LAST_WORDS).collect()
}

/// The message and the error of a JSON line of the server's log.
fn in_words(line: &str) -> String {
    let Ok(fields) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line) else {
        return line.to_owned();
    };
    let parts: Vec<&str> =
        ["message", "error", "reason"].iter().filter_map(|name| fields.get(*name)?.as_str()).collect();
    if parts.is_empty() { line.to_owned() } else { parts.join(": ") }
}

/// The problem that only the events of a pod show: a missing key of a Secret, or a volume that cannot be mounted.
pub fn warned(pod: &Pod, of: PodOf<'_>, warnings: &[Warning]) -> Option<Finding> {
    let warnings = warnings.iter().filter(|warning| Some(&warning.uid) == pod.metadata.uid.as_ref());
    let warning = warnings.rev().find(|warning| {
        ["FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox"]
            .contains(&warning.reason.as_str())
    })?;
    // A new Secret may not have reached the node yet.
    if warning.message.contains("failed to sync") || has_begun(pod) {
        return None;
    }
    let (reason, advice) = if warning.message.contains("non-existent secret key") {
        (Reason::SecretKeyMissing, ". Add the key to the Secret")
    } else if warning.reason == "FailedCreatePodSandBox" {
        (Reason::VolumeNotMounted, "")
    } else {
        (Reason::VolumeNotMounted, ". Check that the volume exists and that no other node holds it")
    };
    Some(Finding::new(reason, format!("the pod{of} cannot be set up: {}{advice}", unended(&warning.message))))
}
