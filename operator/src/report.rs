//! What is update of a reconcile, whosever it was: a status that differs from the last one, the events of what has changed, and a failure.

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

/// A resource that is reconciled, and told of.
pub trait Reported:
    Resource<Scope = NamespaceResourceScope, DynamicType = ()>
    + HasStatus<Status: Clone + Default + PartialEq + Serialize + Send + Sync>
    + Clone
    + Debug
    + DeserializeOwned
{
    /// Which of the two.
    const KIND: Kind;
    /// A status that may be written. Only the step that says what was applied makes one:
    ///
    /// ```
    /// # use ragengine_operator::{context::Context, error::Error, rag_engine::status_update::StatusUpdate, report::report};
    /// # use ragengine_operator_api::{RagEngine, RagEngineStatus};
    /// async fn write(context: &Context, engine: &RagEngine, update: StatusUpdate) -> Result<(), Error> {
    ///     report(context, engine, &RagEngineStatus::default(), update).await
    /// }
    /// ```
    ///
    /// And one that was made of anything else is not written:
    ///
    /// ```compile_fail
    /// # use ragengine_operator::{context::Context, error::Error, rag_engine::status_update::StatusUpdate, report::report};
    /// # use ragengine_operator_api::{RagEngine, RagEngineStatus};
    /// async fn write(context: &Context, engine: &RagEngine, told: RagEngineStatus) -> Result<(), Error> {
    ///     report(context, engine, &RagEngineStatus::default(), update).await
    /// }
    /// ```
    type Update: Into<Self::Status>;

    /// The statuses that were written last.
    fn statuses(context: &Context) -> &Statuses<Self::Status>;

    /// Of which some changes are told as events.
    fn conditions(status: &Self::Status) -> &[Condition];
}

/// Writes the status when it differs from the last one, and tells users what has changed.
///
/// # Errors
///
/// When it cannot be written. A resource that is gone meanwhile has none.
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
        // It is gone, or another has its name: nobody waits for this status.
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
        // The status of this one, not of another of the same name.
        "metadata": {"name": name, "uid": resource.meta().uid},
        "status": status,
    });
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    within_limit(resources.patch_status(name, &parameters, &Patch::Apply(&patch))).await
}

/// What a failed reconcile leaves: a line in the log, a number, and the next attempt.
pub fn failed<K: Reported>(resource: Arc<K>, error: &Error, context: Arc<Context>) -> Action {
    let wait = context.failures.failed(resource.meta().uid.as_deref().unwrap_or_default());
    let (namespace, name) = place(&*resource);
    let named = |kind| (kind == K::KIND).then(|| format!("{namespace}/{name}"));
    let (engine, index) = (named(Kind::Engine), named(Kind::Index));
    warn!(engine, index, kind = error.kind(), %error, retry_in_s = wait.as_secs_f64(), "the reconcile failed");
    context.metrics.failed(error.kind());
    Action::requeue(wait)
}

/// Its namespace and its name.
fn place<K: Resource>(resource: &K) -> (&str, &str) {
    let metadata = resource.meta();
    (metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
}
