//! Does the step: the only writer of what belongs to an Index.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{
    Api, DeleteParams, ObjectMeta, PartialObjectMeta, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy,
};
use kube::{Client, Resource as _};
use ragengine_operator_api::{INDEX_FINALIZER, Index};
use serde_json::json;
use tracing::{info, warn};

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
    /// A task or a Job of this name is there already, and may be on its way out.
    IsThere,
}

/// Makes the task and its Job.
///
/// # Errors
///
/// [`ApplyError`] when one of them cannot be made.
pub async fn start(context: &Context, identity: &IndexIdentity, desired: Desired) -> Result<Applied, ApplyError> {
    let name = desired.job.metadata.name.clone().unwrap_or_default();
    let applied = make(&context.client, desired).await?;
    if applied == Applied::Done {
        context.started.started(&identity.uid, &name);
        info!(index = format!("{}/{}", identity.namespace, identity.name), job = name, "a synchronisation begins");
    }
    Ok(applied)
}

/// Makes a task, then its Job, which it goes with from then on.
///
/// # Errors
///
/// [`ApplyError`] when one of them cannot be made.
pub async fn make(client: &Client, Desired { task, job }: Desired) -> Result<Applied, ApplyError> {
    let namespace = job.metadata.namespace.clone().unwrap_or_default();
    let name = job.metadata.name.clone().unwrap_or_default();
    match make_task(client, &namespace, &task).await {
        Err(error) if is_terminating(&error) => return Ok(Applied::NamespaceIsGoing),
        Err(error) => return Err(error),
        Ok(Applied::Done) => {}
        Ok(other) => return Ok(other),
    }
    let jobs: Api<Job> = Api::namespaced(client.clone(), &namespace);
    match within_limit(jobs.create(&made_by_us(), &job)).await {
        Ok(job) => {
            hand_over(client, &namespace, &job).await;
            Ok(Applied::Done)
        }
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(Applied::IsThere),
        Err(error) => match classify(format!("Job {name}"), error) {
            error if is_terminating(&error) => Ok(Applied::NamespaceIsGoing),
            error => Err(error),
        },
    }
}

/// One that is there already is that of the same synchronisation, when it is ours: nobody can have changed it.
async fn make_task(client: &Client, namespace: &str, task: &ConfigMap) -> Result<Applied, ApplyError> {
    let name = task.metadata.name.clone().unwrap_or_default();
    let object = format!("ConfigMap {name}");
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    match within_limit(config_maps.create(&made_by_us(), task)).await {
        Ok(_) => return Ok(Applied::Done),
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        Err(error) => return Err(classify(object, error)),
    }
    let found: Api<PartialObjectMeta<ConfigMap>> = Api::namespaced(client.clone(), namespace);
    let found = within_limit(found.get_metadata_opt(&name)).await;
    match found.map_err(|error| classify(object.clone(), error))? {
        // It goes with a Job of this name that was deleted, or has gone.
        None => Ok(Applied::IsThere),
        Some(found) if is_of_a_job(&found.metadata, &name) => Ok(Applied::IsThere),
        Some(found) if has_same_owner(&found.metadata, &task.metadata) => Ok(Applied::Done),
        Some(_) => {
            let message =
                "exists already and belongs to somebody else: delete or rename it, or give the Index another name";
            Err(ApplyError::Refused(Refused { object, message: message.to_owned() }))
        }
    }
}

fn is_of_a_job(found: &ObjectMeta, name: &str) -> bool {
    let mut owners = found.owner_references.iter().flatten();
    owners.any(|owner| owner.controller == Some(true) && owner.kind == Job::kind(&()) && owner.name == name)
}

fn has_same_owner(found: &ObjectMeta, ours: &ObjectMeta) -> bool {
    let owner = |metadata: &ObjectMeta| {
        let mut owners = metadata.owner_references.iter().flatten();
        owners.find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone())
    };
    owner(found) == owner(ours)
}

/// The task goes when its Job does, which Kubernetes tidies up an hour after it has ended. One that could not be handed over goes with the Index.
async fn hand_over(client: &Client, namespace: &str, job: &Job) {
    let name = job.metadata.name.clone().unwrap_or_default();
    let owner = job.controller_owner_ref(&());
    let config_maps: Api<PartialObjectMeta<ConfigMap>> = Api::namespaced(client.clone(), namespace);
    let patch = json!({"metadata": {"ownerReferences": [owner]}});
    let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    if let Err(error) = within_limit(config_maps.patch_metadata(&name, &parameters, &Patch::Merge(&patch))).await {
        warn!(job = format!("{namespace}/{name}"), %error, "the task of a Job stays until its Index goes");
    }
}

fn made_by_us() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
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

/// Takes away the finalizer that earlier versions have put on an Index.
///
/// # Errors
///
/// [`ApplyError`] when the API server refuses. A conflict is one too: the Index has changed meanwhile.
pub async fn release(context: &Context, index: &Index) -> Result<(), ApplyError> {
    let identity = IndexIdentity::of(index);
    let others = index.metadata.finalizers.iter().flatten().filter(|finalizer| *finalizer != INDEX_FINALIZER);
    let metadata = &index.metadata;
    let patch = json!({"metadata": {
        "uid": metadata.uid, "resourceVersion": metadata.resource_version,
        "finalizers": others.collect::<Vec<_>>(),
    }});
    let indexes: Api<Index> = Api::namespaced(context.client.clone(), &identity.namespace);
    let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    match within_limit(indexes.patch(&identity.name, &parameters, &Patch::Merge(&patch))).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(source) => Err(ApplyError::Failed { object: format!("Index {}", identity.name), source }),
    }
}

fn is_terminating(error: &ApplyError) -> bool {
    matches!(error, ApplyError::Refused(refused) if refused.message.contains("because it is being terminated"))
}
