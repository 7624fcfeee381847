//! Does the step: the only one that changes something of an Index.

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

/// What was planned and done. Only [`apply`] makes one, of what was prepared: no status is written that was made of anything else.
#[derive(Debug)]
pub struct Applied {
    plan: Plan,
    made: Made,
    refused: Option<Refused>,
}

impl Applied {
    /// What was planned.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What came of it.
    pub fn made(&self) -> Made {
        self.made
    }

    /// Which object the API server, or this operator, will not have.
    pub fn refused(&self) -> Option<&Refused> {
        self.refused.as_ref()
    }

    /// The same, at the end.
    pub fn into_refused(self) -> Option<Refused> {
        self.refused
    }
}

/// Does what was prepared.
///
/// # Errors
///
/// A failure that may pass: nothing is said before it has. A refusal is a part of what is said.
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

/// Makes the task and its Job.
async fn start(context: &Context, identity: &IndexIdentity, desired: Desired) -> Result<Made, ApplyError> {
    let name = desired.job.metadata.name.clone().unwrap_or_default();
    let made = make(&context.client, desired).await?;
    if made == Made::Done {
        context.started.started(&identity.uid, &name);
        info!(index = format!("{}/{}", identity.namespace, identity.name), job = name, "a synchronisation begins");
    }
    Ok(made)
}

/// Deletes the Job of this name, with its pod.
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
            info!(index = format!("{}/{}", identity.namespace, identity.name), job = name, "the Job is stopped");
            Ok(())
        }
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(classify(format!("Job {name}"), error)),
    }
}

/// Takes away the finalizer that earlier versions have put on an Index. A conflict is a failure: the Index has changed meanwhile.
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
