//! Builds the objects of a RAGEngine, one file for each kind. Pure functions: the same input always gives the same
//! objects.

mod auth;
mod backup;
mod claim;
mod config_map;
mod deployment;
mod egress;
mod network_policy;
mod node_claims;
mod outside;
mod scaling;
mod service;
mod write_token;

pub use backup::LATEST_END_S;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::Serialize;
pub use write_token::{WriteToken, secret};

use super::monitoring::Monitoring;
use super::observe::Observed;
use super::validate::Validated;
use crate::defaults::Defaults;
use crate::error::BuildError;
use crate::gateway::HttpRoute;
use crate::karpenter::NodeClaim;
use crate::names::Identity;
use crate::scheme::Scheme;

/// The pod annotation with the hash of the settings. A new value triggers a rollout.
pub const SETTINGS_HASH: &str = "ragengine.dev/settings-hash";
/// The pod annotation with the hash of the content versions of all referenced objects. Earlier versions of the operator
/// used another annotation with other hashes.
pub const REFERENCES_HASH: &str = "ragengine.dev/references-content-hash";

/// The annotation of a Deployment whose number of pods is the autoscaler's.
pub const AUTOSCALED: &str = "ragengine.dev/autoscaled";

/// The desired objects.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Desired {
    /// The settings file. `None` while a running server must not be changed: it would read new settings at its next
    /// start that its pod does not fit.
    pub config_map: Option<ConfigMap>,
    /// The rules of indexes and the keys of the cluster's issuer, if callers must prove who they are.
    pub auth: Option<ConfigMap>,
    /// The pod's ServiceAccount, which has no permissions.
    pub service_account: ServiceAccount,
    /// The Service of the server.
    pub service: Service,
    /// The Ingress of the Service, if requested.
    pub ingress: Option<Ingress>,
    /// The HTTPRoute of the Service, if requested and the cluster has the Gateway API.
    pub http_route: Option<HttpRoute>,
    /// The Secret with the write token, if writes need one.
    pub write_token: Option<WriteToken>,
    /// The NodeClaims, if the specification asks for a machine type and the operator makes nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub node_claims: Vec<NodeClaim>,
    /// The claim, if the specification requests one.
    pub claim: Option<PersistentVolumeClaim>,
    /// The NetworkPolicy of the server, if requested.
    pub network_policy: Option<NetworkPolicy>,
    /// The NetworkPolicy of the Jobs of its Indexes, if requested.
    pub sync_network_policy: Option<NetworkPolicy>,
    /// The autoscaler of the Deployment, if requested.
    pub autoscaler: Option<HorizontalPodAutoscaler>,
    /// The disruption budget of the pods, if there can be several.
    pub disruption_budget: Option<PodDisruptionBudget>,
    /// The ConfigMap with the task of backups, if requested.
    pub backup_task: Option<ConfigMap>,
    /// The CronJob of backups, if requested.
    pub backup: Option<CronJob>,
    /// The Deployment. `None` while something it refers to is missing: a running server is not changed then, and a new
    /// one could not start.
    pub deployment: Option<Deployment>,
}

/// Builds all objects.
///
/// # Errors
///
/// [`BuildError`] when the settings cannot be serialised. No specification is known to cause this.
pub fn build(validated: &Validated, observed: &Observed, defaults: &Defaults) -> Result<Desired, BuildError> {
    let config_map = config_map::config_map(validated, observed)?;
    let deployment = deployment::deployment(validated, observed, &config_map);
    let kept = observed.deployment.as_deref().filter(|live| deployment.is_none() && runs(live));
    // A server that is kept still uses the listener that its pod was created with.
    let monitoring = kept.map_or(validated.monitoring, Monitoring::of_running);
    let (backup_task, backup) = backup::backup(validated, observed, defaults)?;
    let scheme = kept.map_or(Scheme::of(&validated.spec), Scheme::of_running);
    Ok(Desired {
        config_map: (kept.is_none() || observed.config_map.is_none()).then_some(config_map),
        auth: auth::auth(validated, observed, defaults)?,
        service_account: service::service_account(&validated.identity),
        service: service::service(&validated.identity, monitoring, scheme),
        ingress: outside::ingress(validated),
        http_route: outside::http_route(validated, observed),
        write_token: write_token::write_token(validated),
        node_claims: node_claims::node_claims(validated, observed, defaults),
        claim: claim::claim(validated, observed.claim.as_deref()),
        network_policy: network_policy::network_policy(validated, monitoring, defaults),
        sync_network_policy: network_policy::of_synchronisations(validated),
        autoscaler: scaling::autoscaler(validated),
        disruption_budget: scaling::disruption_budget(validated),
        backup_task,
        backup,
        deployment,
    })
}

/// Whether a Deployment has replicas.
pub(super) fn runs(deployment: &Deployment) -> bool {
    deployment.spec.as_ref().is_some_and(|spec| spec.replicas != Some(0))
}

/// Whether the pods of a Deployment mount a ConfigMap.
pub(super) fn mounts(deployment: &Deployment, config_map: &str) -> bool {
    let pod = deployment.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    let mut volumes = pod.into_iter().flat_map(|pod| pod.volumes.iter().flatten());
    volumes.any(|volume| volume.config_map.as_ref().is_some_and(|mounted| mounted.name == config_map))
}

/// The selector of the server's pods.
fn selector(identity: &Identity) -> LabelSelector {
    LabelSelector { match_labels: Some(identity.selector()), match_expressions: None }
}
