//! Computes the status from what was observed, planned and done. Pure functions.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_client::wire::{GrowingGeneration, SourceSync};
use ragengine_operator_api::{
    Condition, ConditionStatus, ConditionType, Index, IndexStatus, LastSync, PAUSED_ANNOTATION, Reason, SyncResult,
    is_paused,
};

use super::desired_revision::{DesiredRevision, data_id};
use super::observe::Observed;
use super::plan::{Plan, State};
use crate::apply::Refused;
use crate::finding::{Conditions, Finding, counted, quoted, refusal, shortened, unended};
use crate::job;
use crate::rag_engine::settings::has_modes;
use crate::times::whole_seconds;

/// The input of the status, known at the end of a reconcile.
#[derive(Debug, Clone, Copy)]
pub struct StatusInput<'a> {
    /// The resource.
    pub index: &'a Index,
    /// The observed objects.
    pub observed: &'a Observed,
    /// The plan.
    pub plan: &'a Plan,
    /// The previous status, with the result of the Job that has just ended.
    pub settled: &'a IndexStatus,
    /// The object that the API server refused, if any.
    pub refused: Option<&'a Refused>,
}

/// Computes the status.
pub fn status(input: StatusInput<'_>, now: &Time) -> IndexStatus {
    let runs = matches!(input.plan.state, State::Running | State::AwaitingResult | State::Stuck(_));
    let (done, total) = match progress(input).filter(|_| runs) {
        Some((done, total)) => (Some(done), Some(total)),
        None => (None, None),
    };
    let status = IndexStatus { done, total, observed_generation: observed_generation(input), ..input.settled.clone() };
    IndexStatus { conditions: conditions(input, &status, now), ..status }
}

/// The operator does not act on a specification that changes during a pause.
fn observed_generation(input: StatusInput<'_>) -> Option<i64> {
    if is_paused(&input.index.metadata) { input.settled.observed_generation } else { input.index.metadata.generation }
}

/// The number of processed files and of all files, as the engine recorded them.
fn progress(input: StatusInput<'_>) -> Option<(u64, u64)> {
    let sync_id = job::sync_id(job::current(&input.observed.jobs, input.settled)?);
    let record = input.observed.record.as_ref().filter(|record| record.about.sync_id == sync_id)?;
    let ours = |sync: &&SourceSync| sync.sync_id == sync_id;
    let syncs: Vec<&SourceSync> =
        record.sources.iter().flatten().filter_map(|source| source.sync.as_ref()).filter(ours).collect();
    (!syncs.is_empty()).then(|| (syncs.iter().map(|sync| sync.done).sum(), syncs.iter().map(|sync| sync.total).sum()))
}

fn conditions(input: StatusInput<'_>, status: &IndexStatus, now: &Time) -> Vec<Condition> {
    let previous = &input.settled.conditions;
    let common = Conditions { previous, observed_generation: observed_generation(input), now };
    vec![
        common.condition(ConditionType::Ready, ready(input, status)),
        common.condition(ConditionType::Progressing, progressing(input, status)),
        common.condition(ConditionType::Degraded, degraded(input, status)),
    ]
}

/// A problem that waiting does not solve.
fn problem(input: StatusInput<'_>) -> Option<Finding> {
    let refused = input.refused.map(|refused| Finding::new(Reason::ObjectRefused, refusal(refused)));
    refused.or_else(|| match &input.plan.state {
        State::Blocked(finding) | State::Stuck(finding) => Some(finding.clone()),
        _ => None,
    })
}

/// The failure of the last synchronisation, if it was for the current specification.
fn failure(input: StatusInput<'_>, status: &IndexStatus) -> Option<Finding> {
    let last = status.last_sync.as_ref().filter(|last| is_of_this_specification(input, last))?;
    let why = last.message.as_deref().unwrap_or("no reason is known");
    let again = match &input.plan.state {
        State::RetryAt(at) => format!(". The next attempt is at {}", whole_seconds(*at)),
        _ => String::new(),
    };
    match last.result {
        SyncResult::Succeeded => None,
        SyncResult::Failed => {
            Some(Finding::new(Reason::SyncFailed, format!("the last synchronisation failed: {why}{again}")))
        }
        SyncResult::HeldBack => Some(Finding::new(
            Reason::HeldBack,
            format!("{why}. These documents are kept. {}{again}", confirm(input, last)),
        )),
    }
}

/// The command that confirms the deletions, or what to do when they cannot be confirmed.
fn confirm(input: StatusInput<'_>, last: &LastSync) -> String {
    let Some(confirmation) = &last.confirmation else {
        return "Their deletion cannot be confirmed: correct the sources, or delete the documents with the API"
            .to_owned();
    };
    let name = input.index.metadata.name.as_deref().unwrap_or_default();
    format!(
        "If this is an error, correct the source. To delete them: \
         kubectl annotate index {name} ragengine.dev/confirm-delete={confirmation} --overwrite"
    )
}

/// Whether a synchronisation was for the current specification, at any scheduled time.
fn is_of_this_specification(input: StatusInput<'_>, last: &LastSync) -> bool {
    let is_same = |desired: &DesiredRevision| {
        [&desired.specification, &desired.legacy_specification].contains(&&last.specification)
            || desired.wanted == last.wanted
    };
    input.plan.desired_revision.as_ref().is_some_and(is_same)
}

