//! What became of it: pure, from what was observed, planned and done.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_client::wire::{GrowingGeneration, SourceSync};
use ragengine_operator_api::{
    Condition, ConditionStatus, ConditionType, Index, IndexStatus, LastSync, PAUSED_ANNOTATION, Reason, SyncResult,
    is_paused,
};

use super::observe::Observed;
use super::plan::{Plan, State};
use super::desired_revision::{DesiredRevision, data_id};
use crate::apply::Refused;
use crate::finding::{Conditions, Finding, shortened};
use crate::job;
use crate::times::whole_seconds;

/// What is known at the end of a reconcile.
#[derive(Debug, Clone, Copy)]
pub struct StatusInput<'a> {
    /// The resource.
    pub index: &'a Index,
    /// What there is.
    pub observed: &'a Observed,
    /// What was planned.
    pub plan: &'a Plan,
    /// The status that was written last, with the result of the Job that has just ended.
    pub settled: &'a IndexStatus,
    /// Which object the API server refused, if it did.
    pub refused: Option<&'a Refused>,
}

/// The status.
pub fn status(known: StatusInput<'_>, now: &Time) -> IndexStatus {
    let runs = matches!(known.plan.state, State::Running | State::AwaitingResult | State::Stuck(_));
    let (done, total) = match progress(known).filter(|_| runs) {
        Some((done, total)) => (Some(done), Some(total)),
        None => (None, None),
    };
    let status = IndexStatus { done, total, observed_generation: observed_generation(known), ..known.settled.clone() };
    IndexStatus { conditions: conditions(known, &status, now), ..status }
}

/// A specification that was changed while the Index is paused is not acted on.
fn observed_generation(known: StatusInput<'_>) -> Option<i64> {
    match is_paused(&known.index.metadata) {
        true => known.settled.observed_generation,
        false => known.index.metadata.generation,
    }
}

/// The files that are done and all that there are, as far as the engine has been told.
fn progress(known: StatusInput<'_>) -> Option<(u64, u64)> {
    let sync_id = job::sync_id(job::current(&known.observed.jobs, known.settled)?);
    let record = known.observed.record.as_ref().filter(|record| record.about.sync_id == sync_id)?;
    let ours = |sync: &&SourceSync| sync.sync_id == sync_id;
    let syncs: Vec<&SourceSync> =
        record.sources.iter().flatten().filter_map(|source| source.sync.as_ref()).filter(ours).collect();
    (!syncs.is_empty()).then(|| (syncs.iter().map(|sync| sync.done).sum(), syncs.iter().map(|sync| sync.total).sum()))
}

fn conditions(known: StatusInput<'_>, status: &IndexStatus, now: &Time) -> Vec<Condition> {
    let previous = &known.settled.conditions;
    let common = Conditions { previous, observed_generation: observed_generation(known), now };
    vec![
        common.condition(ConditionType::Ready, ready(known, status)),
        common.condition(ConditionType::Progressing, progressing(known, status)),
        common.condition(ConditionType::Degraded, degraded(known, status)),
    ]
}

/// What is in the way, and does not go away by waiting.
fn problem(known: StatusInput<'_>) -> Option<Finding> {
    let refused = known.refused.map(|refused| Finding::new(Reason::ObjectRefused, refused.to_string()));
    refused.or_else(|| match &known.plan.state {
        State::Blocked(finding) | State::Stuck(finding) => Some(finding.clone()),
        _ => None,
    })
}

/// What went wrong the last time with what is still wanted.
fn failure(known: StatusInput<'_>, status: &IndexStatus) -> Option<Finding> {
    let last = status.last_sync.as_ref().filter(|last| is_of_this_specification(known, last))?;
    let why = last.message.as_deref().unwrap_or("no reason is given");
    let again = match &known.plan.state {
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
            format!(
                "{why}. Nothing was deleted, because a source that loses so many documents at once may be broken{}{again}",
                confirm(known, last)
            ),
        )),
    }
}

/// How it is confirmed, where it can be.
fn confirm(known: StatusInput<'_>, last: &LastSync) -> String {
    let Some(confirmation) = &last.confirmation else { return String::new() };
    let name = known.index.metadata.name.as_deref().unwrap_or_default();
    format!(". To delete them: kubectl annotate index {name} ragengine.dev/confirm-delete={confirmation} --overwrite")
}

/// Whether it was for what is asked for now, whenever its turn was.
fn is_of_this_specification(known: StatusInput<'_>, last: &LastSync) -> bool {
    let is_same = |desired_revision: &DesiredRevision| {
        [&desired_revision.specification, &desired_revision.legacy_specification].contains(&&last.specification) || desired_revision.wanted == last.wanted
    };
    known.plan.desired_revision.as_ref().is_some_and(is_same)
}

