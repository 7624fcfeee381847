use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus, Pod};
use ragengine_operator_api::Reason;

use crate::finding::{Finding, unended};
use crate::names::CONTAINER;
use crate::pod::{PodOf, last_message, living, statuses, unschedulable, waiting, warned};
use crate::rag_engine::observe::Observed;

/// The exit code of a process that SIGKILL ended.
const KILLED: i32 = 137;

/// Why a pod cannot serve. The youngest that cannot tells of the last change.
pub fn problem(observed: &Observed) -> Option<Finding> {
    living(&observed.pods).into_iter().find_map(|pod| problem_of(pod, observed))
}

fn problem_of(pod: &Pod, observed: &Observed) -> Option<Finding> {
    let of = PodOf::Server;
    unschedulable(pod, of)
        .or_else(|| statuses(pod).find_map(|status| waiting(status, of).or_else(|| crashing(pod, status, observed))))
        .or_else(|| warned(pod, of, &observed.warnings))
}

/// A container that terminated and is not ready again. It counts as failed while it restarts.
fn crashing(pod: &Pod, status: &ContainerStatus, observed: &Observed) -> Option<Finding> {
    let ended = |state: &Option<ContainerState>| state.as_ref()?.terminated.clone();
    // An init container that finished its work has terminated too.
    let is_failure = |end: &ContainerStateTerminated| end.exit_code != 0 || status.name == CONTAINER;
    let end = ended(&status.state).or_else(|| ended(&status.last_state)).filter(is_failure)?;
    (!status.ready).then(|| Finding::new(Reason::PodCrashing, last_words(&end, pod, status, observed)))
}

fn last_words(end: &ContainerStateTerminated, pod: &Pod, status: &ContainerStatus, observed: &Observed) -> String {
    let is_running = status.state.as_ref().is_some_and(|state| state.running.is_some());
    let times = match status.restart_count + i32::from(!is_running) {
        ..=1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    if end.reason.as_deref() == Some("OOMKilled") {
        let limit = memory_limit(&status.name, observed).map_or_else(String::new, |limit| format!(" of {limit}"));
        let place = match status.name.as_str() {
            CONTAINER => "resources.limits.memory",
            _ => "the memory limit of this container in podTemplate",
        };
        return format!(
            "the container {} exceeded its memory limit{limit} and was killed {times}: raise {place}",
            status.name
        );
    }
    let ended = match end.exit_code {
        KILLED => format!("was killed (exit code {KILLED}, {times})"),
        code => format!("ended with exit code {code} ({times})"),
    };
    let output = end.message.as_deref().filter(|message| !message.trim().is_empty()).map(last_message);
    let container = match status.name.as_str() {
        CONTAINER => String::new(),
        other => format!(" --container {other}"),
    };
    // The Deployment's name would stand for any of several pods.
    let pod = pod.metadata.name.as_deref().unwrap_or_default();
    let (said, more) = match output {
        Some(output) => (format!(". Its last output: {}", unended(&output)), String::new()),
        // The events may say who killed it.
        None => (" without a message".to_owned(), format!(" and kubectl describe pod {pod}")),
    };
    format!("the container {} {ended}{said}. See kubectl logs {pod}{container} --previous{more}", status.name)
}

/// The effective memory limit, including changes by podTemplate.
fn memory_limit<'a>(container: &str, observed: &'a Observed) -> Option<&'a str> {
    let pod = observed.deployment.as_ref()?.spec.as_ref()?.template.spec.as_ref()?;
    let containers = pod.containers.iter().chain(pod.init_containers.iter().flatten());
    let resources = containers.into_iter().find(|found| found.name == container)?.resources.as_ref()?;
    Some(resources.limits.as_ref()?.get("memory")?.0.as_str())
}
