//! What became of it: pure, from what was observed and applied.

mod claim;
mod conditions;
mod deployment;
mod not_acted_on;
mod pod;
mod server;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_operator_api::{RagEngine, RagEngineStatus, Reason};

use super::hold::Hold;
use super::observe::Observed;
use super::references::ReferenceKind;
use crate::apply::Refused;
use crate::defaults::Defaults;
use crate::finding::{Conditions, Finding, Invalid};
use crate::names::Identity;

/// What is known at the end of a reconcile.
#[derive(Debug, Clone, Copy)]
pub struct StatusInput<'a> {
    /// The resource.
    pub engine: &'a RagEngine,
    /// Why its specification cannot be built, if it cannot.
    pub invalid: Option<&'a Invalid>,
    /// Which of its objects the API server refused, if it did.
    pub refused: Option<&'a Refused>,
    /// What there is, with what was applied.
    pub observed: &'a Observed,
    /// Documents of an Index that is gone could not be deleted.
    pub remains: Option<&'a Finding>,
    /// Whether the caches show what was applied. Until they do, nothing is taken for finished.
    pub is_current: bool,
    /// Why it is left as it is, for now.
    pub hold: Option<Hold>,
}

/// The status. `previous` is the one that was written last: a condition that did not flip keeps its time.
pub fn status(known: StatusInput<'_>, previous: &RagEngineStatus, defaults: &Defaults, now: &Time) -> RagEngineStatus {
    let identity = Identity::of(known.engine);
    let observed = known.observed;
    let endpoint = format!("http://{}.{}.svc.{}/v1", identity.name, identity.namespace, defaults.cluster_domain);
    let findings = Findings {
        problem: problem(known),
        waiting: waiting(known),
        hint: server::unreachable(observed).or_else(|| known.remains.cloned()),
        is_stopped: known.engine.spec.replicas == 0,
        hold: known.hold,
        serving: serving(known.engine, &endpoint),
    };
    let generation = match known.hold {
        // A specification that was changed meanwhile is not acted on.
        Some(Hold::Paused) => previous.observed_generation,
        Some(Hold::Queued { .. }) | None => known.engine.metadata.generation,
    };
    let common = Conditions { previous: &previous.conditions, observed_generation: generation, now };
    let loaded = observed.loaded_status();
    RagEngineStatus {
        conditions: conditions::conditions(&findings, common),
        observed_generation: generation,
        endpoint: observed.service.is_some().then_some(endpoint),
        replicas: deployment::replicas(observed.deployment.as_deref()),
        selector: Some(identity.selector_in_words()),
        indexes: loaded.map(|loaded| loaded.indexes).or(previous.indexes),
        documents: loaded.map(|loaded| loaded.documents).or(previous.documents),
        data_id: loaded.and_then(|loaded| loaded.data_id.clone()).or_else(|| previous.data_id.clone()),
    }
}

/// Whether nothing is on its way, wrong or held.
pub fn is_done(known: StatusInput<'_>) -> bool {
    known.hold.is_none() && problem(known).is_none() && waiting(known).is_none()
}

/// What the conditions are made of.
struct Findings {
    /// What is wrong, and does not go away by waiting.
    problem: Option<Finding>,
    /// What is not finished.
    waiting: Option<Finding>,
    /// What is wrong and keeps nobody from being served.
    hint: Option<Finding>,
    is_stopped: bool,
    /// Why it is left as it is.
    hold: Option<Hold>,
    serving: String,
}

/// The first thing that is wrong, the causes before what follows from them.
fn problem(known: StatusInput<'_>) -> Option<Finding> {
    let observed = known.observed;
    let of_the_specification = || {
        let invalid = known.invalid.map(|invalid| Finding::new(Reason::InvalidSpec, invalid.to_string()));
        let refused = || known.refused.map(|refused| Finding::new(Reason::ObjectRefused, refused.to_string()));
        invalid.or_else(refused).or_else(|| missing(observed)).or_else(|| refused_secret(observed))
    };
    let of_the_pod = || {
        claim::problem(known.engine, observed)
            .or_else(|| deployment::problem(observed.deployment.as_deref()))
            .or_else(|| pod::problem(observed))
            .or_else(|| server::problem(observed))
    };
    of_the_specification().or_else(|| (known.engine.spec.replicas > 0).then(of_the_pod).flatten())
}

/// A Secret or ConfigMap that is referred to and is not there.
fn missing(observed: &Observed) -> Option<Finding> {
    let missing: Vec<_> = observed.missing().collect();
    let reason = match missing.first()?.kind {
        ReferenceKind::Secret => Reason::SecretMissing,
        ReferenceKind::ConfigMap => Reason::ConfigMapMissing,
    };
    let names: Vec<_> = missing.iter().map(ToString::to_string).collect();
    let (is_missing, it) = if names.len() == 1 { ("does not exist", "it") } else { ("do not exist", "them") };
    let message = format!(
        "{} {is_missing} in this namespace: create {it}, and the engine continues. Until then its pod is not created or changed",
        names.join(" and ")
    );
    Some(Finding::new(reason, message))
}

/// A Secret that is there and may not be used so.
fn refused_secret(observed: &Observed) -> Option<Finding> {
    let (seen, why) = observed.references.iter().find_map(|seen| Some((seen, seen.refusal.as_ref()?)))?;
    let words = format!("{} must not be used: {why}. Until this is corrected, the pod is not created or changed", seen.reference);
    Some(Finding::new(Reason::SecretRefused, words))
}

/// What is on its way.
fn waiting(known: StatusInput<'_>) -> Option<Finding> {
    let observed = known.observed;
    if !known.is_current {
        return Some(Finding::new(Reason::RollingOut, "objects were just changed: waiting until the operator's watches show them"));
    }
    deployment::waiting(known.engine.spec.replicas, observed)
}

/// What Ready says when all is well; and which fields are only accepted, so that nobody relies on them.
fn serving(engine: &RagEngine, endpoint: &str) -> String {
    let answered = format!("requests are served at {endpoint}");
    [answered].into_iter().chain(not_acted_on::of(&engine.spec)).collect::<Vec<_>>().join(". ")
}
