//! From the observed state of an Index to the next step and the status.

use ragengine_client::wire::{FileError, SourceDescription, SyncPhase};
use ragengine_operator::index::plan::Step;
use ragengine_operator::watches::Referred;
use ragengine_operator_api::{CONFIRM_DELETE_ANNOTATION, ConditionStatus, ConditionType, Reason, SyncResult};
use serde_json::json;

use super::cases::{Case, cases, source};
use super::fixture::job_after;

/// The step in short: `Start`, or its `Debug` form.
fn in_short(step: &Step) -> String {
    match step {
        Step::Start(_) => "Start".to_owned(),
        other => format!("{other:?}"),
    }
}

#[test]
fn the_step_and_conditions_of_every_case() {
    let conditions: Vec<_> = cases()
        .into_iter()
        .map(|(name, case)| {
            let (plan, status) = case.reconciled();
            let conditions = status.conditions.iter();
            let short: Vec<_> = conditions
                .clone()
                .map(|found| format!("{:?}={:?} {:?}", found.type_, found.status, found.reason))
                .collect();
            let mut messages: Vec<_> = conditions.map(|condition| condition.message.clone()).collect();
            messages.dedup();
            (name, in_short(&plan.step), short.join(", "), messages)
        })
        .collect();
    insta::assert_yaml_snapshot!("index_conditions", conditions);
}

#[test]
fn the_conditions_of_every_case_are_consistent() {
    // The status of an Index that is being deleted is not written.
    let existing = cases().into_iter().filter(|(_, case)| case.index.metadata.deletion_timestamp.is_none());
    for (name, case) in existing {
        let conditions = case.reconciled().1.conditions;
        let types: Vec<_> = conditions.iter().map(|found| found.type_).collect();
        assert_eq!(types, [ConditionType::Ready, ConditionType::Progressing, ConditionType::Degraded], "{name}");
        let [ready, progressing, degraded] =
            [0, 1, 2].map(|place: usize| conditions[place].status == ConditionStatus::True);
        assert_eq!(ready, conditions[0].reason == Reason::Synced, "{name}");
        let keeps_its_documents = [Reason::FilesFailed, Reason::PodUnschedulable].contains(&conditions[2].reason);
        assert!(!(ready && degraded) || keeps_its_documents, "{name}");
        let is_resting = [Reason::Suspended, Reason::Paused, Reason::Deleting].contains(&conditions[0].reason)
            || conditions[1].reason == Reason::Paused;
        assert!(ready || progressing || degraded || is_resting, "{name}: {conditions:?}");
        for condition in conditions {
            assert!(!condition.message.is_empty() && condition.message.len() < 2048, "{name}");
            assert_eq!(condition.observed_generation, Some(1), "{name}");
        }
    }
}

#[test]
fn every_reason_of_an_index_has_a_case() {
    let given: Vec<Reason> =
        cases().iter().flat_map(|(_, case)| case.reconciled().1.conditions).map(|condition| condition.reason).collect();
    for reason in [
        Reason::Synced,
        Reason::Syncing,
        Reason::Suspended,
        Reason::Rebuilding,
        Reason::Refilling,
        Reason::Deleting,
        Reason::EngineNotFound,
        Reason::EngineNotReady,
        Reason::SettingsConflict,
        Reason::SyncFailed,
        Reason::HeldBack,
        Reason::FilesFailed,
        Reason::InvalidSpec,
        Reason::ObjectRefused,
        Reason::SecretMissing,
        Reason::SecretRefused,
        Reason::ConfigMapMissing,
        Reason::ClaimMissing,
        Reason::ImagePullFailed,
        Reason::PodUnschedulable,
        Reason::ContainerNotStarted,
        Reason::AsExpected,
    ] {
        assert!(given.contains(&reason), "{reason:?}");
    }
}

fn case(name: &str) -> Case {
    cases().into_iter().find(|(found, _)| *found == name).unwrap_or_else(|| panic!("no {name}")).1
}

