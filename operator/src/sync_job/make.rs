//! Creates a Job and its task once.

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

/// The result of creating them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// They were created.
    Done,
    /// The namespace is being deleted, so nothing can be created in it.
    NamespaceTerminating,
    /// A task or a Job of this name already exists, and may be about to be deleted.
    AlreadyExists,
}

/// Creates a task and then its Job, which becomes the owner of the task.
///
/// # Errors
///
/// [`ApplyError`] when one of them cannot be created.
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

/// Creates the task. An existing one is used only if it is identical, because its content decides which server the Job
/// writes to.
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
        // The ConfigMap belongs to a Job of this name that was deleted, or is already gone.
        None => Ok(Made::AlreadyExists),
        Some(found) if is_of(job, &found.metadata) => Ok(Made::AlreadyExists),
        Some(found) if is_same(task, &found) => Ok(Made::Done),
        Some(_) => {
            let message =
                format!("{object} already exists with another content: delete it, and the operator creates it again");
            Err(ApplyError::Refused(Refused { message }))
        }
    }
}

/// Whether the object is controlled by a Job of this name.
fn is_of(job: &Job, found: &ObjectMeta) -> bool {
    controller(found)
        .is_some_and(|owner| owner.kind == Job::kind(&()) && Some(&owner.name) == job.metadata.name.as_ref())
}

/// Whether both have the same owner and the same immutable content.
fn is_same(ours: &ConfigMap, found: &ConfigMap) -> bool {
    let owner = |task: &ConfigMap| controller(&task.metadata).map(|owner| owner.uid.clone());
    owner(ours) == owner(found)
        && (&ours.data, &ours.binary_data, ours.immutable) == (&found.data, &found.binary_data, found.immutable)
}

fn controller(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// Makes the Job the owner of the task, so that both are deleted together an hour after the Job has ended. If this
/// fails, the task stays until the Index is deleted.
async fn hand_over(client: &Client, task: &str, job: &Job) {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    let (namespace, name) = (part(&job.metadata.namespace), part(&job.metadata.name));
    let owner = job.controller_owner_ref(&());
    let config_maps: Api<PartialObjectMeta<ConfigMap>> = Api::namespaced(client.clone(), &namespace);
    let patch = json!({"metadata": {"ownerReferences": [owner]}});
    let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    if let Err(error) = within_limit(config_maps.patch_metadata(task, &parameters, &Patch::Merge(&patch))).await {
        warn!(
            job = format!("{namespace}/{name}"), %error,
            "the Job could not become the owner of its task: the task stays until the Index is deleted"
        );
    }
}

fn made_by_us() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

fn is_terminating(error: &ApplyError) -> bool {
    matches!(error, ApplyError::Refused(refused) if refused.message.contains("because it is being terminated"))
}
