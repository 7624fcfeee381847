//! Computes the status from what was observed and applied. Pure functions.

mod backup;
mod claim;
mod conditions;
mod deployment;
mod nodes;
mod not_acted_on;
mod pod;
mod server;
mod step;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_operator_api::{ConditionType, GUARDRAILS_POLICY, RagEngine, RagEngineStatus, Reason};
use step::{Clients, Step};

use super::hold::Hold;
use super::observe::Observed;
use super::references::ReferenceKind;
use super::settings::has_modes;
use crate::apply::Refused;
use crate::defaults::Defaults;
use crate::finding::{Conditions, Finding, Invalid, quoted, refusal};
use crate::names::Identity;
use crate::scheme::service_url;

/// The input of the status, known at the end of a reconcile.
#[derive(Debug, Clone, Copy)]
pub struct StatusInput<'a> {
    /// The resource.
    pub engine: &'a RagEngine,
    /// Why the specification is invalid, if it is.
    pub invalid: Option<&'a Invalid>,
    /// The objects that the API server refused, if any.
    pub refused: Option<&'a Refused>,
    /// The observed objects, including those that were just applied.
    pub observed: &'a Observed,
    /// Why documents of a deleted Index could not be removed.
    pub remains: Option<&'a Finding>,
    /// Whether the watch caches already show the applied objects. Until they do, the rollout counts as unfinished.
    pub is_current: bool,
    /// Why the engine is not changed at the moment.
    pub hold: Option<Hold>,
}

/// Computes the status. `previous` is the status that was written last: a condition whose status did not change keeps
/// its transition time.
pub fn status(input: StatusInput<'_>, previous: &RagEngineStatus, defaults: &Defaults, now: &Time) -> RagEngineStatus {
    let identity = Identity::of(input.engine);
    let observed = input.observed;
    let endpoint = format!("{}/v1", service_url(input.engine, defaults));
    let backups = backup::backup(input.engine, &observed.backups, previous.backup.as_ref(), now);
    let findings = Findings {
        problem: problem(input),
        waiting: waiting(input),
        hint: surplus_problem(input)
            .or_else(|| server::unreachable(observed))
            .or_else(|| input.remains.cloned())
            .or_else(|| no_gateways(input.engine, observed))
            .or_else(|| nodes::hint(input.engine, observed).filter(|_| !is_interrupted(input)))
            .or_else(|| backups.as_ref().and_then(|_| observed.backups.obstacle.clone()))
            .or_else(|| backup::stuck(observed))
            .or_else(|| backups.as_ref().and_then(backup::failure)),
        hold: input.hold,
        as_asked: as_asked(input.engine, observed, &endpoint, defaults),
    };
    let generation = match input.hold {
        // The operator does not act on a specification that changes during a pause.
        Some(Hold::Paused) => previous.observed_generation,
        Some(Hold::Queued { .. }) | None => input.engine.metadata.generation,
    };
    let common = Conditions { previous: &previous.conditions, observed_generation: generation, now };
    let loaded = observed.loaded_status();
    let (replicas, ready_replicas) = deployment::replicas(observed.deployment.as_deref());
    let of_backups = backups.as_ref().map(|status| {
        let condition = backup::condition(input.engine, &observed.backups, status, now);
        common.condition(ConditionType::BackupSucceeded, condition)
    });
    RagEngineStatus {
        conditions: conditions::conditions(&findings, common).into_iter().chain(of_backups).collect(),
        observed_generation: generation,
        endpoint: observed.service.is_some().then_some(endpoint),
        replicas,
        ready_replicas,
        selector: Some(identity.selector_text()),
        indexes: loaded.map(|loaded| loaded.indexes).or(previous.indexes),
        documents: loaded.map(|loaded| loaded.documents).or(previous.documents),
        data_id: loaded.and_then(|loaded| loaded.data_id.clone()).or_else(|| previous.data_id.clone()),
        worker_nodes: nodes::names(observed),
        backup: backups,
    }
}

/// Whether no change is in progress, no problem is known and nothing is held.
pub fn is_done(input: StatusInput<'_>) -> bool {
    input.hold.is_none() && problem(input).is_none() && waiting(input).is_none()
}

