//! Makes the objects of an engine as they were asked to be: the only step that changes something.

mod outcomes;
mod token;

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use outcomes::Outcomes;
use serde_json::json;

use super::build::{Desired, runs};
use super::hold::Hold;
use super::observe::Observed;
use super::prepare::{Prepared, Work};
use crate::apply::{ApplyError, ApplyOutcome, Refused, Writer, classify, described};
use crate::context::Context;
use crate::names::{FIELD_MANAGER, Identity};
use crate::requests::within_limit;

/// What was applied, and what there is since. Only [`apply`] makes one, of what was prepared: no status is written that was made of anything else.
#[derive(Debug)]
pub struct Applied {
    observed: Observed,
    hold: Option<Hold>,
    is_lagging: bool,
    refused: Option<Refused>,
}

impl Applied {
    /// What there is, with what came back.
    pub fn observed(&self) -> &Observed {
        &self.observed
    }

    /// Why it was left as it is.
    pub fn hold(&self) -> Option<Hold> {
        self.hold
    }

    /// Whether the caches do not show yet what was applied.
    pub fn is_lagging(&self) -> bool {
        self.is_lagging
    }

    /// Which objects the API server, or this operator, will not have.
    pub fn refused(&self) -> Option<&Refused> {
        self.refused.as_ref()
    }

    /// The same, at the end.
    pub fn into_refused(self) -> Option<Refused> {
        self.refused
    }
}

/// What was applied, unless something failed that may pass.
#[derive(Debug)]
pub struct Attempted {
    applied: Applied,
    failed: Option<ApplyError>,
}

impl Attempted {
    fn of(observed: Observed, hold: Option<Hold>, outcomes: Outcomes) -> Self {
        let (refused, is_lagging) = (outcomes.refusal(), outcomes.is_lagging);
        Self { applied: Applied { observed, hold, is_lagging, refused }, failed: outcomes.failed }
    }

    /// What there is, whatever failed.
    pub fn observed(&self) -> &Observed {
        &self.applied.observed
    }

    /// Why it was left as it is.
    pub fn hold(&self) -> Option<Hold> {
        self.applied.hold
    }

    /// What was applied.
    ///
    /// # Errors
    ///
    /// The first failure: nothing is said before it has passed.
    pub fn complete(self) -> Result<Applied, ApplyError> {
        match self.failed {
            Some(failed) => Err(failed),
            None => Ok(self.applied),
        }
    }
}

/// Does what was prepared.
pub async fn apply(context: &Context, identity: &Identity, prepared: Prepared) -> Attempted {
    let writer = Writer { client: &context.client, memory: &context.memory, identity };
    let (observed, work) = prepared.into_parts();
    match work {
        Work::Leave(hold) => Attempted::of(observed, hold, Outcomes::default()),
        Work::Stop(running) => {
            let failed = stop(&context.client, identity, &running).await.err();
            Attempted::of(observed, None, Outcomes { failed, ..Outcomes::default() })
        }
        Work::Apply(desired) => objects(&writer, *desired, observed).await,
        Work::ApplyInTurn(desired) => match context.defaults.rollouts.begin(&identity.uid) {
            Ok(()) => objects(&writer, *desired, observed).await,
            Err(others) => Attempted::of(observed, Some(Hold::Queued { others }), Outcomes::default()),
        },
    }
}

/// Applies everything that is asked for, and removes what no longer is, each whatever became of the others: but a pod is made or changed only when
/// what it mounts, and who may reach it, is as it was asked to be.
async fn objects(writer: &Writer<'_>, desired: Desired, observed: Observed) -> Attempted {
    // No `..`: another kind of object has to find its place here.
    let Desired {
        config_map,
        service_account,
        service,
        write_token,
        claim,
        network_policy,
        sync_network_policy,
        deployment,
    } = desired;
    let mut all = Outcomes::default();
    let service_account = all.take(writer.apply(service_account, observed.service_account).await);
    all.note(token::write_token(writer, write_token, observed.write_token.as_deref()).await);
    let network_policy = all.take(writer.apply_or_remove(network_policy, observed.network_policy).await);
    // A pod that is not changed keeps its settings: it reads them when it starts again.
    let is_changed = all.are_well() || !observed.deployment.as_deref().is_some_and(runs);
    let config_map = match config_map.filter(|_| is_changed) {
        Some(config_map) => all.take(writer.apply(config_map, observed.config_map).await),
        None => observed.config_map,
    };
    let may_run = all.are_well();
    let sync_network_policy = all.take(writer.apply_or_remove(sync_network_policy, observed.sync_network_policy).await);
    let claim = match claim {
        Some(claim) => all.take(self::claim(writer, claim, observed.claim).await),
        None => observed.claim,
    };
    let service = all.take(writer.apply(service, observed.service).await);
    let deployment = match deployment.filter(|deployment| may_run || !runs(deployment)) {
        Some(deployment) => all.take(writer.apply(deployment, observed.deployment).await),
        None => observed.deployment,
    };
    let observed = Observed {
        config_map,
        service_account,
        network_policy,
        sync_network_policy,
        claim,
        service,
        deployment,
        ..observed
    };
    Attempted::of(observed, None, all)
}

/// A claim that cannot be grown is applied with the size that it has: whatever else is asked for of it is done.
async fn claim(
    writer: &Writer<'_>,
    desired: PersistentVolumeClaim,
    live: Option<Arc<PersistentVolumeClaim>>,
) -> ApplyOutcome<PersistentVolumeClaim> {
    let has = live.as_ref().and_then(|live| live.spec.as_ref()?.resources.clone());
    let grown = writer.apply(desired.clone(), live).await;
    let (Err(ApplyError::Refused(_)), Some(has)) = (&grown.result, has) else { return grown };
    let mut as_large_as_it_is = desired;
    as_large_as_it_is.spec.get_or_insert_default().resources = Some(has);
    let kept = writer.apply(as_large_as_it_is, grown.live).await;
    ApplyOutcome { live: kept.live, result: kept.result.and(grown.result) }
}

/// Stops a server whose specification cannot be built: nothing else of it is changed.
async fn stop(client: &Client, identity: &Identity, deployment: &Deployment) -> Result<(), ApplyError> {
    if !runs(deployment) || !identity.made(&deployment.metadata) {
        return Ok(());
    }
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &identity.namespace);
    let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({"spec": {"replicas": 0}}));
    let stopped = within_limit(deployments.patch_scale(&identity.name, &parameters, &patch)).await;
    stopped.map(drop).map_err(|error| classify(described::<Deployment>(&identity.name), error))
}
