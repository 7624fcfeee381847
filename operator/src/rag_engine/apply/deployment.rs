//! The Deployment, whose number of pods can be the autoscaler's.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use crate::apply::{ApplyError, ApplyOutcome, Writer, classify, described};
use crate::rag_engine::build::AUTOSCALED;
use crate::requests::within_limit;

/// The field manager of the number of pods, from when the operator no longer says it until the autoscaler does.
const BETWEEN: &str = "ragengine-operator-replicas";

/// Applies a Deployment. One that does not say the number of pods keeps the one that it has.
pub(super) async fn deployment(
    writer: &Writer<'_>,
    desired: Deployment,
    live: Option<Arc<Deployment>>,
) -> ApplyOutcome<Deployment> {
    if let Some((found, number)) = live.as_deref().and_then(|live| Some((live, number_to_keep(&desired, live)?)))
        && writer.identity.made(&found.metadata)
        && (number_of(found) == 0 || !writer.is_sent(&desired, Some(found)))
        && let Err(error) = keep(writer, found, number).await
    {
        return ApplyOutcome { live, result: Err(error) };
    }
    writer.apply(desired, live).await
}

/// The number of pods that another field manager has to say before the operator stops saying it: the API server would
/// set the default, 1. An autoscaler does not start a Deployment without pods.
fn number_to_keep(desired: &Deployment, live: &Deployment) -> Option<i32> {
    let says_none = desired.spec.as_ref().is_some_and(|spec| spec.replicas.is_none());
    let is_scaled = live.metadata.annotations.as_ref().is_some_and(|found| found.contains_key(AUTOSCALED));
    let number = number_of(live);
    (says_none && (number == 0 || !is_scaled)).then_some(number.max(1))
}

fn number_of(deployment: &Deployment) -> i32 {
    deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

async fn keep(writer: &Writer<'_>, live: &Deployment, number: i32) -> Result<(), ApplyError> {
    let name = &writer.identity.name;
    let part = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        // The uid keeps this from making a Deployment.
        "metadata": {"name": name, "uid": live.metadata.uid},
        "spec": {"replicas": number},
    });
    let deployments: Api<Deployment> = Api::namespaced(writer.client.clone(), &writer.identity.namespace);
    let parameters = PatchParams::apply(BETWEEN).force();
    let kept = within_limit(deployments.patch(name, &parameters, &Patch::Apply(part))).await;
    kept.map(drop).map_err(|error| classify(described::<Deployment>(name), error))
}
