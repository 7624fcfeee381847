use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
use ragengine_client::wire::ProblemKind;
use ragengine_operator_api::Reason;

use super::step::{Clients, Step};
use crate::finding::{Finding, quoted};
use crate::pod;
use crate::rag_engine::observe::Observed;

/// The number of pods, ready or not, and that of those which are ready.
pub(super) fn replicas(deployment: Option<&Deployment>) -> (u32, u32) {
    let status = deployment.and_then(|deployment| deployment.status.as_ref());
    let of = |count: fn(&DeploymentStatus) -> Option<i32>| status.map_or(0, |status| number(count(status)));
    (of(|status| status.replicas), of(|status| status.ready_replicas))
}

fn number(count: Option<i32>) -> u32 {
    count.and_then(|count| u32::try_from(count).ok()).unwrap_or(0)
}

/// A pod that Kubernetes refuses to create, for example because of a quota or the namespace's pod security level.
pub(super) fn problem(deployment: Option<&Deployment>) -> Option<Finding> {
    let conditions = deployment?.status.as_ref()?.conditions.as_deref().unwrap_or_default();
    let failure =
        conditions.iter().find(|condition| condition.type_ == "ReplicaFailure" && condition.status == "True")?;
    let message = failure.message.as_deref().unwrap_or("Kubernetes gives no reason");
    Some(Finding::new(
        Reason::ObjectRefused,
        format!("Kubernetes refuses to create the pod, and tries again: {message}"),
    ))
}

/// Whether enough pods serve, of the current version or the previous one, and none of them stops before the next one
/// serves.
pub(super) fn is_served((least, _): (u32, u32), deployment: Option<&Deployment>) -> bool {
    let available = deployment.and_then(|deployment| deployment.status.as_ref()?.available_replicas);
    least > 0 && number(available) >= least && deployment.is_some_and(is_rolling)
}

/// The step of the rollout that is not finished, when no problem is known. An autoscaler changes the number of pods in
/// between.
pub(super) fn waiting(pods: (u32, u32), observed: &Observed) -> Option<Step> {
    let clients = if is_served(pods, observed.deployment.as_deref()) { Clients::Served } else { Clients::NotServed };
    if let Some(finding) = rolling_out(pods, observed) {
        return Some(Step { finding, clients });
    }
    // Only the server knows whether its language model is reachable.
    let is_unknown = pods.1 > 0 && observed.current_report().is_none();
    let message = "the pod is ready: waiting for the server's first status report";
    is_unknown.then(|| Step { finding: Finding::new(Reason::Starting, message), clients: Clients::AsBefore })
}

/// Why the pods are not those of the current version yet.
fn rolling_out((least, most): (u32, u32), observed: &Observed) -> Option<Finding> {
    let Some(deployment) = &observed.deployment else {
        return Some(Finding::new(Reason::RollingOut, "the pod has not been created yet"));
    };
    let none = DeploymentStatus::default();
    let status = deployment.status.as_ref().unwrap_or(&none);
    if status.observed_generation < deployment.metadata.generation {
        return Some(Finding::new(
            Reason::RollingOut,
            "the Deployment was changed: waiting until Kubernetes applies the change",
        ));
    }
    let (all, updated, available) =
        (number(status.replicas), number(status.updated_replicas), number(status.available_replicas));
    let has_several = available > 0 && most > 0 && (most > 1 || is_rolling(deployment));
    if has_several && (all > most || updated < all || available < least) {
        let message = format!(
            "pods of the current version: {updated} of {all}. Pods that serve requests: {available} of at least {least}"
        );
        return Some(Finding::new(Reason::RollingOut, message));
    }
    if all > most || updated < all {
        let pod = if most == 0 { "the pod" } else { "the previous pod" };
        let message = format!("waiting until {pod} has stopped: it finishes its running requests first");
        return Some(Finding::new(Reason::RollingOut, message));
    }
    if updated < least {
        return Some(Finding::new(Reason::RollingOut, "the pod has not been created yet"));
    }
    (available < least).then(|| starting(observed))
}

/// Whether a new pod serves before the previous one stops.
fn is_rolling(deployment: &Deployment) -> bool {
    let strategy = deployment.spec.as_ref().and_then(|spec| spec.strategy.as_ref()?.type_.as_deref());
    strategy == Some("RollingUpdate")
}

/// Why the pod is not ready yet, as far as the server reports it.
fn starting(observed: &Observed) -> Finding {
    let report = observed.answer();
    let loading = report.and_then(|report| {
        report
            .problems
            .iter()
            .find(|problem| matches!(problem.kind, ProblemKind::LoadingIndexes | ProblemKind::LoadingModel))
    });
    match (loading, pod::current(&observed.pods)) {
        (Some(problem), _) => {
            let what = if problem.kind == ProblemKind::LoadingModel { "the embedding model" } else { "its indexes" };
            Finding::new(Reason::Starting, format!("the server is loading {what}: {}", quoted(&problem.detail, 200)))
        }
        (None, Some(pod)) if pod::has_begun(pod) => {
            Finding::new(Reason::Starting, "the server is starting: its container runs and does not answer yet")
        }
        (None, Some(_)) => {
            Finding::new(Reason::Starting, "the pod is being set up: mounting volumes and pulling images")
        }
        (None, None) => Finding::new(Reason::RollingOut, "the pod has not been created yet"),
    }
}
