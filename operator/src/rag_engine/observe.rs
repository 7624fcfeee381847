//! Reads the existing objects from the watch caches, and the events of a pod or claim that is stuck.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, PartialObjectMeta};
use ragengine_client::wire::EngineStatus;
use ragengine_operator_api::RagEngine;
use serde::Serialize;

use super::backups::{self, ObservedBackups};
use super::nodes::{self, ObservedNodes};
use super::references::{Reference, ReferenceKind};
use super::settings::{KEYS_FILE, has_modes};
use super::validate::{SentSecret, Validated};
use crate::access_rules::{RulesByIndex, RulesInput, default_access, handed_over, rules_of};
use crate::cluster_issuer::{Issuer, Known};
use crate::context::Context;
use crate::deleted_index;
use crate::engine::{Report, Target};
use crate::error::Error;
use crate::finding::Invalid;
use crate::gateway::HttpRoute;
use crate::names::{Identity, TOKEN_ISSUER};
use crate::pod;
use crate::secret_use;
use crate::warnings::{self, Warning};
use crate::watches::{Referred, version};

/// Everything that a reconcile reads.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// The ConfigMap with the settings file.
    pub config_map: Option<Arc<ConfigMap>>,
    /// The ConfigMap with the rules of indexes and the keys of the cluster's issuer.
    pub auth: Option<Arc<ConfigMap>>,
    /// What the operator knows about the cluster's issuer of tokens.
    pub known_issuer: Known,
    /// The rules of the Indexes of this engine.
    pub rules: RulesByIndex,
    /// The ServiceAccount of the pod.
    pub service_account: Option<Arc<ServiceAccount>>,
    /// The Service of the server.
    pub service: Option<Arc<Service>>,
    /// The Ingress of the Service.
    pub ingress: Option<Arc<Ingress>>,
    /// The HTTPRoute of the Service.
    pub http_route: Option<Arc<HttpRoute>>,
    /// Whether the cluster has the Gateway API.
    pub has_gateways: bool,
    /// The Deployment of the server.
    pub deployment: Option<Arc<Deployment>>,
    /// The NetworkPolicy of the server's pod.
    pub network_policy: Option<Arc<NetworkPolicy>>,
    /// The NetworkPolicy of the Jobs of its Indexes.
    pub sync_network_policy: Option<Arc<NetworkPolicy>>,
    /// The autoscaler of the Deployment.
    pub autoscaler: Option<Arc<HorizontalPodAutoscaler>>,
    /// The disruption budget of the server's pods.
    pub disruption_budget: Option<Arc<PodDisruptionBudget>>,
    /// The objects of backups.
    pub backups: ObservedBackups,
    /// The claim that holds the data: created by the operator, or named in the specification.
    pub claim: Option<Arc<PersistentVolumeClaim>>,
    /// The metadata of the Secret with the write token.
    pub write_token: Option<Arc<PartialObjectMeta<Secret>>>,
    /// The Secrets and ConfigMaps that the pod refers to.
    pub references: Vec<ObservedReference>,
    /// The server's pods.
    pub pods: Vec<Arc<Pod>>,
    /// The last status report of the server.
    pub report: Option<Report>,
    /// Warning events about a pod or claim that is stuck.
    pub warnings: Vec<Warning>,
    /// The nodes that are made for the engine.
    pub nodes: ObservedNodes,
}

/// A Secret or ConfigMap that the pod refers to, and its current state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObservedReference {
    /// Serialised as text: `Secret llm`.
    #[serde(serialize_with = "in_words")]
    pub reference: Reference,
    /// Its version. `None`: it does not exist.
    pub version: Option<String>,
    /// Why it must not be used, if so.
    #[serde(skip)]
    pub refusal: Option<String>,
}

fn in_words<S: serde::Serializer>(reference: &Reference, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(reference)
}

impl Observed {
    /// The missing objects without which the pod cannot start.
    pub fn missing(&self) -> impl Iterator<Item = &Reference> {
        let missing = self.references.iter().filter(|seen| seen.version.is_none() && !seen.reference.is_optional);
        missing.map(|seen| &seen.reference)
    }

