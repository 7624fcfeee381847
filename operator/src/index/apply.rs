//! Executes the plan. The only module that changes objects of an Index.

use k8s_openapi::api::batch::v1::Job;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions, PropagationPolicy};
use ragengine_operator_api::{INDEX_FINALIZER, Index};
use serde_json::json;
use tracing::info;

use super::plan::Plan;
use super::prepare::{Prepared, Work};
use crate::apply::{ApplyError, Refused, classify};
use crate::context::Context;
use crate::names::{FIELD_MANAGER, IndexIdentity};
use crate::requests::within_limit;
use crate::sync_job::{Desired, Made, make};

/// The plan and its result. Only [`apply`] creates one, so that a status always describes what was really done.
#[derive(Debug)]
pub struct Applied {
    plan: Plan,
    made: Made,
    refused: Option<Refused>,
}

impl Applied {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether the objects were created.
    pub fn made(&self) -> Made {
        self.made
    }

    /// The object that the API server or the operator refused, if any.
    pub fn refused(&self) -> Option<&Refused> {
        self.refused.as_ref()
    }

    /// Consumes this and returns the refused object, if any.
    pub fn into_refused(self) -> Option<Refused> {
        self.refused
    }
}

/// Executes the prepared work.
///
/// # Errors
///
/// A temporary failure, after which no status is written. A refusal is not an error here: the status reports it.
pub async fn apply(context: &Context, index: &Index, prepared: Prepared) -> Result<Applied, ApplyError> {
    let identity = IndexIdentity::of(index);
    let (plan, work) = prepared.into_parts();
    let done = match work {
        Work::Leave => Ok(Made::Done),
        Work::Release => release(context, index).await.map(|()| Made::Done),
        Work::Stop(name, this_one) => stop(context, &identity, &name, this_one).await.map(|()| Made::Done),
        Work::Start(desired) => start(context, &identity, *desired).await,
    };
    match done {
        Ok(made) => Ok(Applied { plan, made, refused: None }),
        Err(ApplyError::Refused(refused)) => Ok(Applied { plan, made: Made::Done, refused: Some(refused) }),
        Err(error) => Err(error),
    }
}

/// Creates the task and its Job.
async fn start(context: &Context, identity: &IndexIdentity, desired: Desired) -> Result<Made, ApplyError> {
    let name = desired.job.metadata.name.clone().unwrap_or_default();
    let made = make(&context.client, desired).await?;
    if made == Made::Done {
        context.started.started(&identity.uid, &name);
        info!(index = format!("{}/{}", identity.namespace, identity.name), job = name, "synchronisation started");
    }
    Ok(made)
}

/// Deletes the Job with its pod.
async fn stop(
    context: &Context,
    identity: &IndexIdentity,
    name: &str,
    this_one: Preconditions,
) -> Result<(), ApplyError> {
    let jobs: Api<Job> = Api::namespaced(context.client.clone(), &identity.namespace);
    let parameters = DeleteParams {
        preconditions: Some(this_one),
        propagation_policy: Some(PropagationPolicy::Background),
        ..DeleteParams::default()
    };
    match within_limit(jobs.delete(name, &parameters)).await {
        Ok(_) => {
            info!(
                index = format!("{}/{}", identity.namespace, identity.name),
                job = name,
                "synchronisation stopped: the Job was deleted"
            );
            Ok(())
        }
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(classify(format!("Job {name}"), error)),
    }
}

/// Removes the finalizer that earlier versions of the operator set. A conflict is an error, because the Index has
/// changed in between.
async fn release(context: &Context, index: &Index) -> Result<(), ApplyError> {
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
