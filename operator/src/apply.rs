//! The only writer of objects: server-side apply with one field manager, and only on a difference.

mod difference;
mod memory;
mod ownership;
mod removal;
mod token;

use std::fmt::Debug;
use std::sync::Arc;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::{Api, ObjectMeta, PartialObjectMeta, Patch, PatchParams};
use kube::{Client, Resource};
pub use memory::Memory;
use memory::{Decision, Key};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tracing::info;

use crate::hash::hash;
use crate::names::{FIELD_MANAGER, Identity};
use crate::rag_engine::build::Desired;
use crate::rag_engine::observe::Observed;
use crate::requests::within_limit;

/// The annotation with the hash of what was applied: fields that are asked for no more are seen by it.
pub const APPLIED_HASH: &str = "ragengine.dev/applied-hash";

/// Who replaces lists whole before they are applied. It keeps nothing.
const REPAIRER: &str = "ragengine-operator-repair";

/// An object that the API server, or this operator, will not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{object}: {message}")]
pub struct Refused {
    /// Which one.
    pub object: String,
    /// Why, and what to do.
    pub message: String,
}

/// Why objects are not as they were asked to be.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Trying again does not help until somebody changes something.
    #[error("{0}")]
    Refused(Refused),
    /// Trying again may help.
    #[error("{object}: {source}")]
    Failed {
        /// Which object.
        object: String,
        /// What the API server said.
        source: kube::Error,
    },
    /// There is no randomness to make a token of.
    #[error("no write token can be made: {0}")]
    Randomness(getrandom::Error),
}

/// Whether the caches show what was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// They do, or what was sent has just come back.
    Current,
    /// They will in a moment.
    Lagging,
}

/// What became of all objects.
#[derive(Debug, Default)]
pub struct Applied {
    /// Whether the caches show them.
    pub is_lagging: bool,
    /// Those that the API server, or this operator, will not have.
    pub refused: Vec<Refused>,
    /// The first that could not be applied for another reason.
    pub failed: Option<ApplyError>,
}

impl Applied {
    /// Notes what became of one, and says whether it is as it was asked to be.
    fn take(&mut self, outcome: Result<Freshness, ApplyError>) -> bool {
        match outcome {
            Ok(freshness) => self.is_lagging |= freshness == Freshness::Lagging,
            Err(ApplyError::Refused(refused)) => self.refused.push(refused),
            Err(error) => drop(self.failed.get_or_insert(error)),
        }
        self.refused.is_empty() && self.failed.is_none()
    }

    /// All refusals as one.
    pub fn refusal(&self) -> Option<Refused> {
        let (first, others) = self.refused.split_first()?;
        let more = others.iter().map(|refused| format!("; {refused}")).collect::<String>();
        Some(Refused { object: first.object.clone(), message: format!("{}{more}", first.message) })
    }
}

/// Applies everything that is asked for, and removes what no longer is, each whatever became of the others: but a pod is made or changed only when
/// what it mounts, and who may reach it, is as it was asked to be. `observed` then has what came back.
pub async fn apply(
    client: &Client,
    memory: &Memory,
    identity: &Identity,
    desired: Desired,
    observed: &mut Observed,
) -> Applied {
    // No `..`: another kind of object has to find its place here.
    let Desired {
        config_map,
        service_account,
        service,
        write_token,
        claim,
        network_policy,
        sync_network_policy,
        deployment,
    } = desired;
    let writer = Writer { client, memory, identity };
    let mut all = Applied::default();
    all.take(writer.one(config_map, &mut observed.config_map).await);
    all.take(writer.one(service_account, &mut observed.service_account).await);
    all.take(writer.write_token(write_token, observed.write_token.as_deref()).await);
    let may_run = all.take(writer.one_or_none(network_policy, &mut observed.network_policy).await);
    all.take(writer.one_or_none(sync_network_policy, &mut observed.sync_network_policy).await);
    if let Some(claim) = claim {
        all.take(writer.claim(claim, &mut observed.claim).await);
    }
    all.take(writer.one(service, &mut observed.service).await);
    let has_no_pod = |deployment: &Deployment| deployment.spec.as_ref().is_some_and(|spec| spec.replicas == Some(0));
    if let Some(deployment) = deployment.filter(|deployment| may_run || has_no_pod(deployment)) {
        all.take(writer.one(deployment, &mut observed.deployment).await);
    }
    all
}

