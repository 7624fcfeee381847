use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::ObjectMeta;
use ragengine_operator_api::{RagEngineSpec, Volume};

use super::{AUTOSCALED, REFERENCES_HASH, SETTINGS_HASH, selector};
use crate::hash::hash;
use crate::names::NODE_OF;
use crate::rag_engine::nodes::{Provider, instance_type};
use crate::rag_engine::observe::{Observed, ObservedReference};
use crate::rag_engine::settings::has_modes;
use crate::rag_engine::validate::Validated;

/// The Deployment. `None` if the pod cannot be built because a referenced object is missing, the template is invalid, or
/// the settings need the name of the cluster's issuer, which is not known yet. Stopping a server needs none of these.
pub(super) fn deployment(validated: &Validated, observed: &Observed, settings: &ConfigMap) -> Option<Deployment> {
    let has_issuer = !has_modes(&validated.spec) || observed.issuer().is_some();
    let is_possible = validated.wrong_template.is_none() && observed.has_all() && has_issuer;
    let is_to_be_stopped = validated.spec.replicas == 0 && observed.deployment.is_some();
    if !is_possible && !is_to_be_stopped {
        return None;
    }
    let identity = &validated.identity;
    let mut pod = validated.pod.clone();
    let annotations = pod.metadata.get_or_insert_default().annotations.get_or_insert_default();
    annotations.extend(hashes(settings, &observed.references));
    if let (Some(spec), Provider::Karpenter(_)) = (&mut pod.spec, &observed.nodes.provider)
        && instance_type(&validated.spec).is_some()
    {
        spec.node_selector.get_or_insert_default().insert(NODE_OF.to_owned(), identity.uid.clone());
    }
    let is_scaled = validated.spec.autoscaling().is_some();
    let annotations = is_scaled.then(|| BTreeMap::from([(AUTOSCALED.to_owned(), "true".to_owned())]));
    Some(Deployment {
        metadata: ObjectMeta { annotations, ..identity.owned(&identity.name) },
        spec: Some(DeploymentSpec {
            replicas: (!is_scaled).then(|| i32::try_from(validated.spec.replicas).unwrap_or(i32::MAX)),
            selector: selector(identity),
            strategy: Some(strategy(&validated.spec)),
            revision_history_limit: Some(2),
            template: pod,
            ..DeploymentSpec::default()
        }),
        status: None,
    })
}

/// Two pods must not use the data folder at the same time. Pods that keep nothing are replaced one after the other, and
/// the next one serves before the previous one stops.
fn strategy(spec: &RagEngineSpec) -> DeploymentStrategy {
    let has_volume = spec.storage.as_ref().is_some_and(|storage| storage.volume() != Volume::Ephemeral);
    if !spec.is_external() || has_volume {
        return DeploymentStrategy { type_: Some("Recreate".to_owned()), rolling_update: None };
    }
    DeploymentStrategy {
        type_: Some("RollingUpdate".to_owned()),
        rolling_update: Some(RollingUpdateDeployment {
            max_surge: Some(IntOrString::Int(1)),
            max_unavailable: Some(IntOrString::Int(0)),
        }),
    }
}

/// Hashes whose change triggers a rollout.
fn hashes(settings: &ConfigMap, references: &[ObservedReference]) -> BTreeMap<String, String> {
    let mut hashes = BTreeMap::from([(SETTINGS_HASH.to_owned(), hash(&settings.data))]);
    let restarting: Vec<_> = references.iter().filter(|seen| !seen.reference.is_reread).collect();
    if !restarting.is_empty() {
        hashes.insert(REFERENCES_HASH.to_owned(), hash(&restarting));
    }
    hashes
}
