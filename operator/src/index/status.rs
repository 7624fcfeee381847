//! What became of it: pure, from what was observed, planned and done.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_client::wire::{GrowingGeneration, SourceSync};
use ragengine_operator_api::{
    Condition, ConditionStatus, ConditionType, Index, IndexStatus, LastSync, PAUSED_ANNOTATION, Reason, SyncResult,
    is_paused,
};

use super::observe::Observed;
use super::plan::{Plan, State};
use super::wish::{Wish, data_id};
use crate::apply::Refused;
use crate::finding::{Conditions, Finding, shortened};
use crate::job;
use crate::times::whole_seconds;

/// What is known at the end of a reconcile.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
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
pub fn status(known: Known<'_>, now: &Time) -> IndexStatus {
    let runs = matches!(known.plan.state, State::Runs | State::Reads | State::Stuck(_));
    let (done, total) = match progress(known).filter(|_| runs) {
        Some((done, total)) => (Some(done), Some(total)),
        None => (None, None),
    };
    let status = IndexStatus { done, total, observed_generation: observed_generation(known), ..known.settled.clone() };
    IndexStatus { conditions: conditions(known, &status, now), ..status }
}

/// A specification that was changed while the Index is paused is not acted on.
fn observed_generation(known: Known<'_>) -> Option<i64> {
    match is_paused(&known.index.metadata) {
        true => known.settled.observed_generation,
        false => known.index.metadata.generation,
    }
}

/// The files that are done and all that there are, as far as the engine has been told.
fn progress(known: Known<'_>) -> Option<(u64, u64)> {
    let sync_id = job::sync_id(job::current(&known.observed.jobs, known.settled)?);
    let record = known.observed.record.as_ref().filter(|record| record.about.sync_id == sync_id)?;
    let ours = |sync: &&SourceSync| sync.sync_id == sync_id;
    let syncs: Vec<&SourceSync> =
        record.sources.iter().flatten().filter_map(|source| source.sync.as_ref()).filter(ours).collect();
    (!syncs.is_empty()).then(|| (syncs.iter().map(|sync| sync.done).sum(), syncs.iter().map(|sync| sync.total).sum()))
}

fn conditions(known: Known<'_>, status: &IndexStatus, now: &Time) -> Vec<Condition> {
    let previous = &known.settled.conditions;
    let common = Conditions { previous, observed_generation: observed_generation(known), now };
    vec![
        common.condition(ConditionType::Ready, ready(known, status)),
        common.condition(ConditionType::Progressing, progressing(known, status)),
        common.condition(ConditionType::Degraded, degraded(known, status)),
    ]
}

/// What is in the way, and does not go away by waiting.
fn problem(known: Known<'_>) -> Option<Finding> {
    let refused = known.refused.map(|refused| Finding::new(Reason::ObjectRefused, refused.to_string()));
    refused.or_else(|| match &known.plan.state {
        State::Blocked(finding) | State::Stuck(finding) => Some(finding.clone()),
        _ => None,
    })
}

/// What went wrong the last time with what is still wanted.
fn failure(known: Known<'_>, status: &IndexStatus) -> Option<Finding> {
    let last = status.last_sync.as_ref().filter(|last| is_of_this_specification(known, last))?;
    let why = last.message.as_deref().unwrap_or("no reason is given");
    let again = match &known.plan.state {
        State::Waits(at) => format!(". It is tried again at {}", whole_seconds(*at)),
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
                "{why}. Nothing of that was deleted: what has suddenly lost so much may be broken{}{again}",
                confirm(known, last)
            ),
        )),
    }
}

/// How it is confirmed, where it can be.
fn confirm(known: Known<'_>, last: &LastSync) -> String {
    let Some(confirmation) = &last.confirmation else { return String::new() };
    let name = known.index.metadata.name.as_deref().unwrap_or_default();
    format!(". If it is meant: kubectl annotate index {name} ragengine.dev/confirm-delete={confirmation} --overwrite")
}

/// Whether it was for what is asked for now, whenever its turn was.
fn is_of_this_specification(known: Known<'_>, last: &LastSync) -> bool {
    let is_same = |wish: &Wish| {
        [&wish.specification, &wish.specification_before].contains(&&last.specification) || wish.wanted == last.wanted
    };
    known.plan.wish.as_ref().is_some_and(is_same)
}