/// The findings that the conditions are computed from.
struct Findings {
    /// A problem that waiting does not solve.
    problem: Option<Finding>,
    /// A step that is not finished.
    waiting: Option<Step>,
    /// A problem that does not affect clients.
    hint: Option<Finding>,
    /// Why the engine is not changed.
    hold: Option<Hold>,
    /// Why the engine is Ready, if nothing else is found.
    as_asked: Finding,
}

/// The most important problem: causes come before their consequences.
fn problem(input: StatusInput<'_>) -> Option<Finding> {
    let observed = input.observed;
    let of_the_specification = || {
        let invalid = input.invalid.map(|invalid| Finding::new(Reason::InvalidSpec, invalid.to_string()));
        let refused = || input.refused.map(|refused| Finding::new(Reason::ObjectRefused, refusal(refused)));
        let keys = || unreadable_keys(input.engine, observed);
        invalid.or_else(refused).or_else(|| missing(observed)).or_else(|| refused_secret(observed)).or_else(keys)
    };
    let of_the_engine = || {
        claim::problem(input.engine, observed)
            .or_else(|| of_a_pod(input).filter(|_| !is_served(input)))
            .or_else(|| missing_policy(observed))
            .or_else(|| server::problem(input.engine, observed))
    };
    of_the_specification().or_else(|| (input.engine.spec.replicas > 0).then(of_the_engine).flatten())
}

/// Whether enough pods serve, whatever is with the others.
fn is_served(input: StatusInput<'_>) -> bool {
    deployment::is_served(input.engine.spec.pods(), input.observed.deployment.as_deref())
}

/// The problem of a pod besides those that serve, such as the first one of a new version. It does not affect clients.
fn surplus_problem(input: StatusInput<'_>) -> Option<Finding> {
    is_served(input).then(|| of_a_pod(input)).flatten()
}

/// Why a pod does not serve.
fn of_a_pod(input: StatusInput<'_>) -> Option<Finding> {
    let observed = input.observed;
    // A server that has not reported yet serves.
    let is_available =
        deployment::waiting(input.engine.spec.pods(), observed).is_none_or(|step| step.clients == Clients::AsBefore);
    // Until the pod has its node, it cannot be scheduled.
    let awaits_node = !is_available && nodes::waiting(input.engine, observed).is_some();
    let is_no_consequence = |finding: &Finding| !awaits_node || finding.reason != Reason::PodUnschedulable;
    let explained = |finding| nodes::explained(input.engine, observed, finding);
    deployment::problem(observed.deployment.as_deref())
        // A pod that runs has a node.
        .or_else(|| nodes::problem(input.engine, observed).filter(|_| !is_available))
        .or_else(|| pod::problem(observed).filter(is_no_consequence).map(explained))
}

/// Secrets and ConfigMaps that the pod refers to and that do not exist.
fn missing(observed: &Observed) -> Option<Finding> {
    let missing: Vec<_> = observed.missing().collect();
    let reason = match missing.first()?.kind {
        ReferenceKind::Secret => Reason::SecretMissing,
        ReferenceKind::ConfigMap => Reason::ConfigMapMissing,
    };
    let names: Vec<_> = missing.iter().map(ToString::to_string).collect();
    let (is_missing, it) = if names.len() == 1 { ("does not exist", "it") } else { ("do not exist", "them") };
    let message = format!(
        "{} {is_missing} in this namespace: create {it}, and the engine continues. \
         Until then its pod is not created or changed",
        names.join(" and ")
    );
    Some(Finding::new(reason, message))
}

/// Keys of the cluster's tokens that cannot be read, and of which there are no earlier ones.
fn unreadable_keys(engine: &RagEngine, observed: &Observed) -> Option<Finding> {
    let error = observed.known_issuer.error.as_ref().filter(|_| lacks_keys(engine, observed))?;
    let message = format!(
        "the keys of the cluster's ServiceAccount tokens cannot be read from the API server ({}): check that the operator \
         may get /.well-known/openid-configuration and /openid/v1/jwks, such as by the ClusterRole \
         system:service-account-issuer-discovery. Until then the pod is not created or changed",
        quoted(error, 200)
    );
    Some(Finding::new(Reason::TokenKeysUnreadable, message))
}