fn ready(input: StatusInput<'_>, status: &IndexStatus) -> (ConditionStatus, Finding) {
    let not = |finding| (ConditionStatus::False, finding);
    let last = status.last_sync.as_ref().filter(|last| is_of_this_specification(input, last));
    // A stuck Job that would only read the sources again does not affect the content of the index. Degraded reports it,
    // and Ready stays True.
    let keeps_content = matches!(input.plan.state, State::Stuck(_)) && input.refused.is_none() && last.is_some();
    let in_the_way = problem(input).filter(|_| !keeps_content);
    if let Some(finding) = in_the_way.or_else(|| failure(input, status)) {
        return not(finding);
    }
    let waits_for_turn = |finding: &Finding| finding.reason == Reason::Syncing && last.is_some();
    if let State::Waiting(finding) = &input.plan.state
        && !waits_for_turn(finding)
    {
        return not(finding.clone());
    }
    if let Some(last) = last {
        return (ConditionStatus::True, Finding::new(Reason::Synced, synced(input, status, last)));
    }
    let engine = input.observed.engine.as_deref().and_then(data_id);
    if status.data_id.as_deref().zip(engine).is_some_and(|(filled, found)| filled != found) {
        let message = "the engine's data directory was replaced: all documents are sent again";
        return not(Finding::new(Reason::Refilling, message));
    }
    not(match input.plan.state {
        State::Suspended => suspended(),
        State::Paused => paused(),
        _ => running(status),
    })
}

fn synced(input: StatusInput<'_>, status: &IndexStatus, last: &LastSync) -> String {
    let sources = input.index.spec.sources.len();
    // Users rely on the rules.
    let has_modes = input.observed.engine.as_deref().is_some_and(|engine| has_modes(&engine.spec));
    let access = match &input.index.spec.access {
        Some(_) if !has_modes => ". access has no effect: auth.modes of the RAGEngine is empty",
        Some(_) if input.observed.has_left_behind => {
            ". access can only narrow auth.defaultAccess of the RAGEngine: the index has documents of a deleted Index, too"
        }
        _ => "",
    };
    format!(
        "the index {} has {}, the content of its {} at {}, when the last synchronisation started{access}",
        input.index.index_name(),
        counted(status.documents.unwrap_or(0), "document"),
        if sources == 1 { "source".to_owned() } else { format!("{sources} sources") },
        last.started_at.0
    )
}

fn paused() -> Finding {
    let message =
        format!("the Index is paused: no synchronisation starts until the annotation {PAUSED_ANNOTATION} is removed");
    Finding::new(Reason::Paused, message)
}

fn suspended() -> Finding {
    Finding::new(Reason::Suspended, "the Index is suspended: set suspend: false to synchronise its sources")
}

fn running(status: &IndexStatus) -> Finding {
    let message = match (status.done, status.total) {
        (Some(done), Some(total)) if total > 0 => format!("{done} of {total} files are synchronised"),
        _ => "the sources are being read".to_owned(),
    };
    Finding::new(Reason::Syncing, message)
}

fn progressing(input: StatusInput<'_>, status: &IndexStatus) -> (ConditionStatus, Finding) {
    match &input.plan.state {
        State::Running | State::AwaitingResult if input.refused.is_none() => (ConditionStatus::True, running(status)),
        _ if is_paused(&input.index.metadata) => (ConditionStatus::False, paused()),
        State::Waiting(finding) => (ConditionStatus::True, finding.clone()),
        _ => match &input.observed.generation {
            Some(next) => (ConditionStatus::True, rebuilding(next)),
            _ if input.index.spec.suspend => (ConditionStatus::False, suspended()),
            _ => (ConditionStatus::False, Finding::new(Reason::AsExpected, "no change is in progress")),
        },
    }
}

/// The index serves its previous generation during the rebuild.
fn rebuilding(next: &GrowingGeneration) -> Finding {
    let waiting = |error: &String| format!(". The rebuild is waiting: {}", quoted(error, 200));
    let waits = next.error.as_ref().map_or_else(String::new, waiting);
    let (documents, total) = (next.documents, next.total);
    Finding::new(
        Reason::Rebuilding,
        format!(
            "the index is being rebuilt because its settings or the engine's embedding model changed: \
             {documents} of {total} documents are done. Until then the previous version is served{waits}"
        ),
    )
}

fn degraded(input: StatusInput<'_>, status: &IndexStatus) -> (ConditionStatus, Finding) {
    match problem(input).or_else(|| failure(input, status)).or_else(|| bad_files(status)) {
        Some(finding) => (ConditionStatus::True, finding),
        None => (ConditionStatus::False, Finding::new(Reason::AsExpected, "no problem is known")),
    }
}

/// A message with the number of files that could not be indexed, and the first of them.
fn bad_files(status: &IndexStatus) -> Option<Finding> {
    let count: u64 = status.sources.iter().map(|source| source.error_count).sum();
    let source = status.sources.iter().find(|source| source.error_count > 0)?;
    let first = match source.errors.first() {
        Some(error) => format!("{} in source {}: {}", error.path, source.name, error.message),
        None => format!("in source {}", source.name),
    };
    let files = counted(count, "file");
    let such_as = if count == 1 { ": " } else { ", such as " };
    let message = shortened(&format!("{files} could not be indexed{such_as}{first}"), 1000);
    let others = "All other files are indexed. status.sources has the errors of each source";
    Some(Finding::new(Reason::FilesFailed, format!("{}. {others}", unended(&message))))
}
