use ragengine_operator_api::{ConditionStatus, ConditionType, RagEngine, Reason};

use super::{PlanInput, State};
use crate::finding::Finding;
use crate::index::observe::{Observed, ObservedReference};
use crate::watches::Referred;

/// The longest part of an engine's own words.
const MAX_WORDS: usize = 200;

/// What keeps a synchronisation from beginning, the causes before what follows from them.
pub(super) fn of(known: PlanInput<'_>) -> Option<State> {
    let observed = known.observed;
    let invalid = known.validated.err().map(|invalid| Finding::new(Reason::InvalidSpec, invalid.to_string()));
    let blocked = invalid
        .or_else(|| rival(known))
        .or_else(|| no_engine(known))
        .or_else(|| missing(observed))
        .or_else(|| refused(observed));
    let engine = observed.engine.as_deref();
    let takes = engine.is_some_and(|engine| takes_documents(observed, engine));
    let not_yet = || (!takes).then(|| not_ready(observed)).or_else(|| unbounded(observed));
    blocked.map(State::Blocked).or_else(|| not_yet().or_else(|| cleared(observed)).map(State::Waiting))
}

fn unbounded(observed: &Observed) -> Option<Finding> {
    let words = "waiting for the NetworkPolicy of networkPolicy.syncEgress of the RAGEngine: if it is not created, see the condition Ready of the RAGEngine";
    observed.is_unbounded.then(|| Finding::new(Reason::EngineNotReady, words))
}

fn cleared(observed: &Observed) -> Option<Finding> {
    let words =
        "waiting until the documents of a deleted Index of the same name are removed";
    observed.is_cleared.then(|| Finding::new(Reason::Deleting, words))
}

fn rival(known: PlanInput<'_>) -> Option<Finding> {
    let rival = known.observed.rival.as_ref()?;
    Some(Finding::new(
        Reason::SettingsConflict,
        format!(
            "the older Index {rival} fills the index {} of the same engine with a different chunking or vectorIndex: use the same settings, or create a new Index with another indexName",
            known.index.index_name()
        ),
    ))
}

fn no_engine(known: PlanInput<'_>) -> Option<Finding> {
    let name = &known.index.spec.engine_ref.name;
    let words = match &known.observed.engine {
        None => "does not exist in this namespace: create it, and the Index continues",
        Some(engine) if engine.metadata.deletion_timestamp.is_some() => "is being deleted, and its indexes with it: refer to another RAGEngine, or delete this Index",
        Some(_) => return None,
    };
    Some(Finding::new(Reason::EngineNotFound, format!("RAGEngine {name} {words}")))
}

/// What is referred to and is not there.
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
        "{} {is_missing} in this namespace: create {it}, and the Index continues. Until then no source is read",
        names.join(" and ")
    );
    Some(Finding::new(reason, message))
}

/// A Secret that may not be used, or does not say for what.
fn refused(observed: &Observed) -> Option<Finding> {
    let refused = |reference: &ObservedReference| {
        let what = &reference.what;
        let why = reference.refusal.map(|why| format!("{what} must not be used by a source: {why}. Use another Secret"));
        let is_silent = observed.hosts_are_required
            && reference.kind == Referred::Secret
            && reference.is_watched
            && reference.hosts.is_none();
        why.or_else(|| {
            is_silent.then(|| {
                format!(
                    "{what} does not say which hosts it may be sent to, which this operator requires: kubectl annotate secret {} ragengine.dev/hosts=HOST",
                    reference.name
                )
            })
        })
    };
    observed.references.iter().find_map(refused).map(|message| Finding::new(Reason::SecretRefused, message))
}

/// Whether documents can be written and deleted: the server says so itself, whatever else is wrong with the engine; or no problem is known with that,
/// or only its language model.
fn takes_documents(observed: &Observed, engine: &RagEngine) -> bool {
    let conditions = engine.status.iter().flat_map(|status| &status.conditions);
    let ready = conditions.into_iter().find(|condition| condition.type_ == ConditionType::Ready);
    observed.server_is_ready
        || ready.is_some_and(|ready| match ready.status {
            ConditionStatus::True => ready.reason != Reason::Stopped,
            _ => ready.reason == Reason::InferenceServiceFailed,
        })
}

/// Why they cannot.
pub(super) fn not_ready(observed: &Observed) -> Finding {
    let Some(engine) = observed.engine.as_deref() else {
        return Finding::new(Reason::EngineNotFound, "the engine does not exist");
    };
    let name = engine.metadata.name.as_deref().unwrap_or_default();
    let conditions = engine.status.iter().flat_map(|status| &status.conditions);
    let ready = conditions.into_iter().find(|condition| condition.type_ == ConditionType::Ready);
    let why = match ready {
        Some(ready) if ready.status != ConditionStatus::True || ready.reason == Reason::Stopped => {
            ready.message.chars().take(MAX_WORDS).collect()
        }
        _ => "its state is not known yet".to_owned(),
    };
    Finding::new(
        Reason::EngineNotReady,
        format!("RAGEngine {name} does not accept documents now ({why}): the Index continues when it does"),
    )
}