/// Stops a server whose specification cannot be built: nothing else of it is changed.
///
/// # Errors
///
/// [`ApplyError`] when the API server refuses.
pub async fn stop(client: &Client, identity: &Identity, deployment: &Deployment) -> Result<(), ApplyError> {
    if deployment.spec.as_ref().is_none_or(|spec| spec.replicas == Some(0)) || !identity.made(&deployment.metadata) {
        return Ok(());
    }
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &identity.namespace);
    let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({"spec": {"replicas": 0}}));
    let stopped = within_limit(deployments.patch_scale(&identity.name, &parameters, &patch)).await;
    stopped.map(drop).map_err(|error| classify(described::<Deployment>(&identity.name), error))
}

struct Writer<'a> {
    client: &'a Client,
    memory: &'a Memory,
    identity: &'a Identity,
}

impl Writer<'_> {
    fn api<K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), &self.identity.namespace)
    }

    fn key<K: Resource<DynamicType = ()>>(&self, name: &str) -> Key {
        (K::kind(&()), self.identity.namespace.clone(), name.to_owned())
    }

    /// Applies one object, unless it is as it should be.
    async fn one<K>(&self, mut desired: K, live: &mut Option<Arc<K>>) -> Result<Freshness, ApplyError>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Applicable,
    {
        let hash = hash(&desired);
        desired.meta_mut().annotations.get_or_insert_default().insert(APPLIED_HASH.to_owned(), hash.clone());
        let name = desired.meta().name.clone().unwrap_or_default();
        let object = described::<K>(&name);
        let key = self.key::<K>(&name);
        let version = live.as_ref().and_then(|live| live.meta().resource_version.clone());
        match self.memory.decide(&key, &hash, version.as_deref()) {
            Decision::Nothing => return Ok(Freshness::Current),
            Decision::Wait => return Ok(Freshness::Lagging),
            Decision::Compare => {}
        }
        if live.as_ref().is_some_and(|live| is_as_asked(&desired, live.as_ref())) {
            self.memory.shown(key, &hash, version.as_deref());
            return Ok(Freshness::Current);
        }
        let is_new = live.is_none();
        match live {
            Some(live) => self.is_ours(live.meta(), &object)?,
            None => self.require_ours::<K>(&name).await?,
        }
        let sent = match self.send(&name, &desired).await {
            Err(error) if !is_new && is_invalid(&error) => self.overwrite(&name, &desired).await,
            outcome => outcome,
        };
        let sent = match sent {
            Ok(applied) => self.own_once(&name, &desired, applied).await,
            Err(error) => Err(error),
        };
        let mut applied = sent.map_err(|error| classify(object.clone(), error))?;
        applied.meta_mut().managed_fields = None;
        self.memory.sent(key, &hash, applied.meta().resource_version.as_deref());
        let engine = format!("{}/{}", self.identity.namespace, self.identity.name);
        info!(engine, object, "{}", if is_new { "made" } else { "changed" });
        *live = Some(Arc::new(applied));
        Ok(Freshness::Current)
    }

    /// Applies an object that may not be asked for: then it is removed.
    async fn one_or_none<K>(&self, desired: Option<K>, live: &mut Option<Arc<K>>) -> Result<Freshness, ApplyError>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Applicable,
    {
        match desired {
            Some(desired) => self.one(desired, live).await,
            None => self.remove(live).await,
        }
    }

    /// A claim that cannot be grown is applied with the size that it has: whatever else is asked for of it is done.
    async fn claim(
        &self,
        desired: PersistentVolumeClaim,
        live: &mut Option<Arc<PersistentVolumeClaim>>,
    ) -> Result<Freshness, ApplyError> {
        let has = live.as_ref().and_then(|live| live.spec.as_ref()?.resources.clone());
        let grown = self.one(desired.clone(), live).await;
        let (Err(ApplyError::Refused(_)), Some(has)) = (&grown, has) else { return grown };
        let mut as_large_as_it_is = desired;
        as_large_as_it_is.spec.get_or_insert_default().resources = Some(has);
        self.one(as_large_as_it_is, live).await.and(grown)
    }

    async fn send<K>(&self, name: &str, desired: &K) -> Result<K, kube::Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Applicable,
    {
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        within_limit(self.api::<K>().patch(name, &parameters, &Patch::Apply(desired))).await
    }

    /// Replaces the lists of an object whole, then applies it. Applying alone keeps the items that others have put into a list, and some cannot stand
    /// beside ours: a port of a Service that was edited is a second port of the same name.
    async fn overwrite<K>(&self, name: &str, desired: &K) -> Result<K, kube::Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Applicable,
    {
        let parameters = PatchParams { field_manager: Some(REPAIRER.to_owned()), ..PatchParams::default() };
        within_limit(self.api::<K>().patch(name, &parameters, &Patch::Merge(desired))).await?;
        self.send(name, desired).await
    }

    /// Owns by applying alone what was written otherwise as well, and applies once more. A field that is had twice stays when it is not asked for any
    /// more, as this apply may have found already: what leaves `podTemplate` would not leave the Deployment.
    async fn own_once<K>(&self, name: &str, desired: &K, applied: K) -> Result<K, kube::Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Applicable,
    {
        let Some(owners) = applied.meta().managed_fields.as_deref().and_then(ownership::owned_once) else {
            return Ok(applied);
        };
        let version = &applied.meta().resource_version;
        let patch = Patch::Merge(json!({"metadata": {"managedFields": owners, "resourceVersion": version}}));
        let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        within_limit(self.api::<K>().patch(name, &parameters, &patch)).await?;
        self.send(name, desired).await
    }

    /// What the caches do not have may be there all the same, made by somebody else: it is not taken over.
    async fn require_ours<K>(&self, name: &str) -> Result<(), ApplyError>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Applicable,
    {
        let object = described::<K>(name);
        let found = within_limit(self.api::<PartialObjectMeta<K>>().get_metadata_opt(name)).await;
        match found.map_err(|error| classify(object.clone(), error))? {
            Some(found) => self.is_ours(&found.metadata, &object),
            None => Ok(()),
        }
    }

    /// What somebody else has made is not taken over.
    fn is_ours(&self, metadata: &ObjectMeta, object: &str) -> Result<(), ApplyError> {
        let message =
            "exists already and belongs to somebody else: delete or rename it, or give the RAGEngine another name";
        let refused = || Refused { object: object.to_owned(), message: message.to_owned() };
        if self.identity.made(metadata) { Ok(()) } else { Err(ApplyError::Refused(refused())) }
    }
}

/// What an object has to be to be applied.
pub trait Applicable: Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static {}
impl<K: Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static> Applicable for K {}

fn described<K: Resource<DynamicType = ()>>(name: &str) -> String {
    format!("{} {name}", K::kind(&()))
}

fn is_as_asked<K: Serialize>(desired: &K, live: &K) -> bool {
    match (serde_json::to_value(desired), serde_json::to_value(live)) {
        (Ok(desired), Ok(live)) => difference::is_satisfied(&desired, &live),
        _ => false,
    }
}

fn is_invalid(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 422)
}

/// A refusal that stays one, or a failure that may pass.
pub fn classify(object: String, error: kube::Error) -> ApplyError {
    match error {
        kube::Error::Api(status) if matches!(status.code, 400 | 403 | 413 | 422) => {
            ApplyError::Refused(Refused { object, message: status.message.clone() })
        }
        source => ApplyError::Failed { object, source },
    }
}