#[test]
fn the_record_becomes_the_status() {
    let status = case("a complete Job").reconciled().1;
    assert_eq!((status.documents, status.chunks, status.bytes), (Some(9), Some(30), Some(4096)));
    assert_eq!(status.revision.as_deref(), Some("0123456789ab"));
    assert_eq!(status.data_id.as_deref(), Some("data-1"));
    assert_eq!((status.attempts, status.done, status.total), (0, None, None));
    let last = status.last_sync.unwrap();
    assert_eq!((last.id.as_str(), last.result), ("sync-1", SyncResult::Succeeded));
    assert_eq!(status.last_success_time, Some(last.finished_at));
    insta::assert_yaml_snapshot!("a_source", json!(status.sources));

    let status = case("a running Job with progress").reconciled().1;
    assert_eq!((status.done, status.total), (Some(3), Some(10)));
    assert_eq!((status.documents, status.last_sync), (None, None), "no synchronisation has finished");

    let before = case("a synchronised Index");
    let mut failed = case("a source that cannot be read");
    failed.status = before.status.clone();
    failed.observed.jobs = vec![job_after(Some("sync-0"), &failed.desired_revision().wanted, Some("Failed"))];
    let status = failed.reconciled().1;
    assert_eq!(status.revision, before.status.revision, "the revision changes only after a success");
    assert_eq!((status.data_id, status.last_success_time), (before.status.data_id, before.status.last_success_time));
    assert_eq!(status.attempts, 1);
}

#[test]
fn consecutive_failures_are_counted_per_desired_revision() {
    let mut case = case("a killed Job");
    case.observed.jobs = vec![job_after(Some("sync-0"), &case.desired_revision().wanted, Some("Failed"))];
    for (before, is_same, attempts) in [(0, true, 1), (1, true, 2), (5, true, 6), (5, false, 1)] {
        let mut last = case.clone().last(SyncResult::Failed, None).status;
        last.attempts = before;
        if !is_same {
            last.last_sync.as_mut().unwrap().wanted = "something else".to_owned();
        }
        case.status = last;
        assert_eq!(case.reconciled().1.attempts, attempts, "{before} {is_same}");
    }
}

#[test]
fn a_secret_needs_its_hosts_only_where_they_are_required() {
    let hosts = |hosts: &[&str]| Some(hosts.iter().map(ToString::to_string).collect::<Vec<_>>());
    for (are_required, kind, is_watched, hosts, is_refused) in [
        (true, Referred::Secret, true, None, true),
        (false, Referred::Secret, true, None, false),
        (true, Referred::ConfigMap, true, None, false),
        (true, Referred::Secret, false, None, false),
        (true, Referred::Secret, true, hosts(&["git.example.com"]), false),
        (true, Referred::Secret, true, hosts(&[]), false),
    ] {
        let mut case = Case::new("{}").secret(None);
        case.observed.hosts_are_required = are_required;
        let reference = &mut case.observed.references[0];
        (reference.kind, reference.is_watched, reference.hosts) = (kind, is_watched, hosts);
        let text = format!("{are_required} {reference:?}");
        let expected = if is_refused { "Wait" } else { "Start" };
        assert_eq!(in_short(&case.reconciled().0.step), expected, "{text}");
    }
}

#[test]
fn the_observed_generation_is_that_of_the_specification_unless_the_index_is_paused() {
    for (name, observed) in [("a synchronised Index", 7), ("paused and synchronised", 1)] {
        let mut case = case(name);
        case.index.metadata.generation = Some(7);
        let status = case.reconciled().1;
        assert_eq!(status.observed_generation, Some(observed), "{name}");
        assert!(status.conditions.iter().all(|found| found.observed_generation == Some(observed)), "{name}");
    }
}

/// The status is stored in etcd and sent with every change, so it must stay small.
#[test]
fn the_size_of_a_status_is_bounded() {
    let sources: Vec<_> =
        (0..32).map(|number| json!({"name": format!("{number:0>40}"), "configMap": {"name": "a"}})).collect();
    let case = Case::new(&json!({"sources": sources}).to_string());
    let wanted = case.desired_revision().wanted;
    let long = |characters: usize| "\u{1F600}\n\"".repeat(characters / 3);
    let found: Vec<SourceDescription> = (0..32)
        .map(|number| {
            let found = source(SyncPhase::Failed, |sync| {
                sync.error_count = u64::MAX / 64;
                sync.errors = vec![FileError { path: long(512), message: long(500) }; 100];
                sync.revision = Some("\"".repeat(256));
                sync.message = Some(long(1000));
            });
            SourceDescription { name: format!("{number:0>40}"), ..found }
        })
        .collect();
    let mut case = case.record(true, found);
    case.observed.jobs = vec![super::fixture::job(&wanted, Some("Failed"))];
    let status = case.reconciled().1;
    let size = serde_json::to_string(&status).unwrap().len();
    assert!(size < 64 << 10, "{size} bytes");
    assert_eq!(status.sources.len(), 32);
    assert!(status.sources.iter().all(|source| !source.errors.is_empty()));

    let mut one = self::case("a complete Job that skipped some files");
    let many = source(SyncPhase::Complete, |sync| {
        sync.error_count = 100;
        sync.errors = (0..100).map(|number| FileError { path: number.to_string(), message: "bad".into() }).collect();
    });
    one = one.record(true, vec![many]);
    let status = one.reconciled().1;
    assert_eq!((status.sources[0].errors.len(), status.sources[0].error_count), (10, 100));
}

