//! What is there: from the caches that the watches fill, and events where something does not get on.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, PartialObjectMeta};
use ragengine_client::wire::EngineStatus;
use ragengine_operator_api::RagEngine;
use serde::Serialize;

use super::references::{Reference, ReferenceKind};
use super::validate::{SentSecret, Validated};
use crate::context::Context;
use crate::engine::{Report, Target};
use crate::finding::Invalid;
use crate::names::Identity;
use crate::pod;
use crate::secret_use;
use crate::warnings::{self, Warning};
use crate::watches::{Caches, Referred, version};

/// Everything that a reconcile looks at.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// The settings file.
    pub config_map: Option<Arc<ConfigMap>>,
    /// The pod's account.
    pub service_account: Option<Arc<ServiceAccount>>,
    /// The address.
    pub service: Option<Arc<Service>>,
    /// The server.
    pub deployment: Option<Arc<Deployment>>,
    /// Who may reach it.
    pub network_policy: Option<Arc<NetworkPolicy>>,
    /// What the Jobs of its Indexes may reach.
    pub sync_network_policy: Option<Arc<NetworkPolicy>>,
    /// The claim that its data is on: one that was made, or the one that the specification names.
    pub claim: Option<Arc<PersistentVolumeClaim>>,
    /// The Secret with the write token: only its metadata.
    pub write_token: Option<Arc<PartialObjectMeta<Secret>>>,
    /// What the pod refers to.
    pub references: Vec<ObservedReference>,
    /// The server's pods.
    pub pods: Vec<Arc<Pod>>,
    /// What the server said when it was asked last.
    pub report: Option<Report>,
    /// What Kubernetes warns of: for a pod or a claim that does not get on.
    pub warnings: Vec<Warning>,
}

/// Something that the pod refers to, as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObservedReference {
    /// What it is, in words.
    #[serde(serialize_with = "in_words")]
    pub reference: Reference,
    /// Its version; none when it is not there.
    pub version: Option<String>,
    /// Why its content may not be used as it is asked to be.
    #[serde(skip)]
    pub refusal: Option<String>,
}

fn in_words<S: serde::Serializer>(reference: &Reference, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(reference)
}

impl Observed {
    /// What is missing that the pod cannot start without.
    pub fn missing(&self) -> impl Iterator<Item = &Reference> {
        let missing = self.references.iter().filter(|seen| seen.version.is_none() && !seen.reference.is_optional);
        missing.map(|seen| &seen.reference)
    }

    /// Whether all is there that the pod refers to, and may be used.
    pub fn has_all(&self) -> bool {
        self.missing().next().is_none() && self.references.iter().all(|seen| seen.refusal.is_none())
    }

    /// Where the server can be asked: in the current pod, once it has begun.
    pub fn target(&self) -> Option<Target> {
        Target::of(&self.pods)
    }

    /// The last report on the pod that there is now: whether and how its server has answered.
    pub fn current_report(&self) -> Option<&Report> {
        let uid = pod::current(&self.pods)?.metadata.uid.as_deref();
        self.report.as_ref().filter(|report| Some(report.pod_uid.as_str()) == uid)
    }

    /// What the server said last.
    pub fn answer(&self) -> Option<&EngineStatus> {
        self.current_report()?.answer.as_ref()
    }

    /// What the server said of its indexes, once they are loaded.
    pub fn loaded_status(&self) -> Option<&EngineStatus> {
        self.answer().filter(|answer| answer.data_id.is_some())
    }
}

/// What wakes a RAGEngine when it comes, changes or goes.
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
    named.chain(claim).chain([(Referred::Secret, identity.write_token())]).collect()
}

/// Looks at everything that belongs to a RAGEngine.
///
/// # Errors
///
/// What the API server says when it is asked for events.
pub async fn observe(
    context: &Context,
    engine: &RagEngine,
    validated: &Result<Validated, Invalid>,
) -> Result<Observed, kube::Error> {
    let identity = Identity::of(engine);
    let mut observed = from_caches(&context.caches, engine, &identity, validated.as_ref().ok());
    observed.report = context.engines.report(&identity.uid);
    for uid in stuck(&observed, engine.spec.replicas) {
        observed.warnings.extend(warnings::of(&context.client, &identity.namespace, &uid).await?);
    }
    Ok(observed)
}

fn from_caches(caches: &Caches, engine: &RagEngine, identity: &Identity, validated: Option<&Validated>) -> Observed {
    let namespace = &identity.namespace;
    let references = validated.map_or(&[][..], |validated| &validated.references);
    let sent = validated.map_or(&[][..], |validated| &validated.sent);
    Observed {
        config_map: caches.config_maps.get(namespace, &identity.settings()),
        service_account: caches.service_accounts.get(namespace, &identity.name),
        service: caches.services.get(namespace, &identity.name),
        deployment: caches.deployments.get(namespace, &identity.name),
        network_policy: caches.network_policies.get(namespace, &identity.name),
        sync_network_policy: caches.network_policies.get(namespace, &identity.sync_policy()),
        claim: identity.claim_of(&engine.spec).and_then(|claim| caches.claims.get(namespace, &claim)),
        write_token: caches.secrets.get(namespace, &identity.write_token()),
        references: references.iter().map(|reference| look_up(caches, namespace, reference, sent)).collect(),
        pods: caches.pods_of(identity),
        report: None,
        warnings: Vec::new(),
    }
}

fn look_up(caches: &Caches, namespace: &str, reference: &Reference, sent: &[SentSecret]) -> ObservedReference {
    let secret = caches.secrets.get(namespace, &reference.name).filter(|_| reference.kind == ReferenceKind::Secret);
    let is_sent = |sent: &&SentSecret| reference.kind == ReferenceKind::Secret && sent.name == reference.name;
    let refusal = secret.as_ref().and_then(|secret| {
        let mut uses = sent.iter().filter(is_sent);
        let in_pod = secret_use::refused_in_pod(&secret.metadata).map(str::to_owned);
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

/// The objects whose events are worth a request: a pod that has not begun to run, a claim without a volume that a pod waits for. Of one that is
/// stopped nothing is on its way.
pub fn stuck(observed: &Observed, replicas: u32) -> Vec<String> {
    waited_for(observed, replicas).filter_map(|metadata| metadata.uid.clone()).collect()
}

/// Since when that is so.
pub fn stuck_since(observed: &Observed, replicas: u32) -> Option<Timestamp> {
    waited_for(observed, replicas).filter_map(|metadata| Some(metadata.creation_timestamp.as_ref()?.0)).max()
}

fn waited_for(observed: &Observed, replicas: u32) -> impl Iterator<Item = &ObjectMeta> {
    let pod = pod::current(&observed.pods).filter(|pod| !pod::has_begun(pod)).map(|pod| &pod.metadata);
    let is_pending = |claim: &&Arc<PersistentVolumeClaim>| {
        claim.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Pending"))
    };
    let claim = observed.claim.as_ref().filter(is_pending).map(|claim| &claim.metadata);
    pod.into_iter().chain(claim).filter(move |_| replicas > 0)
}
