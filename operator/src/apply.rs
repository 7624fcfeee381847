//! The only writer of an engine's objects: server-side apply with one field manager, and only if something differs.

mod difference;
mod memory;
mod once;
mod ownership;
mod removal;

use std::fmt::Debug;
use std::sync::Arc;

use k8s_openapi::NamespaceResourceScope;
use kube::api::{Api, ObjectMeta, PartialObjectMeta, Patch, PatchParams};
use kube::{Client, Resource};
pub use memory::Memory;
use memory::{Decision, Key};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tracing::info;

use crate::hash::hash;
use crate::names::{APPLIED_HASH, FIELD_MANAGER, Identity};
use crate::requests::within_limit;

/// The field manager that replaces whole lists before an apply. It ends up owning no fields.
const REPAIRER: &str = "ragengine-operator-repair";

/// The words of the admission plugin OwnerReferencesPermissionEnforcement, which OpenShift has.
const NEEDS_DELETE: &str = "cannot set an ownerRef on a resource you can't delete";

/// What to do about it, for a claim.
const MAY_NOT_DELETE: &str = ". In this cluster, who changes the owner of a claim must have the right to delete it, and \
                              the operator has not: change storage.deletionPolicy back, or give the operator that \
                              right until the claim has changed";

/// An object that the API server or the operator refuses to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// Which object was refused, why, and what to do.
    pub message: String,
}

impl Refused {
    /// An object that the API server refuses.
    pub fn by_api_server(object: &str, why: &str) -> Self {
        let is_kept = object.starts_with("PersistentVolumeClaim ") && why.contains(NEEDS_DELETE);
        let advice = if is_kept { MAY_NOT_DELETE } else { "" };
        Self { message: format!("the API server refuses {object}: {why}{advice}") }
    }
}

/// Why an object could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A permanent failure: a user must change something.
    #[error("{0}")]
    Refused(Refused),
    /// A temporary failure: a retry may succeed.
    #[error("{object}: {source}")]
    Failed {
        /// Kind and name of the object.
        object: String,
        /// The error of the request.
        source: kube::Error,
    },
    /// The system provides no random numbers for a token.
    #[error("cannot create a write token because the system has no random numbers: {0}")]
    Randomness(getrandom::Error),
}

/// Whether the caches show the applied object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// The cache or the reply shows the current object.
    Current,
    /// The cache does not show the object yet.
    Lagging,
}

/// The result of applying one object.
#[derive(Debug)]
pub struct ApplyOutcome<K> {
    /// The object in the cluster: from the reply, or the previous one.
    pub live: Option<Arc<K>>,
    /// Whether the object could be applied.
    pub result: Result<Freshness, ApplyError>,
}

/// The request that was sent for one object.
enum Sent<K> {
    /// None, because the object is up to date or was just sent.
    Nothing(Freshness),
    /// The object was sent. This is the reply.
    Object(K),
}

/// Writes the objects of one RAGEngine.
pub struct Writer<'a> {
    /// The client of the API server.
    pub client: &'a Client,
    /// The objects that were sent last.
    pub memory: &'a Memory,
    /// The RAGEngine that owns the objects.
    pub identity: &'a Identity,
}

