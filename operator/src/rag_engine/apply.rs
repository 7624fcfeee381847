//! Writes the objects of an engine: the only step that changes something in the cluster.

mod deployment;
pub mod nodes;
mod outcomes;
mod stop;
mod token;

use std::sync::Arc;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use nodes::NodeWriter;
use outcomes::Outcomes;
use ragengine_operator_api::RagEngine;

use super::backups::ObservedBackups;
use super::build::{Desired, mounts, runs};
use super::hold::Hold;
use super::nodes::Users;
use super::observe::Observed;
use super::prepare::{Prepared, Work};
use crate::apply::{ApplyError, ApplyOutcome, Freshness, Refused, Writer};
use crate::context::Context;
use crate::names::Identity;

/// The result of a complete apply. Only [`apply`] creates one, so that a status always describes what was really
/// applied.
#[derive(Debug)]
pub struct Applied {
    observed: Observed,
    hold: Option<Hold>,
    is_lagging: bool,
    refused: Option<Refused>,
}

impl Applied {
    /// The observed objects, updated with the API server's replies.
    pub fn observed(&self) -> &Observed {
        &self.observed
    }

    /// Why the engine was not changed, if so.
    pub fn hold(&self) -> Option<Hold> {
        self.hold
    }

    /// Whether the caches do not show yet what was applied.
    pub fn is_lagging(&self) -> bool {
        self.is_lagging
    }

    /// The objects that the API server or the operator refused, if any.
    pub fn refused(&self) -> Option<&Refused> {
        self.refused.as_ref()
    }

    /// Consumes this and returns the refused objects, if any.
    pub fn into_refused(self) -> Option<Refused> {
        self.refused
    }
}

/// The result of an apply that may have failed temporarily.
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

    /// The observed objects, also after a failure.
    pub fn observed(&self) -> &Observed {
        &self.applied.observed
    }

    /// Why the engine was not changed, if so.
    pub fn hold(&self) -> Option<Hold> {
        self.applied.hold
    }

    /// The complete result.
    ///
    /// # Errors
    ///
    /// The first temporary failure. No status is written until it has passed.
    pub fn complete(self) -> Result<Applied, ApplyError> {
        match self.failed {
            Some(failed) => Err(failed),
            None => Ok(self.applied),
        }
    }
}

/// Executes the prepared work.
pub async fn apply(context: &Context, engine: &RagEngine, prepared: Prepared) -> Attempted {
    let identity = &Identity::of(engine);
    let writer = Writer { client: &context.client, memory: &context.memory, identity };
    let nodes = NodeWriter { client: &context.client, attempts: &context.attempts, engine };
    let (observed, work) = prepared.into_parts();
    match work {
        Work::Leave(hold) => Attempted::of(observed, hold, Outcomes::default()),
        Work::Stop => stop::stop(&context.client, &nodes, identity, observed).await,
        Work::Apply(desired) => objects(&writer, &nodes, *desired, observed).await,
        Work::ApplyInTurn(desired) => match context.defaults.rollouts.begin(&identity.uid) {
            Ok(()) => objects(&writer, &nodes, *desired, observed).await,
            Err(others) => in_queue(&writer, *desired, observed, Hold::Queued { others }).await,
        },
    }
}

