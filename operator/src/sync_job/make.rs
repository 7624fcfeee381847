//! Makes a Job and its task, once.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
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
    NamespaceIsGoing,
    /// A task or a Job of this name is there already, and may be on its way out.
    IsThere,
}

/// Makes a task, then its Job, which it goes with from then on.
///
/// # Errors
///
/// [`ApplyError`] when one of them cannot be made.
pub async fn make(client: &Client, Desired { task, job }: Desired) -> Result<Made, ApplyError> {
    let namespace = job.metadata.namespace.clone().unwrap_or_default();
    let name = job.metadata.name.clone().unwrap_or_default();
    match make_task(client, &namespace, &task).await {
        Err(error) if is_terminating(&error) => return Ok(Made::NamespaceIsGoing),
        Err(error) => return Err(error),
        Ok(Made::Done) => {}
        Ok(other) => return Ok(other),
    }
    let jobs: Api<Job> = Api::namespaced(client.clone(), &namespace);
    match within_limit(jobs.create(&made_by_us(), &job)).await {
        Ok(job) => {
            hand_over(client, &namespace, &job).await;
            Ok(Made::Done)
        }
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(Made::IsThere),
        Err(error) => match classify(format!("Job {name}"), error) {
            error if is_terminating(&error) => Ok(Made::NamespaceIsGoing),
            error => Err(error),
        },
    }
}

/// One that is there already is that of the same synchronisation, when it is ours: nobody can have changed it.
async fn make_task(client: &Client, namespace: &str, task: &ConfigMap) -> Result<Made, ApplyError> {
    let name = task.metadata.name.clone().unwrap_or_default();
    let object = format!("ConfigMap {name}");
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    match within_limit(config_maps.create(&made_by_us(), task)).await {
        Ok(_) => return Ok(Made::Done),
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        Err(error) => return Err(classify(object, error)),
    }
    let found: Api<PartialObjectMeta<ConfigMap>> = Api::namespaced(client.clone(), namespace);
    let found = within_limit(found.get_metadata_opt(&name)).await;
    match found.map_err(|error| classify(object.clone(), error))? {
        // It goes with a Job of this name that was deleted, or has gone.
        None => Ok(Made::IsThere),
        Some(found) if is_of_a_job(&found.metadata, &name) => Ok(Made::IsThere),
        Some(found) if has_same_owner(&found.metadata, &task.metadata) => Ok(Made::Done),
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

fn is_terminating(error: &ApplyError) -> bool {
    matches!(error, ApplyError::Refused(refused) if refused.message.contains("because it is being terminated"))
}