    /// The cluster's issuer: as it was read last, else as it was handed over before the operator was restarted.
    pub fn issuer(&self) -> Option<Arc<Issuer>> {
        self.known_issuer.issuer.clone().or_else(|| {
            let handed_over = self.auth.as_deref()?;
            let name = handed_over.metadata.annotations.as_ref()?.get(TOKEN_ISSUER)?.clone();
            let keys = handed_over.data.as_ref()?.get(KEYS_FILE)?.clone();
            Some(Arc::new(Issuer { name, keys }))
        })
    }

    /// The policy of guardrails that does not exist, if so.
    pub fn missing_policy(&self) -> Option<&Reference> {
        let references = self.references.iter().filter(|seen| seen.version.is_none()).map(|seen| &seen.reference);
        references.into_iter().find(|reference| reference.is_reread && reference.kind == ReferenceKind::ConfigMap)
    }

    /// Whether all referenced objects exist and may be used.
    pub fn has_all(&self) -> bool {
        self.missing().next().is_none() && self.references.iter().all(|seen| seen.refusal.is_none())
    }

    /// The address of a server that can be asked, once its container has started.
    pub fn target(&self) -> Option<Target> {
        Target::of(&self.pods)
    }

    /// The last report about the pod that is asked, successful or not.
    pub fn current_report(&self) -> Option<&Report> {
        let uid = pod::asked(&self.pods)?.metadata.uid.as_deref();
        self.report.as_ref().filter(|report| Some(report.pod_uid.as_str()) == uid)
    }

    /// The last status that the current server sent.
    pub fn answer(&self) -> Option<&EngineStatus> {
        self.current_report()?.answer.as_ref()
    }

    /// The last status of the server after it loaded its indexes.
    pub fn loaded_status(&self) -> Option<&EngineStatus> {
        self.answer().filter(|answer| answer.data_id.is_some())
    }
}

/// The objects whose changes trigger a reconcile of this RAGEngine.
pub fn referred(
    engine: &RagEngine,
    identity: &Identity,
    validated: Option<&Validated>,
) -> BTreeSet<(Referred, String)> {
    let references = validated.map_or(&[][..], |validated| &validated.references);
    let kind = |kind| match kind {
        ReferenceKind::Secret => Referred::Secret,
        ReferenceKind::ConfigMap => Referred::ConfigMap,
    };
    let claim = identity.claim_of(&engine.spec).map(|claim| (Referred::Claim, claim));
    let named = references.iter().map(|reference| (kind(reference.kind), reference.name.clone()));
    named
        .chain(claim)
        .chain(backups::referred(&engine.spec))
        .chain([(Referred::Secret, identity.write_token())])
        .collect()
}

/// Observes everything that belongs to a RAGEngine.
///
/// # Errors
///
/// The error of the API server when events or NodeClaims are listed.
pub async fn observe(
    context: &Context,
    engine: &RagEngine,
    validated: &Result<Validated, Invalid>,
) -> Result<Observed, Error> {
    let identity = Identity::of(engine);
    let mut observed = from_caches(context, engine, &identity, validated.as_ref().ok());
    observed.report = context.engines.report(&identity.uid);
    observed.known_issuer = context.cluster_issuer.known();
    if has_modes(&engine.spec) {
        let default = default_access(&engine.spec.auth);
        let left_behind = observed.loaded_status().map(|status| deleted_index::left_behind(context, engine, status));
        let handed_over = handed_over(observed.auth.as_deref());
        let (left_behind, handed_over) = (left_behind.as_ref(), &handed_over);
        let input = RulesInput { engine: &identity, default: &default, left_behind, handed_over };
        observed.rules = rules_of(input, &context.index_store.state());
    }
    observed.nodes = nodes::observe(context, engine).await.map_err(Error::Nodes)?;
    for uid in stuck(&observed, engine.spec.replicas) {
        observed.warnings.extend(warnings::of(&context.client, &identity.namespace, &uid).await);
    }
    Ok(observed)
}