/// Applies all desired objects and removes those that are no longer desired. One failure does not stop the other
/// objects, except that the pod is created or changed only if its mounts and network policies are in place.
async fn objects(
    writer: &Writer<'_>,
    node_writer: &NodeWriter<'_>,
    desired: Desired,
    mut observed: Observed,
) -> Attempted {
    // No `..`: the compiler must point here when a kind of object is added.
    let Desired {
        config_map,
        auth,
        service_account,
        service,
        ingress,
        http_route,
        write_token,
        node_claims,
        claim,
        network_policy,
        sync_network_policy,
        autoscaler,
        disruption_budget,
        backup_task,
        backup,
        deployment,
    } = desired;
    let mut all = Outcomes::default();
    let service_account = all.take(writer.apply(service_account, observed.service_account).await);
    all.note(token::write_token(writer, write_token, observed.write_token.as_deref()).await);
    let network_policy = all.take(writer.apply_or_remove(network_policy, observed.network_policy).await);
    // The pod mounts it.
    let (auth, has_auth) = match auth {
        Some(auth) => (all.take(writer.apply(auth, observed.auth).await), true),
        None => (observed.auth, false),
    };
    // An unchanged pod keeps its settings file, because it reads the file again when it restarts.
    let is_changed = all.are_well() || !observed.deployment.as_deref().is_some_and(runs);
    let config_map = match config_map.filter(|_| is_changed) {
        Some(config_map) => all.take(writer.apply(config_map, observed.config_map).await),
        None => observed.config_map,
    };
    let may_run = all.are_well();
    let sync_network_policy = all.take(writer.apply_or_remove(sync_network_policy, observed.sync_network_policy).await);
    let task = all.take(writer.apply_or_remove(backup_task, observed.backups.task.clone()).await);
    let cron_job = all.take(writer.apply_or_remove(backup, observed.backups.cron_job.clone()).await);
    let claim = match claim {
        Some(claim) => all.take(self::claim(writer, claim, observed.claim).await),
        None => observed.claim,
    };
    let service = all.take(writer.apply(service, observed.service).await);
    let ingress = all.take(writer.apply_or_remove(ingress, observed.ingress).await);
    let http_route = all.take(writer.apply_or_remove(http_route, observed.http_route).await);
    let deployment = match deployment.filter(|deployment| may_run || !runs(deployment)) {
        Some(deployment) => {
            all.note(node_writer.provide(&node_claims, &mut observed.nodes).await.map(|()| Freshness::Current));
            let placed = deployment::deployment(writer, deployment, observed.deployment).await;
            // A pod that could not be changed still runs on its node. A Deployment that the cache shows as it was says
            // nothing about the nodes of its new pods.
            if matches!(placed.result, Ok(Freshness::Current)) {
                // Those of an engine that is stopped are not waited for.
                let pods = if node_writer.engine.spec.replicas > 0 { observed.pods.as_slice() } else { &[] };
                let users = Users { pods, deployment: placed.live.as_deref() };
                let removed = node_writer.remove_others(&node_claims, &mut observed.nodes, users).await;
                all.note(removed.map(|()| Freshness::Current));
            }
            all.take(placed)
        }
        // A pod that is kept keeps its node.
        None => observed.deployment,
    };
    // A pod that is kept mounts it, even if the specification no longer asks for it.
    let is_mounted = deployment.as_deref().is_some_and(|live| mounts(live, &writer.identity.auth()));
    let auth = if has_auth || is_mounted { auth } else { all.take(writer.apply_or_remove(None, auth).await) };
    let autoscaler = all.take(writer.apply_or_remove(autoscaler, observed.autoscaler).await);
    let disruption_budget = all.take(writer.apply_or_remove(disruption_budget, observed.disruption_budget).await);
    let observed = Observed {
        config_map,
        auth,
        service_account,
        network_policy,
        sync_network_policy,
        claim,
        service,
        ingress,
        http_route,
        deployment,
        autoscaler,
        disruption_budget,
        backups: ObservedBackups { task, cron_job, ..observed.backups },
        ..observed
    };
    Attempted::of(observed, None, all)
}

/// Applies what needs no restart and must not wait: a right that was taken away, and new keys of tokens.
async fn in_queue(writer: &Writer<'_>, desired: Desired, observed: Observed, hold: Hold) -> Attempted {
    let mut all = Outcomes::default();
    let auth = match desired.auth {
        Some(auth) => all.take(writer.apply(auth, observed.auth).await),
        None => observed.auth,
    };
    Attempted::of(Observed { auth, ..observed }, Some(hold), all)
}

/// Applies a claim. If it cannot grow, it is applied with its current size, so that its other fields are updated.
async fn claim(
    writer: &Writer<'_>,
    desired: PersistentVolumeClaim,
    live: Option<Arc<PersistentVolumeClaim>>,
) -> ApplyOutcome<PersistentVolumeClaim> {
    let has = live.as_ref().and_then(|live| live.spec.as_ref()?.resources.clone());
    let grown = writer.apply(desired.clone(), live).await;
    let (Err(ApplyError::Refused(_)), Some(has)) = (&grown.result, has) else { return grown };
    let mut with_current_size = desired;
    with_current_size.spec.get_or_insert_default().resources = Some(has);
    let kept = writer.apply(with_current_size, grown.live).await;
    ApplyOutcome { live: kept.live, result: kept.result.and(grown.result) }
}