impl Writer<'_> {
    fn api<K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), &self.identity.namespace)
    }

    fn key<K: Resource<DynamicType = ()>>(&self, name: &str) -> Key {
        (K::kind(&()), self.identity.namespace.clone(), name.to_owned())
    }

    /// Applies one object if it differs from the desired one.
    pub async fn apply<K>(&self, desired: K, live: Option<Arc<K>>) -> ApplyOutcome<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Applicable,
    {
        match self.sent(desired, live.as_deref()).await {
            Ok(Sent::Nothing(freshness)) => ApplyOutcome { live, result: Ok(freshness) },
            Ok(Sent::Object(applied)) => ApplyOutcome { live: Some(Arc::new(applied)), result: Ok(Freshness::Current) },
            Err(error) => ApplyOutcome { live, result: Err(error) },
        }
    }

    /// Whether an object is not to be sent now, because it just was, or because it is still as it was sent.
    pub fn is_sent<K>(&self, desired: &K, live: Option<&K>) -> bool
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Applicable,
    {
        let key = self.key::<K>(desired.meta().name.as_deref().unwrap_or_default());
        let version = live.and_then(|live| live.meta().resource_version.as_deref());
        self.memory.decide(&key, &hash(desired), version) != Decision::Compare
    }

    /// Applies an object, or removes it if it is not desired.
    pub async fn apply_or_remove<K>(&self, desired: Option<K>, live: Option<Arc<K>>) -> ApplyOutcome<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Applicable,
    {
        match desired {
            Some(desired) => self.apply(desired, live).await,
            None => ApplyOutcome { live: None, result: self.remove(live.as_deref()).await },
        }
    }

    async fn sent<K>(&self, mut desired: K, live: Option<&K>) -> Result<Sent<K>, ApplyError>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Applicable,
    {
        let hash = hash(&desired);
        desired.meta_mut().annotations.get_or_insert_default().insert(APPLIED_HASH.to_owned(), hash.clone());
        let name = desired.meta().name.clone().unwrap_or_default();
        let object = described::<K>(&name);
        let key = self.key::<K>(&name);
        let version = live.and_then(|live| live.meta().resource_version.clone());
        match self.memory.decide(&key, &hash, version.as_deref()) {
            Decision::Nothing => return Ok(Sent::Nothing(Freshness::Current)),
            Decision::Wait => return Ok(Sent::Nothing(Freshness::Lagging)),
            Decision::Compare => {}
        }
        if live.is_some_and(|live| is_up_to_date(&desired, live)) {
            self.memory.shown(key, &hash, version.as_deref());
            return Ok(Sent::Nothing(Freshness::Current));
        }
        match live {
            Some(live) => self.is_ours(live.meta(), &object)?,
            None => self.require_ours::<K>(&name).await?,
        }
        let is_new = live.is_none();
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
        info!(engine, object, "{}", if is_new { "object created" } else { "object changed" });
        Ok(Sent::Object(applied))
    }

    async fn send<K>(&self, name: &str, desired: &K) -> Result<K, kube::Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Applicable,
    {
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        within_limit(self.api::<K>().patch(name, &parameters, &Patch::Apply(desired))).await
    }

    /// Replaces the lists of an object, then applies it. An apply alone keeps fields of other field managers, and some
    /// of these conflict: an edited port of a Service becomes a second port of the same name.
    async fn overwrite<K>(&self, name: &str, desired: &K) -> Result<K, kube::Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Applicable,
    {
        let parameters = PatchParams { field_manager: Some(REPAIRER.to_owned()), ..PatchParams::default() };
        let patch = Patch::Merge(replacement(desired).map_err(kube::Error::SerdeError)?);
        within_limit(self.api::<K>().patch(name, &parameters, &patch)).await?;
        self.send(name, desired).await
    }

    /// Removes the operator's other ownership entries, and applies once more. A field that is owned through two entries
    /// would stay in the object after it leaves the desired state, for example a field that is removed from
    /// `podTemplate`.
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

    /// An object that is not in the caches may exist without the operator's labels. It must not be overwritten.
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

    /// Refuses an object that was not created for this RAGEngine.
    fn is_ours(&self, metadata: &ObjectMeta, object: &str) -> Result<(), ApplyError> {
        let refused = || Refused {
            message: format!(
                "{object} already exists and was not created by this RAGEngine: \
                 delete or rename it, or give the RAGEngine another name"
            ),
        };
        if self.identity.made(metadata) { Ok(()) } else { Err(ApplyError::Refused(refused())) }
    }
}

/// The requirements of an object that can be applied.
pub trait Applicable: Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static {}
impl<K: Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static> Applicable for K {}

/// Kind and name as text: `Service docs`.
pub fn described<K: Resource<DynamicType = ()>>(name: &str) -> String {
    format!("{} {name}", K::kind(&()))
}

fn is_up_to_date<K: Serialize>(desired: &K, live: &K) -> bool {
    match (serde_json::to_value(desired), serde_json::to_value(live)) {
        (Ok(desired), Ok(live)) => difference::is_satisfied(&desired, &live),
        _ => false,
    }
}

/// The merge patch that replaces the lists of an object. It also removes the numbers of another strategy, which the API
/// server refuses beside `Recreate`.
fn replacement<K: Serialize>(desired: &K) -> Result<Value, serde_json::Error> {
    let mut patch = serde_json::to_value(desired)?;
    if let Some(Value::Object(strategy)) = patch.pointer_mut("/spec/strategy")
        && strategy.get("type").is_some_and(|name| name == "Recreate")
    {
        strategy.insert("rollingUpdate".to_owned(), Value::Null);
    }
    Ok(patch)
}

fn is_invalid(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 422)
}

/// Distinguishes permanent refusals from temporary failures.
pub fn classify(object: String, error: kube::Error) -> ApplyError {
    match error {
        kube::Error::Api(status) if matches!(status.code, 400 | 403 | 413 | 422) => {
            ApplyError::Refused(Refused::by_api_server(&object, &status.message))
        }
        source => ApplyError::Failed { object, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_not_change_the_owner_of_a_claim_is_told_what_to_do() {
        let owner = "it is forbidden: cannot set an ownerRef on a resource you can't delete: , <nil>";
        for (object, why, has_advice) in [
            ("PersistentVolumeClaim docs-data", owner, true),
            ("PersistentVolumeClaim docs-data", "exceeded quota: objects", false),
            ("Service docs", owner, false),
        ] {
            let message = Refused::by_api_server(object, why).message;
            assert!(message.starts_with(&format!("the API server refuses {object}: {why}")), "{message}");
            assert_eq!(message.contains("storage.deletionPolicy"), has_advice, "{message}");
        }
    }

    #[test]
    fn only_the_strategy_without_numbers_removes_those_of_another() {
        for (object, expected) in [
            (
                json!({"spec": {"strategy": {"type": "Recreate"}}}),
                json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}}}),
            ),
            (
                json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}),
                json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}),
            ),
            (json!({"spec": {"ports": [{"port": 80}]}}), json!({"spec": {"ports": [{"port": 80}]}})),
            (json!({"data": {"a": "b"}}), json!({"data": {"a": "b"}})),
        ] {
            assert_eq!(replacement(&object).unwrap(), expected);
        }
    }
}
