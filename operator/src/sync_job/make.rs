//! Makes a Job and its task, once.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, ObjectMeta, PartialObjectMeta, Patch, PatchParams, PostParams};
use kube::{Client, Resource as _};
use serde_json::json;
use tracing::warn;

use super::Desired;
use crate::apply::{ApplyError, Refused, classify};
use crate::names::FIELD_MANAGER;
use crate::requests::within_limit;

/// What came of making them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// They are there now.
    Done,
    /// Nothing can be made any more: the namespace is being deleted.
    NamespaceTerminating,
    /// A task or a Job of this name is there already, and may be on its way out.
    AlreadyExists,
}

/// Makes a task, then its Job, which it goes with from then on.
///
/// # Errors
///
/// [`ApplyError`] when one of them cannot be made.
pub async fn make(client: &Client, Desired { task, job }: Desired) -> Result<Made, ApplyError> {
    let namespace = job.metadata.namespace.clone().unwrap_or_default();
    let name = job.metadata.name.clone().unwrap_or_default();
    let task_name = task.metadata.name.clone().unwrap_or_default();
    match make_task(client, &task, &job).await {
        Err(error) if is_terminating(&error) => return Ok(Made::NamespaceTerminating),
        Err(error) => return Err(error),
        Ok(Made::Done) => {}
        Ok(other) => return Ok(other),
    }
    let jobs: Api<Job> = Api::namespaced(client.clone(), &namespace);
    match within_limit(jobs.create(&made_by_us(), &job)).await {
        Ok(job) => {
            hand_over(client, &task_name, &job).await;
            Ok(Made::Done)
        }
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(Made::AlreadyExists),
        Err(error) => match classify(format!("Job {name}"), error) {
            error if is_terminating(&error) => Ok(Made::NamespaceTerminating),
            error => Err(error),
        },
    }
}

/// One that is there already is used when it is this one: what it says decides where a Job goes.
async fn make_task(client: &Client, task: &ConfigMap, job: &Job) -> Result<Made, ApplyError> {
    let name = task.metadata.name.clone().unwrap_or_default();
    let object = format!("ConfigMap {name}");
    let namespace = task.metadata.namespace.as_deref().unwrap_or_default();
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    match within_limit(config_maps.create(&made_by_us(), task)).await {
        Ok(_) => return Ok(Made::Done),
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        Err(error) => return Err(classify(object, error)),
    }
    let found = within_limit(config_maps.get_opt(&name)).await;
    match found.map_err(|error| classify(object.clone(), error))? {
        // It goes with a Job of this name that was deleted, or has gone.
        None => Ok(Made::AlreadyExists),
        Some(found) if is_of(job, &found.metadata) => Ok(Made::AlreadyExists),
        Some(found) if is_same(task, &found) => Ok(Made::Done),
        Some(_) => {
            let message =
                "already exists with another content: delete it, and the operator creates it again";
            Err(ApplyError::Refused(Refused { object, message: message.to_owned() }))
        }
    }
}

/// Whether it belongs to a Job of this name.
fn is_of(job: &Job, found: &ObjectMeta) -> bool {
    controller(found)
        .is_some_and(|owner| owner.kind == Job::kind(&()) && Some(&owner.name) == job.metadata.name.as_ref())
}

/// Whether it says the same for the same owner, and nobody can change that.
fn is_same(ours: &ConfigMap, found: &ConfigMap) -> bool {
    let owner = |task: &ConfigMap| controller(&task.metadata).map(|owner| owner.uid.clone());
    owner(ours) == owner(found)
        && (&ours.data, &ours.binary_data, ours.immutable) == (&found.data, &found.binary_data, found.immutable)
}

fn controller(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// The task goes when its Job does, which Kubernetes tidies up an hour after it has ended. One that could not be handed over goes with the Index.
async fn hand_over(client: &Client, task: &str, job: &Job) {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    let (namespace, name) = (part(&job.metadata.namespace), part(&job.metadata.name));
    let owner = job.controller_owner_ref(&());
    let config_maps: Api<PartialObjectMeta<ConfigMap>> = Api::namespaced(client.clone(), &namespace);
    let patch = json!({"metadata": {"ownerReferences": [owner]}});
    let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    if let Err(error) = within_limit(config_maps.patch_metadata(task, &parameters, &Patch::Merge(&patch))).await {
        warn!(job = format!("{namespace}/{name}"), %error, "the task of a Job stays until its Index goes");
    }
}

fn made_by_us() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

fn is_terminating(error: &ApplyError) -> bool {
    matches!(error, ApplyError::Refused(refused) if refused.message.contains("because it is being terminated"))
}
