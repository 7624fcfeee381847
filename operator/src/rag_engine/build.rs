//! The objects that a RAGEngine comes down to, one file for each. Pure: the same specification always gives the same objects.

mod claim;
mod config_map;
mod deployment;
mod egress;
mod network_policy;
mod service;
mod write_token;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::Serialize;
pub use write_token::{WriteToken, secret};

use super::monitoring::Monitoring;
use super::observe::Observed;
use super::validate::Validated;
use crate::defaults::Defaults;
use crate::error::BuildError;
use crate::names::Identity;

/// The annotation with the hash of the settings: another one rolls the pod.
pub const SETTINGS_HASH: &str = "ragengine.dev/settings-hash";
/// The annotation with the hash of the versions of the content of all that the pod refers to. Earlier versions of the operator have hashed other
/// versions, in an annotation of another name.
pub const REFERENCES_HASH: &str = "ragengine.dev/references-content-hash";

/// Every object that is asked for.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Desired {
    /// The settings file. None when a server runs that is left alone: it would read at its next start what its pod is not made for.
    pub config_map: Option<ConfigMap>,
    /// Who the pod is to Kubernetes: nobody.
    pub service_account: ServiceAccount,
    /// Its address.
    pub service: Service,
    /// The write token's Secret, where writes need it.
    pub write_token: Option<WriteToken>,
    /// The claim that is made, where one is asked for.
    pub claim: Option<PersistentVolumeClaim>,
    /// Who may reach it, where that is asked for.
    pub network_policy: Option<NetworkPolicy>,
    /// What the Jobs of its Indexes may reach, where that is asked for.
    pub sync_network_policy: Option<NetworkPolicy>,
    /// The server. None when what it refers to is missing: one that runs is left alone, one that does not could not start.
    pub deployment: Option<Deployment>,
}

/// Builds every object.
///
/// # Errors
///
/// [`BuildError`] when the settings cannot be written, which no specification is known to cause.
pub fn build(validated: &Validated, observed: &Observed, defaults: &Defaults) -> Result<Desired, BuildError> {
    let config_map = config_map::config_map(validated)?;
    let deployment = deployment::deployment(validated, observed, &config_map);
    let kept = observed.deployment.as_deref().filter(|live| deployment.is_none() && runs(live));
    // It is reached and asked where it listens, whatever the specification says by now.
    let monitoring = kept.map_or(validated.monitoring, Monitoring::of_running);
    Ok(Desired {
        config_map: (kept.is_none() || observed.config_map.is_none()).then_some(config_map),
        service_account: service::service_account(&validated.identity),
        service: service::service(&validated.identity, monitoring),
        write_token: write_token::write_token(validated),
        claim: claim::claim(validated, observed.claim.as_deref()),
        network_policy: network_policy::network_policy(validated, monitoring, defaults),
        sync_network_policy: network_policy::of_synchronisations(validated),
        deployment,
    })
}

/// Whether a Deployment is to have a pod.
pub(super) fn runs(deployment: &Deployment) -> bool {
    deployment.spec.as_ref().is_some_and(|spec| spec.replicas != Some(0))
}

/// How its pods are selected.
fn selector(identity: &Identity) -> LabelSelector {
    LabelSelector { match_labels: Some(identity.selector()), match_expressions: None }
}
