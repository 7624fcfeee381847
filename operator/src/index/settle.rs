//! Determines the result of a Job that has ended: from the Job, its pod and the engine's record, which takes
//! precedence. Pure functions.

mod source;

use std::collections::HashMap;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_client::wire::{SourceDescription, SourceSync, SyncPhase};
use ragengine_operator_api::{
    CONFIRM_DELETE_ANNOTATION, HandledRequests, Index, IndexStatus, LastSync, SYNC_ANNOTATION, SourceStatus, SyncResult,
};

use source::{MAX_TEXT_BYTES, sources};

use super::desired_revision::{annotation, data_id};
use super::observe::Observed;
use super::pod;
use crate::finding::{counted, shortened, unended};
use crate::hash::hash;
use crate::job::{self, Stage};
use crate::pod::of_job;

/// After this many unanswered requests, a failed Job counts as failed even without a record of the engine.
pub(super) const PATIENCE: u32 = 3;
/// The maximum length of the text that confirms deletions, in bytes.
const MAX_CONFIRMATION: usize = 2000;
/// The number of characters of a synchronisation's id that tell it apart from others of its Index.
const MAX_SYNC_ID: usize = 7;
/// The number of characters of a revision that identify it.
const MAX_REVISION: usize = 12;

/// Returns the status, with the result of the Job that has ended if that result is known.
pub fn settle(index: &Index, observed: &Observed, previous: &IndexStatus, now: &Time) -> IndexStatus {
    let ended = job::current(&observed.jobs, previous).filter(|job| job::stage(job) != Stage::Running);
    let outcome = ended.and_then(|job| Some((job, outcome(index, observed, job)?)));
    let mut status = match outcome {
        Some((job, outcome)) => settled(Ended { index, observed, job, outcome }, previous, now),
        None => previous.clone(),
    };
    if annotation(index, CONFIRM_DELETE_ANNOTATION).is_none() {
        // Once the annotation is removed, the same confirmation can be given again.
        status.handled =
            status.handled.and_then(|handled| unless_empty(HandledRequests { confirm_delete: None, ..handled }));
    }
    status
}

/// `None` if no request was handled.
fn unless_empty(handled: HandledRequests) -> Option<HandledRequests> {
    (handled.sync.is_some() || handled.confirm_delete.is_some()).then_some(handled)
}

/// The result that is in the settled status but was not in the previous one.
pub fn new_result(before: &IndexStatus, settled: &IndexStatus) -> Option<SyncResult> {
    settled.last_sync.as_ref().filter(|_| settled.last_sync != before.last_sync).map(|last| last.result)
}

/// The result of a synchronisation.
struct SyncOutcome {
    result: SyncResult,
    message: Option<String>,
    /// The text that confirms the deletions that were held back.
    confirmation: Option<String>,
    /// What the engine has of each source. `None`: there is no answer.
    sources: Option<Vec<SourceDescription>>,
    /// Whether all sources were processed completely: the confirmation is then used up.
    is_through: bool,
}

/// The result, or `None` while it is not known.
fn outcome(index: &Index, observed: &Observed, job: &Job) -> Option<SyncOutcome> {
    let has_failed = job::stage(job) == Stage::Failed;
    let unread =
        |result, message| SyncOutcome { result, message, confirmation: None, sources: None, is_through: false };
    let record = observed.record.as_ref();
    let record = record.filter(|record| record.about.sync_id == job::sync_id(job) && record.about.has_ended);
    let Some(sources) = record.and_then(|record| record.sources.clone()) else {
        let is_silent = observed.target.is_none() || record.is_some_and(|record| record.failures >= PATIENCE);
        // A completed Job is asked about until the engine answers, as long as the engine exists.
        let is_over = is_silent && (has_failed || observed.engine.is_none());
        let message = || if has_failed { failed_job(observed, job) } else { unknown_result(index, job) };
        return is_over.then(|| unread(SyncResult::Failed, Some(message())));
    };
    Some(read(index, observed, job, sources))
}

