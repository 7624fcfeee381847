use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus};
use ragengine_operator_api::Reason;

use crate::finding::Finding;
use crate::names::CONTAINER;
use crate::pod::{current, last_message, statuses, unschedulable, waiting, warned};
use crate::rag_engine::observe::Observed;

/// Why the current pod does not get to serve.
pub fn problem(observed: &Observed) -> Option<Finding> {
    let pod = current(&observed.pods)?;
    unschedulable(pod)
        .or_else(|| statuses(pod).find_map(|status| waiting(status).or_else(|| crashing(status, observed))))
        .or_else(|| warned(pod, &observed.warnings))
}

/// A server that has ended and is not ready again. While it starts once more it is not taken for well.
fn crashing(status: &ContainerStatus, observed: &Observed) -> Option<Finding> {
    let ended = |state: &Option<ContainerState>| state.as_ref()?.terminated.clone();
    // An init container that has done its work has ended too.
    let is_failure = |end: &ContainerStateTerminated| end.exit_code != 0 || status.name == CONTAINER;
    let end = ended(&status.state).or_else(|| ended(&status.last_state)).filter(is_failure)?;
    (!status.ready).then(|| Finding::new(Reason::PodCrashing, last_words(&end, status, observed)))
}

fn last_words(end: &ContainerStateTerminated, status: &ContainerStatus, observed: &Observed) -> String {
    let is_running = status.state.as_ref().is_some_and(|state| state.running.is_some());
    let times = match status.restart_count + i32::from(!is_running) {
        ..=1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    if end.reason.as_deref() == Some("OOMKilled") {
        let limit = memory_limit(&status.name, observed).unwrap_or("there is");
        let place = if status.name == CONTAINER { "resources.limits.memory" } else { "its limit in podTemplate" };
        return format!(
            "the container {} needed more memory than {limit} and was killed, {times}: raise {place}",
            status.name
        );
    }
    let said = end.message.as_deref().unwrap_or_default();
    format!(
        "the container {} ended with exit code {}, {times}; it said last: {}",
        status.name,
        end.exit_code,
        last_message(said)
    )
}

/// With what a podTemplate makes of it.
fn memory_limit<'a>(container: &str, observed: &'a Observed) -> Option<&'a str> {
    let pod = observed.deployment.as_ref()?.spec.as_ref()?.template.spec.as_ref()?;
    let containers = pod.containers.iter().chain(pod.init_containers.iter().flatten());
    let resources = containers.into_iter().find(|found| found.name == container)?.resources.as_ref()?;
    Some(resources.limits.as_ref()?.get("memory")?.0.as_str())
}