fn lacks_keys(engine: &RagEngine, observed: &Observed) -> bool {
    // A server that is to be stopped needs no keys.
    let is_made = engine.spec.replicas > 0 || observed.deployment.is_none();
    is_made && has_modes(&engine.spec) && observed.issuer().is_none()
}

/// An HTTPRoute in a cluster without the Gateway API. Clients in the cluster are served.
fn no_gateways(engine: &RagEngine, observed: &Observed) -> Option<Finding> {
    let message = "httpRoute has no effect, because the cluster has no HTTPRoutes (gateway.networking.k8s.io/v1): \
                   install the Gateway API and restart the operator, or use ingress instead";
    let is_without = engine.spec.http_route.is_some() && !observed.has_gateways;
    is_without.then(|| Finding::new(Reason::GatewayApiMissing, message))
}

/// A policy of guardrails that does not exist. The server runs without it.
fn missing_policy(observed: &Observed) -> Option<Finding> {
    let policy = observed.missing_policy()?;
    let message = format!(
        "{policy} does not exist in this namespace: create it with the policy under the key {GUARDRAILS_POLICY}. \
         Until then chats get a 503"
    );
    Some(Finding::new(Reason::ConfigMapMissing, message))
}

/// A Secret that exists but must not be used in this way.
fn refused_secret(observed: &Observed) -> Option<Finding> {
    let (seen, why) = observed.references.iter().find_map(|seen| Some((seen, seen.refusal.as_ref()?)))?;
    let message = format!(
        "{} must not be used: {why}. Use another Secret. Until then the pod is not created or changed",
        seen.reference
    );
    Some(Finding::new(Reason::SecretRefused, message))
}

/// The change that is in progress.
fn waiting(input: StatusInput<'_>) -> Option<Step> {
    let observed = input.observed;
    let of_the_pod = deployment::waiting(input.engine.spec.pods(), observed);
    if !input.is_current {
        let message =
            "the operator has just changed objects of the engine: waiting until the API server reports the changes";
        // What the caches show of the pods is a moment old.
        let clients = match of_the_pod {
            Some(step) => step.clients,
            None if is_served(input) => Clients::Served,
            None => Clients::AsBefore,
        };
        return Some(Step { finding: Finding::new(Reason::RollingOut, message), clients });
    }
    if lacks_keys(input.engine, observed) {
        let message = "waiting until the operator has read the keys of the cluster's ServiceAccount tokens";
        return Some(Step { finding: Finding::new(Reason::RollingOut, message), clients: Clients::NotServed });
    }
    match of_the_pod {
        Some(Step { finding, clients }) => {
            Some(Step { finding: nodes::waiting(input.engine, observed).unwrap_or(finding), clients })
        }
        // The pods serve on the node that is replaced.
        None => nodes::replacing(observed).map(|finding| Step { finding, clients: Clients::Served }),
    }
}

/// Whether too few pods serve until the change is finished.
fn is_interrupted(input: StatusInput<'_>) -> bool {
    waiting(input).is_some_and(|step| step.clients == Clients::NotServed)
}

/// Why the engine is Ready. A stopped engine is in the state that its specification asks for. The message of one that
/// serves lists the fields that have no effect, so that users do not rely on them.
fn as_asked(engine: &RagEngine, observed: &Observed, endpoint: &str, defaults: &Defaults) -> Finding {
    if engine.spec.replicas == 0 {
        let has_claim = Identity::of(engine).claim_of(&engine.spec).is_some();
        let indexes = match (engine.spec.is_external(), has_claim) {
            (true, _) => "Its indexes stay in the vector database",
            (false, true) => "Its volume is kept",
            (false, false) => "Its indexes were deleted with its pod: it has no volume",
        };
        let message = format!("the engine is stopped because replicas is 0: set replicas: 1 to start it. {indexes}");
        return Finding::new(Reason::Stopped, message);
    }
    let serving = format!("requests are served at {endpoint}");
    let count = nodes::count_not_acted_on(engine, observed);
    let count = count.or_else(|| nodes::count_beyond_limit(engine, observed, defaults));
    let message =
        [serving].into_iter().chain(not_acted_on::of(&engine.spec)).chain(count).collect::<Vec<_>>().join(". ");
    Finding::new(Reason::Serving, message)
}