/// The result according to the engine's record.
fn read(index: &Index, observed: &Observed, job: &Job, sources: Vec<SourceDescription>) -> SyncOutcome {
    let has_failed = job::stage(job) == Stage::Failed;
    let by_name: HashMap<&str, &SourceDescription> =
        sources.iter().map(|source| (source.name.as_str(), source)).collect();
    let syncs = index.spec.sources.iter().map(|source| (source.name.as_str(), by_name.get(source.name.as_str())));
    let syncs: Vec<(&str, Option<&SourceSync>)> =
        syncs.map(|(name, found)| (name, found.and_then(|found| found.sync.as_ref()))).collect();
    let is_ours = |sync: &SourceSync| sync.sync_id == job::sync_id(job);
    let is_through =
        syncs.iter().all(|(_, sync)| sync.is_some_and(|sync| is_ours(sync) && sync.phase != SyncPhase::Running));
    // A restarted engine has lost the record of a synchronisation that changed nothing, but the Job has succeeded.
    let is_done = |sync: &SourceSync| sync.phase == SyncPhase::Complete && (is_ours(sync) || !has_failed);
    let mut failed = Vec::new();
    let mut is_cut_off = false;
    for (name, sync) in syncs.iter().filter(|(_, sync)| !sync.is_some_and(is_done)) {
        match sync.filter(|sync| is_ours(sync)).and_then(|sync| sync.message.as_deref()) {
            Some(message) => failed.push(format!("source {name}: {}", shortened(message, MAX_TEXT_BYTES))),
            None => is_cut_off = true,
        }
    }
    if is_cut_off {
        let reason = if has_failed { why(observed, job) } else { "a source was not read".to_owned() };
        let (name, log) = (name_of(job), log_of(job));
        failed.push(format!("Job {name} ended before all sources were synchronised ({reason}): see {log}"));
    }
    let held = Held::of(&syncs, &removed(index, &sources, is_ours));
    let confirmation = held.confirmation(job::sync_id(job));
    let (result, message) = match (failed.is_empty(), held.words.is_empty(), has_failed) {
        (true, true, false) => (SyncResult::Succeeded, None),
        (_, false, _) => {
            (SyncResult::HeldBack, Some(held.words.into_iter().chain(failed).collect::<Vec<_>>().join("; ")))
        }
        (false, true, _) => (SyncResult::Failed, Some(failed.join("; "))),
        (true, true, true) => (SyncResult::Failed, Some(failed_job(observed, job))),
    };
    SyncOutcome { result, message, confirmation, sources: Some(sources), is_through }
}

/// Sources that the specification no longer names and that this synchronisation kept.
fn removed<'a>(
    index: &Index,
    sources: &'a [SourceDescription],
    is_ours: impl Fn(&SourceSync) -> bool,
) -> Vec<(&'a str, &'a SourceSync)> {
    let is_named = |name: &str| index.spec.sources.iter().any(|source| source.name == name);
    let kept = |source: &'a SourceDescription| Some((source.name.as_str(), source.sync.as_ref()?));
    let unnamed = sources.iter().filter(|source| !is_named(&source.name)).filter_map(kept);
    unnamed.filter(|(_, sync)| is_ours(sync)).collect()
}

/// The deletions that are held back.
#[derive(Default)]
struct Held {
    /// A sentence for each source: how many documents it would lose, and why.
    words: Vec<String>,
    /// The words that confirm these deletions.
    confirmations: Vec<String>,
}

impl Held {
    fn of(named: &[(&str, Option<&SourceSync>)], removed: &[(&str, &SourceSync)]) -> Self {
        let mut held = Self::default();
        let named = named.iter().filter_map(|(name, sync)| Some((*name, (*sync)?)));
        // A synchronisation that failed only repeats what the one before it held back.
        let holds = |sync: &SourceSync| sync.held_back > 0 && sync.phase == SyncPhase::Complete;
        for (name, sync) in named.chain(removed.iter().copied()).filter(|(_, sync)| holds(sync)) {
            let documents = counted(sync.held_back, "document");
            let why = match &sync.message {
                Some(message) => format!(" ({})", shortened(message, MAX_TEXT_BYTES)),
                None => " at once, which may be an error".to_owned(),
            };
            held.words.push(format!("source {name} would lose {documents}{why}"));
            held.confirmations.extend(sync.confirmation.clone());
        }
        held
    }

