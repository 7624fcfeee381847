//! Reports the result of a reconcile: writes a changed status, publishes events about it, logs and counts failures.

use std::fmt::Debug;
use std::sync::Arc;

use k8s_openapi::NamespaceResourceScope;
use kube::Resource;
use kube::api::{Api, Patch, PatchParams};
use kube::core::object::HasStatus;
use kube::runtime::controller::Action;
use ragengine_operator_api::Condition;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tracing::warn;

use crate::context::{Context, Statuses};
use crate::error::Error;
use crate::names::{FIELD_MANAGER, Kind};
use crate::requests::within_limit;

/// A resource that is reconciled and whose status is reported.
pub trait Reported:
    Resource<Scope = NamespaceResourceScope, DynamicType = ()>
    + HasStatus<Status: Clone + Default + PartialEq + Serialize + Send + Sync>
    + Clone
    + Debug
    + DeserializeOwned
{
    /// The kind of the resource.
    const KIND: Kind;
    /// A status that may be written. Only the step that computes it from the applied objects can create one:
    ///
    /// ```
    /// # use ragengine_operator::rag_engine::status_update::StatusUpdate;
    /// # use ragengine_operator::{context::Context, error::Error, report::report};
    /// # use ragengine_operator_api::{RagEngine, RagEngineStatus};
    /// async fn write(context: &Context, engine: &RagEngine, update: StatusUpdate) -> Result<(), Error> {
    ///     report(context, engine, &RagEngineStatus::default(), update).await
    /// }
    /// ```
    ///
    /// A status from another source does not compile:
    ///
    /// ```compile_fail
    /// # use ragengine_operator::rag_engine::status_update::StatusUpdate;
    /// # use ragengine_operator::{context::Context, error::Error, report::report};
    /// # use ragengine_operator_api::{RagEngine, RagEngineStatus};
    /// async fn write(context: &Context, engine: &RagEngine, update: RagEngineStatus) -> Result<(), Error> {
    ///     report(context, engine, &RagEngineStatus::default(), update).await
    /// }
    /// ```
    type Update: Into<Self::Status>;

    /// The statuses that were written last.
    fn statuses(context: &Context) -> &Statuses<Self::Status>;

    /// The conditions of a status, whose changes become events.
    fn conditions(status: &Self::Status) -> &[Condition];
}

/// Writes the status if it has changed, and publishes events about the changes.
///
/// # Errors
///
/// When the status cannot be written. A resource that was deleted in between is no error.
pub async fn report<K: Reported>(
    context: &Context,
    resource: &K,
    before: &K::Status,
    update: K::Update,
) -> Result<(), Error> {
    let now: K::Status = update.into();
    if now == *before {
        return Ok(());
    }
    let uid = resource.meta().uid.as_deref().unwrap_or_default();
    match write(context, resource, &now).await {
        Ok(_) => {}
        // The resource is gone, or another one has its name, so the status is obsolete.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
        Err(error) => {
            K::statuses(context).forget(uid);
            return Err(Error::Status(error));
        }
    }
    K::statuses(context).written(uid, now.clone());
    context.events.publish(resource, K::conditions(before), K::conditions(&now)).await;
    Ok(())
}

async fn write<K: Reported>(context: &Context, resource: &K, status: &K::Status) -> Result<K, kube::Error> {
    let (namespace, name) = place(resource);
    let resources: Api<K> = Api::namespaced(context.client.clone(), namespace);
    let patch = json!({
        "apiVersion": K::api_version(&()),
        "kind": K::kind(&()),
        // The uid makes sure that no other resource of the same name gets this status.
        "metadata": {"name": name, "uid": resource.meta().uid},
        "status": status,
    });
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    within_limit(resources.patch_status(name, &parameters, &Patch::Apply(&patch))).await
}

/// Logs and counts a failed reconcile and schedules the next attempt.
pub fn failed<K: Reported>(resource: Arc<K>, error: &Error, context: Arc<Context>) -> Action {
    let wait = context.failures.failed(resource.meta().uid.as_deref().unwrap_or_default());
    let (namespace, name) = place(&*resource);
    let named = |kind| (kind == K::KIND).then(|| format!("{namespace}/{name}"));
    let (engine, index) = (named(Kind::Engine), named(Kind::Index));
    let retry_in_s = wait.as_secs_f64();
    warn!(engine, index, kind = error.kind(), %error, retry_in_s, "the reconcile failed: it is retried");
    context.metrics.failed(error.kind());
    Action::requeue(wait)
}

/// The namespace and the name.
fn place<K: Resource>(resource: &K) -> (&str, &str) {
    let metadata = resource.meta();
    (metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
}
