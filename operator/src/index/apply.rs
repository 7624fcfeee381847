//! Does the step: the only writer of what belongs to an Index.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{
    Api, DeleteParams, ObjectMeta, PartialObjectMeta, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy,
};
use ragengine_operator_api::{INDEX_FINALIZER, Index};
use serde_json::json;
use tracing::info;

use super::build::Desired;
use super::observe::Observed;
use crate::apply::{ApplyError, Refused, classify};
use crate::context::Context;
use crate::names::{FIELD_MANAGER, IndexIdentity};
use crate::requests::within_limit;

/// What came of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// It is done.
    Done,
    /// Nothing can be made any more: the namespace is being deleted.
    NamespaceIsGoing,
    /// A Job of this name is there already, and may be on its way out.
    IsThere,
}

/// Makes the task and its Job.
///
/// # Errors
///
/// [`ApplyError`] when one of them cannot be made.
pub async fn start(context: &Context, identity: &IndexIdentity, desired: Desired) -> Result<Applied, ApplyError> {
    let Desired { task, job } = desired;
    match put_task(context, identity, task).await {
        Err(error) if is_terminating(&error) => return Ok(Applied::NamespaceIsGoing),
        outcome => outcome?,
    }
    let jobs: Api<Job> = Api::namespaced(context.client.clone(), &identity.namespace);
    let name = job.metadata.name.clone().unwrap_or_default();
    let parameters = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    match within_limit(jobs.create(&parameters, &job)).await {
        Ok(_) => {
            context.started.started(&identity.uid, &name);
            info!(index = format!("{}/{}", identity.namespace, identity.name), job = name, "a synchronisation begins");
            Ok(Applied::Done)
        }
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(Applied::IsThere),
        Err(error) => match classify(format!("Job {name}"), error) {
            error if is_terminating(&error) => Ok(Applied::NamespaceIsGoing),
            error => Err(error),
        },
    }
}

/// It is read by the pod of the next Job only: the last one's has ended.
async fn put_task(context: &Context, identity: &IndexIdentity, task: ConfigMap) -> Result<(), ApplyError> {
    let name = identity.task();
    let object = format!("ConfigMap {name}");
    let client = context.client.clone();
    let found: Api<PartialObjectMeta<ConfigMap>> = Api::namespaced(client.clone(), &identity.namespace);
    let found = within_limit(found.get_metadata_opt(&name)).await;
    let found = found.map_err(|error| classify(object.clone(), error))?;
    if found.is_some_and(|found| !is_free(identity, &found.metadata)) {
        let message =
            "exists already and belongs to somebody else: delete or rename it, or give the Index another name";
        return Err(ApplyError::Refused(Refused { object, message: message.to_owned() }));
    }
    let config_maps: Api<ConfigMap> = Api::namespaced(client, &identity.namespace);
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    let sent = within_limit(config_maps.patch(&name, &parameters, &Patch::Apply(&task))).await;
    sent.map(|_| ()).map_err(|error| classify(object, error))
}

/// Ours, or that of an Index of the same name that is gone.
fn is_free(identity: &IndexIdentity, metadata: &ObjectMeta) -> bool {
    identity.made(metadata) || crate::names::index_of(metadata) == Some(&identity.name)
}

/// Deletes the Job of this name, with its pod.
///
/// # Errors
///
/// [`ApplyError`] when the API server refuses.
pub async fn stop(
    context: &Context,
    identity: &IndexIdentity,
    observed: &Observed,
    name: &str,
) -> Result<(), ApplyError> {
    let jobs: Api<Job> = Api::namespaced(context.client.clone(), &identity.namespace);
    let job = observed.jobs.iter().find(|job| job.metadata.name.as_deref() == Some(name));
    let this_one = Preconditions { uid: job.and_then(|job| job.metadata.uid.clone()), resource_version: None };
    let parameters = DeleteParams {
        preconditions: Some(this_one),
        propagation_policy: Some(PropagationPolicy::Background),
        ..DeleteParams::default()
    };
    match within_limit(jobs.delete(name, &parameters)).await {
        Ok(_) => {
            info!(index = format!("{}/{}", identity.namespace, identity.name), job = name, "the Job is stopped");
            Ok(())
        }
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(classify(format!("Job {name}"), error)),
    }
}

/// Puts our finalizer on an Index, or takes it away.
///
/// # Errors
///
/// [`ApplyError`] when the API server refuses. A conflict is one too: the Index has changed meanwhile.
pub async fn set_finalizer(context: &Context, index: &Index, hold: Hold) -> Result<(), ApplyError> {
    let identity = IndexIdentity::of(index);
    let others = index.metadata.finalizers.iter().flatten().filter(|finalizer| *finalizer != INDEX_FINALIZER);
    let ours = (hold == Hold::Yes).then(|| INDEX_FINALIZER.to_owned());
    let finalizers: Vec<String> = others.cloned().chain(ours).collect();
    let metadata = &index.metadata;
    let patch = json!({"metadata": {
        "uid": metadata.uid, "resourceVersion": metadata.resource_version, "finalizers": finalizers,
    }});
    let indexes: Api<Index> = Api::namespaced(context.client.clone(), &identity.namespace);
    let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    match within_limit(indexes.patch(&identity.name, &parameters, &Patch::Merge(&patch))).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(source) => Err(ApplyError::Failed { object: format!("Index {}", identity.name), source }),
    }
}

/// Whether an Index stays until its documents are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// It does.
    Yes,
    /// It goes when it is deleted.
    No,
}

fn is_terminating(error: &ApplyError) -> bool {
    matches!(error, ApplyError::Refused(refused) if refused.message.contains("because it is being terminated"))
}