    /// The text that confirms all deletions, or as many as fit. The last word names the synchronisation and confirms
    /// nothing: if the same accident happens again, the annotation must be different.
    fn confirmation(&self, sync_id: &str) -> Option<String> {
        let last = format!(",{}", sync_id.chars().take(MAX_SYNC_ID).collect::<String>());
        let mut words = String::new();
        for word in &self.confirmations {
            if words.len() + 1 + word.len() + last.len() > MAX_CONFIRMATION {
                break;
            }
            if !words.is_empty() {
                words.push(',');
            }
            words.push_str(word);
        }
        (!words.is_empty()).then(|| words + &last)
    }
}

/// Why a Job failed, according to its pod or to Kubernetes.
fn why(observed: &Observed, job: &Job) -> String {
    let words = of_job(&observed.pods, job).and_then(pod::last_words);
    let words = words.or_else(|| job::failure(job).map(str::to_owned));
    words.map_or_else(|| "no reason is known".to_owned(), |words| unended(&words).to_owned())
}

/// The message about a Job that has failed.
fn failed_job(observed: &Observed, job: &Job) -> String {
    format!("Job {} failed ({}): see {}", name_of(job), why(observed, job), log_of(job))
}

/// The message about a Job that has ended when its engine is gone.
fn unknown_result(index: &Index, job: &Job) -> String {
    let engine = &index.spec.engine_ref.name;
    format!("the result of Job {} is not known, because RAGEngine {engine} does not exist", name_of(job))
}

fn name_of(job: &Job) -> &str {
    job.metadata.name.as_deref().unwrap_or_default()
}

/// The command that prints the log of a Job.
fn log_of(job: &Job) -> String {
    format!("kubectl logs job/{}", name_of(job))
}

/// A Job that has ended, with its result.
struct Ended<'a> {
    index: &'a Index,
    observed: &'a Observed,
    job: &'a Job,
    outcome: SyncOutcome,
}

fn settled(ended: Ended<'_>, previous: &IndexStatus, now: &Time) -> IndexStatus {
    let Ended { index, observed, job, outcome } = ended;
    let mut status = IndexStatus { done: None, total: None, ..previous.clone() };
    let is_good = outcome.result == SyncResult::Succeeded;
    let wanted = job::wanted(job).to_owned();
    let is_same = previous.last_sync.as_ref().is_some_and(|last| last.wanted == wanted);
    let finished_at = job::finished_at(job).unwrap_or_else(|| now.clone());
    status.attempts = match (is_good, is_same) {
        (true, _) => 0,
        (false, true) => previous.attempts.saturating_add(1),
        (false, false) => 1,
    };
    status.last_sync = Some(LastSync {
        id: job::sync_id(job).to_owned(),
        specification: job::specification(job).to_owned(),
        wanted,
        started_at: job::started_at(job).unwrap_or_else(|| now.clone()),
        finished_at: finished_at.clone(),
        result: outcome.result,
        message: outcome.message.map(|message| shortened(&message, 1000)),
        confirmation: outcome.confirmation,
    });
    let handled = status.handled.get_or_insert_default();
    handled.sync = job::annotation(job, SYNC_ANNOTATION).or(handled.sync.take());
    if outcome.is_through {
        handled.confirm_delete = job::annotation(job, CONFIRM_DELETE_ANNOTATION).or(handled.confirm_delete.take());
    }
    status.handled = status.handled.and_then(unless_empty);
    if let Some(sources) = outcome.sources {
        status.sources = self::sources(index, &sources, &previous.sources);
        status.documents = Some(status.sources.iter().map(|source| source.documents).sum());
        status.chunks = Some(status.sources.iter().map(|source| source.chunks).sum());
        status.bytes = Some(status.sources.iter().map(|source| source.bytes).sum());
    }
    if is_good {
        status.last_success_time = Some(finished_at);
        status.revision = revision(&status.sources);
        status.data_id = observed.engine.as_deref().and_then(data_id).map(str::to_owned);
    }
    status
}

/// The revision of the only source, or a hash over all sources. The prefix `sha256:` is dropped.
fn revision(sources: &[SourceStatus]) -> Option<String> {
    let revisions: Vec<_> = sources.iter().map(|source| (&source.name, &source.revision)).collect();
    match &revisions[..] {
        [] => None,
        [(_, revision)] => {
            let revision = revision.as_deref().map(|revision| revision.strip_prefix("sha256:").unwrap_or(revision));
            revision.map(|revision| revision.chars().take(MAX_REVISION).collect())
        }
        several => Some(hash(&several)[..MAX_REVISION].to_owned()),
    }
}