fn from_caches(context: &Context, engine: &RagEngine, identity: &Identity, validated: Option<&Validated>) -> Observed {
    let (caches, namespace) = (&context.caches, &identity.namespace);
    let references = validated.map_or(&[][..], |validated| &validated.references);
    let sent = validated.map_or(&[][..], |validated| &validated.sent);
    Observed {
        config_map: caches.config_maps.get(namespace, &identity.settings()),
        auth: caches.config_maps.get(namespace, &identity.auth()),
        known_issuer: Known::default(),
        rules: RulesByIndex::new(),
        service_account: caches.service_accounts.get(namespace, &identity.name),
        service: caches.services.get(namespace, &identity.name),
        ingress: caches.ingresses.get(namespace, &identity.name),
        http_route: caches.http_routes.as_ref().and_then(|routes| routes.get(namespace, &identity.name)),
        has_gateways: caches.http_routes.is_some(),
        deployment: caches.deployments.get(namespace, &identity.name),
        network_policy: caches.network_policies.get(namespace, &identity.name),
        sync_network_policy: caches.network_policies.get(namespace, &identity.sync_policy()),
        autoscaler: caches.autoscalers.get(namespace, &identity.name),
        disruption_budget: caches.disruption_budgets.get(namespace, &identity.name),
        backups: backups::observe(caches, &engine.spec, identity),
        claim: identity.claim_of(&engine.spec).and_then(|claim| caches.claims.get(namespace, &claim)),
        write_token: caches.secrets.get(namespace, &identity.write_token()),
        references: references.iter().map(|reference| look_up(context, namespace, reference, sent)).collect(),
        pods: caches.pods_of(identity),
        report: None,
        warnings: Vec::new(),
        nodes: ObservedNodes::default(),
    }
}

fn look_up(context: &Context, namespace: &str, reference: &Reference, sent: &[SentSecret]) -> ObservedReference {
    let caches = &context.caches;
    let secret = caches.secrets.get(namespace, &reference.name).filter(|_| reference.kind == ReferenceKind::Secret);
    let is_sent = |sent: &&SentSecret| reference.kind == ReferenceKind::Secret && sent.name == reference.name;
    let refusal = secret.as_ref().and_then(|secret| {
        let mut uses = sent.iter().filter(is_sent);
        let is_of_operator = secret_use::is_of_operator(&reference.name, namespace, &context.defaults);
        let of_operator = is_of_operator.then(|| "it belongs to the operator".to_owned());
        let in_pod = of_operator.or_else(|| secret_use::refused_in_pod(&secret.metadata).map(str::to_owned));
        in_pod.or_else(|| uses.find_map(|sent| secret_use::refused_at(&secret.metadata, sent.host.as_deref())))
    });
    let version = match reference.kind {
        ReferenceKind::Secret => secret.map(|found| version(&found.metadata)),
        ReferenceKind::ConfigMap => {
            caches.config_map_versions.get(namespace, &reference.name).map(|found| version(&found.metadata))
        }
    };
    ObservedReference { reference: reference.clone(), version, refusal }
}

/// The uids of the objects whose events are worth a request: a pod of the server or of a backup whose container has not
/// started, and a claim that has no volume. A stopped engine has none.
pub fn stuck(observed: &Observed, replicas: u32) -> Vec<String> {
    waited_for(observed, replicas).filter_map(|metadata| metadata.uid.clone()).collect()
}

/// Since when the youngest of these objects is stuck.
pub fn stuck_since(observed: &Observed, replicas: u32) -> Option<Timestamp> {
    waited_for(observed, replicas).filter_map(|metadata| Some(metadata.creation_timestamp.as_ref()?.0)).max()
}

fn waited_for(observed: &Observed, replicas: u32) -> impl Iterator<Item = &ObjectMeta> {
    let pod = pod::living(&observed.pods).into_iter().find(|pod| !pod::has_begun(pod)).map(|pod| &pod.metadata);
    let is_pending = |claim: &&Arc<PersistentVolumeClaim>| {
        claim.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Pending"))
    };
    let claim = observed.claim.as_ref().filter(is_pending).map(|claim| &claim.metadata);
    let backup =
        observed.backups.running().filter_map(|(_, pod)| Some(&pod.filter(|pod| !pod::has_begun(pod))?.metadata));
    pod.into_iter().chain(claim).chain(backup).filter(move |_| replicas > 0)
}
