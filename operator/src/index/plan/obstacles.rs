use ragengine_operator_api::{ConditionStatus, ConditionType, RagEngine, Reason};

use super::{PlanInput, State};
use crate::finding::{Finding, quoted};
use crate::index::observe::{Observed, ObservedReference};
use crate::names::HOSTS_ANNOTATION;
use crate::watches::Referred;

/// The maximum length of an engine's message within a message of the Index, in characters.
const MAX_WORDS: usize = 200;

/// What prevents a synchronisation from starting: causes come before their consequences.
pub(super) fn of(input: PlanInput<'_>) -> Option<State> {
    let observed = input.observed;
    let invalid = input.validated.err().map(|invalid| Finding::new(Reason::InvalidSpec, invalid.to_string()));
    let blocked = invalid
        .or_else(|| rival(input))
        .or_else(|| no_engine(input))
        .or_else(|| missing(observed))
        .or_else(|| refused(observed));
    let engine = observed.engine.as_deref();
    let is_ready = engine.is_some_and(|engine| accepts_documents(observed, engine));
    let not_yet = || (!is_ready).then(|| not_ready(observed)).or_else(|| unbounded(observed));
    blocked.map(State::Blocked).or_else(|| not_yet().or_else(|| cleared(observed)).map(State::Waiting))
}

fn unbounded(observed: &Observed) -> Option<Finding> {
    let message = "waiting for the NetworkPolicy of networkPolicy.syncEgress of the RAGEngine: \
                   if it is not created, see the condition Ready of the RAGEngine";
    observed.is_unbounded.then(|| Finding::new(Reason::EngineNotReady, message))
}

fn cleared(observed: &Observed) -> Option<Finding> {
    let message = "waiting until the documents of a deleted Index of the same name are removed";
    observed.is_cleared.then(|| Finding::new(Reason::Deleting, message))
}

fn rival(input: PlanInput<'_>) -> Option<Finding> {
    let rival = input.observed.rival.as_ref()?;
    Some(Finding::new(
        Reason::SettingsConflict,
        format!(
            "the older Index {rival} fills the index {} of the same engine with a different chunking, vectorIndex or \
             access: use the same settings, or create a new Index with another indexName",
            input.index.index_name()
        ),
    ))
}

fn no_engine(input: PlanInput<'_>) -> Option<Finding> {
    let name = &input.index.spec.engine_ref.name;
    let problem = match &input.observed.engine {
        None => "does not exist in this namespace: create it, and the Index continues",
        Some(engine) if engine.metadata.deletion_timestamp.is_some() => {
            "is being deleted: create it again, and the Index continues"
        }
        Some(_) => return None,
    };
    Some(Finding::new(Reason::EngineNotFound, format!("RAGEngine {name} {problem}")))
}

/// Objects that the specification refers to and that do not exist.
fn missing(observed: &Observed) -> Option<Finding> {
    let missing: Vec<_> = observed.references.iter().filter(|seen| seen.version.is_none()).collect();
    let reason = match missing.first()?.kind {
        Referred::Secret => Reason::SecretMissing,
        Referred::ConfigMap => Reason::ConfigMapMissing,
        Referred::Claim | Referred::Engine => Reason::ClaimMissing,
    };
    let names: Vec<_> = missing.iter().map(|seen| seen.what.as_str()).collect();
    let (is_missing, it) = if names.len() == 1 { ("does not exist", "it") } else { ("do not exist", "them") };
    let message = format!(
        "{} {is_missing} in this namespace: create {it}, and the Index continues. \
         Until then no source is read",
        names.join(" and ")
    );
    Some(Finding::new(reason, message))
}

/// A Secret that must not be used, or lacks a required list of hosts.
fn refused(observed: &Observed) -> Option<Finding> {
    let refused = |reference: &ObservedReference| {
        let what = &reference.what;
        let why = reference.refusal;
        let why = why.map(|why| format!("{what} must not be used by a source: {why}. Use another Secret"));
        let is_silent = observed.hosts_are_required
            && reference.kind == Referred::Secret
            && reference.is_watched
            && reference.hosts.is_none();
        why.or_else(|| {
            is_silent.then(|| {
                format!(
                    "{what} has no annotation {HOSTS_ANNOTATION}, which this operator requires: \
                     kubectl annotate secret {} {HOSTS_ANNOTATION}=HOST[,HOST]",
                    reference.name
                )
            })
        })
    };
    observed.references.iter().find_map(refused).map(|message| Finding::new(Reason::SecretRefused, message))
}

/// Whether the engine accepts documents: its server reports ready, or its condition Ready is True (and not stopped), or
/// only something that documents do not need fails.
fn accepts_documents(observed: &Observed, engine: &RagEngine) -> bool {
    let conditions = engine.status.iter().flat_map(|status| &status.conditions);
    let ready = conditions.into_iter().find(|condition| condition.type_ == ConditionType::Ready);
    observed.server_is_ready
        || ready.is_some_and(|ready| match ready.status {
            ConditionStatus::True => ready.reason != Reason::Stopped,
            _ => matches!(
                ready.reason,
                Reason::InferenceServiceFailed
                    | Reason::PostgresFailed
                    | Reason::RedisFailed
                    | Reason::RerankerFailed
                    | Reason::EventsFailed
                    | Reason::GuardrailsFailed
            ),
        })
}

/// Why the engine does not accept documents.
pub(super) fn not_ready(observed: &Observed) -> Finding {
    let Some(engine) = observed.engine.as_deref() else {
        return Finding::new(Reason::EngineNotFound, "the engine does not exist");
    };
    let name = engine.metadata.name.as_deref().unwrap_or_default();
    let conditions = engine.status.iter().flat_map(|status| &status.conditions);
    let ready = conditions.into_iter().find(|condition| condition.type_ == ConditionType::Ready);
    let why = match ready {
        Some(ready) if ready.status != ConditionStatus::True || ready.reason == Reason::Stopped => {
            quoted(&ready.message, MAX_WORDS)
        }
        _ => "its state is not known yet".to_owned(),
    };
    Finding::new(Reason::EngineNotReady, format!("waiting until RAGEngine {name} accepts documents: {why}"))
}