/// The annotation of an earlier confirmation must not confirm the same deletion again.
#[test]
fn every_synchronisation_has_a_different_confirmation() {
    let mut case = case("a Job whose deletions are held back");
    let confirmed = |case: &Case| case.reconciled().1.last_sync.unwrap().confirmation.unwrap();
    let first = confirmed(&case);
    assert_eq!(first, "notes@0123456789ab,sync-1");
    let Case { observed, .. } = &mut case;
    let job = std::sync::Arc::make_mut(&mut observed.jobs[0]);
    job.metadata.labels.as_mut().unwrap().insert("ragengine.dev/sync-id".to_owned(), "0a1b2c3d4e5f6071".to_owned());
    let record = observed.record.as_mut().unwrap();
    record.about.sync_id = "0a1b2c3d4e5f6071".to_owned();
    record.sources.as_mut().unwrap()[0].sync.as_mut().unwrap().sync_id = "0a1b2c3d4e5f6071".to_owned();
    assert_eq!(confirmed(&case), "notes@0123456789ab,0a1b2c3");
}

/// A confirmation is used once while the annotation stays. Removing the annotation and setting it again confirms again.
#[test]
fn a_removed_confirmation_can_be_given_again() {
    let annotation =
        |said: Option<&str>| said.map(|said| [(CONFIRM_DELETE_ANNOTATION.to_owned(), said.to_owned())].into());
    let confirmed = |case: &Case| match case.reconciled().0.step {
        Step::Start(start) => start.confirm_delete,
        other => panic!("{other:?}"),
    };
    let mut case = case("a failure whose back-off is over");
    case.index.metadata.annotations = annotation(Some("notes@0123456789ab"));
    assert_eq!(confirmed(&case).as_deref(), Some("notes@0123456789ab"));
    case.status.handled = serde_json::from_value(json!({"confirmDelete": "notes@0123456789ab"})).unwrap();
    assert_eq!(confirmed(&case), None, "it was used");
    case.index.metadata.annotations = annotation(None);
    case.status = case.reconciled().1;
    assert_eq!(case.status.handled, None);
    case.index.metadata.annotations = annotation(Some("notes@0123456789ab"));
    assert_eq!(confirmed(&case).as_deref(), Some("notes@0123456789ab"));
}

/// An operator that stops after writing the result continues from it.
#[test]
fn a_result_is_written_before_the_next_step() {
    let mut case = case("a complete Job");
    case.index.spec.chunking = Some(Default::default());
    let (planned, settled) = case.reconciled();
    assert_eq!(in_short(&planned.step), "Start", "the desired revision has changed");
    assert_eq!(case.next(), (Step::Wait, true));
    case.status = settled;
    let (step, is_new) = case.next();
    assert_eq!((in_short(&step).as_str(), is_new), ("Start", false));
}

/// Only the Job that follows the last synchronisation counts.
#[test]
fn a_result_is_counted_once() {
    let mut case = case("a killed Job");
    let first = case.reconciled().1;
    assert_eq!(first.attempts, 1);
    case.status = first.clone();
    assert_eq!(case.reconciled().1.last_sync, first.last_sync);
    let wanted = case.desired_revision().wanted;
    case.observed.jobs.push(job_after(Some("sync-1"), &wanted, None));
    assert_eq!(case.reconciled().1.last_sync, first.last_sync, "the next Job runs");
    assert_eq!(in_short(&case.reconciled().0.step), "Wait");
}