fn ready(known: Known<'_>, status: &IndexStatus) -> (ConditionStatus, Finding) {
    let not = |finding| (ConditionStatus::False, finding);
    let last = status.last_sync.as_ref().filter(|last| is_of_this_specification(known, last));
    // A Job that only looks at the sources once more, and whose pod does not begin, takes nothing away from what the index holds: Degraded says so.
    let takes_nothing = matches!(known.plan.state, State::Stuck(_)) && known.refused.is_none() && last.is_some();
    let in_the_way = problem(known).filter(|_| !takes_nothing);
    if let Some(finding) = in_the_way.or_else(|| failure(known, status)) {
        return not(finding);
    }
    let waits_for_turn = |finding: &Finding| finding.reason == Reason::Syncing && last.is_some();
    if let State::NotYet(finding) = &known.plan.state
        && !waits_for_turn(finding)
    {
        return not(finding.clone());
    }
    if let Some(last) = last {
        return (ConditionStatus::True, Finding::new(Reason::Synced, synced(known, status, last)));
    }
    let engine = known.observed.engine.as_deref().and_then(data_id);
    if status.data_id.as_deref().zip(engine).is_some_and(|(filled, found)| filled != found) {
        let words = "the engine's data directory is another one than the one that was filled: everything is sent again";
        return not(Finding::new(Reason::Refilling, words));
    }
    not(match known.plan.state {
        State::Suspended => suspended(),
        State::Paused => paused(),
        _ => running(status),
    })
}

fn synced(known: Known<'_>, status: &IndexStatus, last: &LastSync) -> String {
    let sources = known.index.spec.sources.len();
    format!(
        "the index {} holds what its {} at {}: {} documents",
        known.index.index_name(),
        if sources == 1 { "source held".to_owned() } else { format!("{sources} sources held") },
        last.started_at.0,
        status.documents.unwrap_or(0)
    )
}

fn paused() -> Finding {
    let words = format!(
        "no synchronisation is begun while the annotation {PAUSED_ANNOTATION} is true: remove it, and what the specification asks for is done"
    );
    Finding::new(Reason::Paused, words)
}

fn suspended() -> Finding {
    Finding::new(Reason::Suspended, "suspend is true: write suspend: false to have its sources looked at")
}

fn running(status: &IndexStatus) -> Finding {
    let message = match (status.done, status.total) {
        (Some(done), Some(total)) if total > 0 => format!("{done} of {total} files are done"),
        _ => "its sources are being looked at".to_owned(),
    };
    Finding::new(Reason::Syncing, message)
}

fn progressing(known: Known<'_>, status: &IndexStatus) -> (ConditionStatus, Finding) {
    match &known.plan.state {
        State::Runs | State::Reads if known.refused.is_none() => (ConditionStatus::True, running(status)),
        _ if is_paused(&known.index.metadata) => (ConditionStatus::False, paused()),
        State::NotYet(finding) => (ConditionStatus::True, finding.clone()),
        _ => match &known.observed.generation {
            Some(next) => (ConditionStatus::True, rebuilding(next)),
            _ if known.index.spec.suspend => (ConditionStatus::False, suspended()),
            _ => (ConditionStatus::False, Finding::new(Reason::AsExpected, "nothing is going on")),
        },
    }
}

/// The index serves as it was until then.
fn rebuilding(next: &GrowingGeneration) -> Finding {
    let waits = next.error.as_ref().map_or_else(String::new, |error| format!(". It waits: {}", shortened(error, 500)));
    let (documents, total) = (next.documents, next.total);
    Finding::new(
        Reason::Rebuilding,
        format!(
            "the index is being built anew, because its settings or the engine's embedding model have changed: {documents} of {total} documents are done. Until then it answers as it was{waits}"
        ),
    )
}

fn degraded(known: Known<'_>, status: &IndexStatus) -> (ConditionStatus, Finding) {
    match problem(known).or_else(|| failure(known, status)).or_else(|| bad_files(status)) {
        Some(finding) => (ConditionStatus::True, finding),
        None => (ConditionStatus::False, Finding::new(Reason::AsExpected, "nothing is wrong")),
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
    Some(Finding::new(Reason::FilesFailed, shortened(&format!("{files} could not be taken{such_as}{first}"), 1000)))
}
