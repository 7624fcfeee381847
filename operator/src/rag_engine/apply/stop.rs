//! Stops an engine whose specification is invalid: its server, its backups and its nodes. Nothing else of it is changed.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::CronJob;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::Attempted;
use super::nodes::NodeWriter;
use super::outcomes::Outcomes;
use crate::apply::{ApplyError, Freshness, classify, described};
use crate::names::{FIELD_MANAGER, Identity};
use crate::rag_engine::build::runs;
use crate::rag_engine::nodes::Users;
use crate::rag_engine::observe::Observed;
use crate::requests::within_limit;

/// Scales the server to 0, suspends the backups and then deletes the NodeClaims, whose nodes the server runs on.
pub(super) async fn stop(
    client: &Client,
    node_writer: &NodeWriter<'_>,
    identity: &Identity,
    mut observed: Observed,
) -> Attempted {
    let mut all = Outcomes::default();
    let current = |()| Freshness::Current;
    if let Some(cron_job) = observed.backups.cron_job.as_deref() {
        all.note(suspend(client, identity, cron_job).await.map(current));
    }
    let stopped = match observed.deployment.as_deref() {
        Some(deployment) => scale(client, identity, deployment).await,
        None => Ok(()),
    };
    if stopped.is_ok() {
        let users = Users { pods: &[], deployment: None };
        all.note(node_writer.remove_others(&[], &mut observed.nodes, users).await.map(current));
    }
    all.note(stopped.map(current));
    Attempted::of(observed, None, all)
}

async fn scale(client: &Client, identity: &Identity, deployment: &Deployment) -> Result<(), ApplyError> {
    if !runs(deployment) || !identity.made(&deployment.metadata) {
        return Ok(());
    }
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &identity.namespace);
    let patch = Patch::Merge(json!({"spec": {"replicas": 0}}));
    let stopped = within_limit(deployments.patch_scale(&identity.name, &parameters(), &patch)).await;
    stopped.map(drop).map_err(|error| classify(described::<Deployment>(&identity.name), error))
}

/// A server that is stopped cannot be asked for a backup.
async fn suspend(client: &Client, identity: &Identity, cron_job: &CronJob) -> Result<(), ApplyError> {
    let is_suspended = cron_job.spec.as_ref().is_some_and(|spec| spec.suspend == Some(true));
    if is_suspended || !identity.made(&cron_job.metadata) {
        return Ok(());
    }
    let name = identity.backup();
    let cron_jobs: Api<CronJob> = Api::namespaced(client.clone(), &identity.namespace);
    let patch = Patch::Merge(json!({"spec": {"suspend": true}}));
    match within_limit(cron_jobs.patch(&name, &parameters(), &patch)).await {
        Ok(_) => Ok(()),
        // It was deleted in between.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(classify(described::<CronJob>(&name), error)),
    }
}

fn parameters() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}