fn ready(known: StatusInput<'_>, status: &IndexStatus) -> (ConditionStatus, Finding) {
    let not = |finding| (ConditionStatus::False, finding);
    let last = status.last_sync.as_ref().filter(|last| is_of_this_specification(known, last));
    // A Job that only looks at the sources once more, and whose pod does not begin, takes nothing away from what the index holds: Degraded says so.
    let takes_nothing = matches!(known.plan.state, State::Stuck(_)) && known.refused.is_none() && last.is_some();
    let in_the_way = problem(known).filter(|_| !takes_nothing);
    if let Some(finding) = in_the_way.or_else(|| failure(known, status)) {
        return not(finding);
    }
    let waits_for_turn = |finding: &Finding| finding.reason == Reason::Syncing && last.is_some();
    if let State::Waiting(finding) = &known.plan.state
        && !waits_for_turn(finding)
    {
        return not(finding.clone());
    }
    if let Some(last) = last {
        return (ConditionStatus::True, Finding::new(Reason::Synced, synced(known, status, last)));
    }
    let engine = known.observed.engine.as_deref().and_then(data_id);
    if status.data_id.as_deref().zip(engine).is_some_and(|(filled, found)| filled != found) {
        let words = "the engine's data directory was replaced: all documents are sent again";
        return not(Finding::new(Reason::Refilling, words));
    }
    not(match known.plan.state {
        State::Suspended => suspended(),
        State::Paused => paused(),
        _ => running(status),
    })
}

fn synced(known: StatusInput<'_>, status: &IndexStatus, last: &LastSync) -> String {
    let sources = known.index.spec.sources.len();
    format!(
        "the index {} has the content of its {} at {}: {} documents",
        known.index.index_name(),
        if sources == 1 { "source".to_owned() } else { format!("{sources} sources") },
        last.started_at.0,
        status.documents.unwrap_or(0)
    )
}

fn paused() -> Finding {
    let words = format!(
        "the Index is paused: no synchronisation starts until the annotation {PAUSED_ANNOTATION} is removed"
    );
    Finding::new(Reason::Paused, words)
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

fn progressing(known: StatusInput<'_>, status: &IndexStatus) -> (ConditionStatus, Finding) {
    match &known.plan.state {
        State::Running | State::AwaitingResult if known.refused.is_none() => (ConditionStatus::True, running(status)),
        _ if is_paused(&known.index.metadata) => (ConditionStatus::False, paused()),
        State::Waiting(finding) => (ConditionStatus::True, finding.clone()),
        _ => match &known.observed.generation {
            Some(next) => (ConditionStatus::True, rebuilding(next)),
            _ if known.index.spec.suspend => (ConditionStatus::False, suspended()),
            _ => (ConditionStatus::False, Finding::new(Reason::AsExpected, "no change is in progress")),
        },
    }
}

/// The index serves as it was until then.
fn rebuilding(next: &GrowingGeneration) -> Finding {
    let waits = next.error.as_ref().map_or_else(String::new, |error| format!(". The rebuild is waiting: {}", shortened(error, 500)));
    let (documents, total) = (next.documents, next.total);
    Finding::new(
        Reason::Rebuilding,
        format!(
            "the index is being rebuilt because its settings or the engine's embedding model changed: {documents} of {total} documents are done. Until then the previous version is served{waits}"
        ),
    )
}

fn degraded(known: StatusInput<'_>, status: &IndexStatus) -> (ConditionStatus, Finding) {
    match problem(known).or_else(|| failure(known, status)).or_else(|| bad_files(status)) {
        Some(finding) => (ConditionStatus::True, finding),
        None => (ConditionStatus::False, Finding::new(Reason::AsExpected, "no problem is known")),
    }
}

/// The first file that could not be taken, for all of them.
fn bad_files(status: &IndexStatus) -> Option<Finding> {
    let count: u64 = status.sources.iter().map(|source| source.error_count).sum();
    let source = status.sources.iter().find(|source| source.error_count > 0)?;
    let first = match source.errors.first() {
        Some(error) => format!("{} in {}: {}", error.path, source.name, error.message),
        None => format!("in {}", source.name),
    };
    let (files, such_as) = if count == 1 { ("1 file", ": ") } else { ("files", ", such as ") };
    let files = if count == 1 { files.to_owned() } else { format!("{count} {files}") };
    Some(Finding::new(Reason::FilesFailed, shortened(&format!("{files} could not be indexed{such_as}{first}"), 1000)))
}
