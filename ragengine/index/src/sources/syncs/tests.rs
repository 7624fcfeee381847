use ragengine_client::wire::SyncPhase::{Complete, Failed, Running};
use ragengine_client::wire::{FileError, WhenOwnerIsGone};

use super::*;

/// Moments of a test, in seconds after its start.
struct Clock(Moment);

impl Clock {
    fn new() -> Self {
        Self(Moment { monotonic: Instant::now(), wall: "2026-11-22T14:00:00.75Z".parse().unwrap() })
    }

    fn at(&self, seconds: u64) -> Moment {
        self.0.after(Duration::from_secs(seconds))
    }
}

fn put(sync_id: &str, phase: SyncPhase) -> PutSourceSync {
    PutSourceSync::new(sync_id, phase)
}

/// Applies a report. Returns whether it is saved, and the event for the log.
fn report(syncs: &mut Syncs, put: PutSourceSync, now: &Moment) -> Result<(bool, SyncEvent), Held> {
    let update = syncs.update("s", put, now)?;
    let meant = (update.is_to_be_saved(), update.event());
    syncs.apply("s", update);
    Ok(meant)
}

#[test]
fn a_synchronisation_has_its_source_until_it_ends_or_is_silent_for_a_minute() {
    // The first report, the second report, and whether the second one is accepted.
    for (first, second, is_taken) in [
        (("a", Running, 0), ("b", Running, 0), false),
        (("a", Running, 0), ("b", Running, 59), false),
        (("a", Running, 0), ("b", Complete, 59), false),
        (("a", Running, 0), ("b", Failed, 59), false),
        (("a", Running, 0), ("b", Running, 60), true),
        (("a", Running, 0), ("b", Complete, 60), true),
        (("a", Running, 0), ("a", Running, 30), true),
        (("a", Running, 0), ("a", Running, 90), true),
        (("a", Running, 0), ("a", Complete, 90), true),
        (("a", Complete, 0), ("b", Running, 0), true),
        (("a", Failed, 0), ("b", Running, 0), true),
        (("a", Complete, 0), ("a", Running, 0), true),
        (("a", Failed, 0), ("b", Complete, 0), true),
    ] {
        let (clock, mut syncs) = (Clock::new(), Syncs::default());
        report(&mut syncs, put(first.0, first.1), &clock.at(first.2)).unwrap();
        let said = report(&mut syncs, put(second.0, second.1), &clock.at(second.2));
        assert_eq!(said.is_ok(), is_taken, "{first:?}, then {second:?}");
        let whose = syncs.latest("s").map(|sync| sync.sync_id.as_str());
        assert_eq!(whose, Some(if is_taken { second.0 } else { first.0 }));
        // Another source is free.
        assert!(syncs.update("t", put("b", Running), &clock.at(0)).is_ok());
    }
}

#[test]
fn each_report_renews_the_lease_for_a_minute() {
    let (clock, mut syncs) = (Clock::new(), Syncs::default());
    for seconds in [0, 50, 100] {
        report(&mut syncs, put("a", Running), &clock.at(seconds)).unwrap();
    }
    let held = report(&mut syncs, put("b", Running), &clock.at(159)).unwrap_err();
    assert_eq!((held.sync_id.as_str(), held.until.as_str()), ("a", "2026-11-22T14:02:40Z"));
    assert_eq!((syncs.running(clock.at(159).monotonic), syncs.running(clock.at(160).monotonic)), (1, 0));
    report(&mut syncs, put("b", Running), &clock.at(160)).unwrap();
    assert!(report(&mut syncs, put("a", Running), &clock.at(161)).is_err());
    report(&mut syncs, put("b", Failed), &clock.at(162)).unwrap();
    assert_eq!(syncs.running(clock.at(162).monotonic), 0);
}

#[test]
fn a_record_has_its_start_and_end_and_each_is_logged_once() {
    let (clock, mut syncs) = (Clock::new(), Syncs::default());
    let ended = |seconds| SyncEvent::Ended { elapsed: Duration::from_secs(seconds) };
    let shown = |seconds: u64| format!("2026-11-22T14:00:{seconds:02}Z");
    for (said, at, news, began, finished) in [
        (put("a", Running), 0, SyncEvent::Started, 0, None),
        (put("a", Running), 5, SyncEvent::Continued, 0, None),
        (put("a", Complete), 10, ended(10), 0, Some(10)),
        // The reply was lost.
        (put("a", Complete), 11, SyncEvent::Continued, 0, Some(11)),
        // A retried Job.
        (put("a", Running), 20, SyncEvent::Started, 20, None),
        (put("a", Failed), 23, ended(3), 20, Some(23)),
        // A synchronisation that never ran.
        (put("b", Failed), 30, ended(0), 30, Some(30)),
    ] {
        let meant = report(&mut syncs, said.clone(), &clock.at(at)).unwrap();
        assert_eq!(meant.1, news, "{said:?}");
        let latest = syncs.latest("s").unwrap();
        assert_eq!((&latest.started_at, &latest.finished_at), (&shown(began), &finished.map(shown)), "{said:?}");
    }
}

#[test]
fn only_a_different_outcome_is_saved() {
    let (clock, mut syncs) = (Clock::new(), Syncs::default());
    let complete =
        |sync_id: &str| PutSourceSync { revision: Some("r1".into()), done: 3, total: 3, ..put(sync_id, Complete) };
    let error = FileError { path: "p".into(), message: "m".into() };
    for (said, is_saved) in [
        (put("a", Running), false),
        (complete("a"), true),
        (complete("b"), false),
        (PutSourceSync { done: 1, ..put("c", Running) }, false),
        (complete("c"), false),
        (PutSourceSync { done: 2, ..complete("c") }, true),
        (complete("d"), true),
        (PutSourceSync { revision: Some("r2".into()), ..complete("e") }, true),
        (PutSourceSync { total: 4, ..complete("e") }, true),
        (PutSourceSync { held_back: 1, ..complete("e") }, true),
        (PutSourceSync { error_count: 1, ..complete("e") }, true),
        (PutSourceSync { error_count: 1, errors: vec![error.clone()], ..complete("e") }, true),
        (PutSourceSync { error_count: 1, errors: vec![error], ..complete("f") }, false),
        (PutSourceSync { message: Some("m".into()), ..put("g", Failed) }, true),
        (PutSourceSync { message: Some("n".into()), ..put("g", Failed) }, true),
        (PutSourceSync { message: Some("n".into()), ..put("h", Failed) }, false),
    ] {
        assert_eq!(report(&mut syncs, said.clone(), &clock.at(0)).unwrap().0, is_saved, "{said:?}");
    }
    assert!(syncs.is_saved("s") && !syncs.is_saved("t"));
}

#[test]
fn the_revision_is_kept_until_another_one_is_complete() {
    let (clock, mut syncs) = (Clock::new(), Syncs::default());
    let with = |phase, revision: Option<&str>| PutSourceSync { revision: revision.map(Into::into), ..put("a", phase) };
    for (phase, said, shown) in [
        (Running, None, None),
        (Complete, Some("r1"), Some("r1")),
        (Running, None, Some("r1")),
        (Failed, None, Some("r1")),
        (Running, Some("r2"), Some("r2")),
        (Complete, Some("r3"), Some("r3")),
        (Complete, None, None),
    ] {
        report(&mut syncs, with(phase, said), &clock.at(0)).unwrap();
        assert_eq!(syncs.latest("s").unwrap().revision.as_deref(), shown, "{phase:?} {said:?}");
    }
}

#[test]
fn saved_synchronisations_are_restored_and_not_running() {
    let (clock, mut before) = (Clock::new(), Syncs::default());
    report(&mut before, put("a", Complete), &clock.at(0)).unwrap();
    let saved = before.latest("s").unwrap().clone();
    let mut syncs = Syncs::saved(vec![("s".to_owned(), saved.clone())]);
    assert_eq!((syncs.latest("s"), syncs.sources().collect::<Vec<_>>()), (Some(&saved), vec!["s"]));
    assert_eq!(report(&mut syncs, put("b", Complete), &clock.at(0)).map(|(is_saved, _)| is_saved), Ok(false));
    syncs.forget("s");
    assert_eq!((syncs.latest("s"), syncs.is_saved("s")), (None, false));
}

#[test]
fn the_owner_is_saved_before_the_first_document() {
    let owner =
        |uid: &str, when_gone| Some(SourceOwner { name: "o".into(), uid: uid.into(), scope: "v".into(), when_gone });
    let owned = |owner, phase| PutSourceSync { owner, ..put("a", phase) };
    let (first, second, retained) =
        (owner("1", WhenOwnerIsGone::Delete), owner("2", WhenOwnerIsGone::Delete), owner("2", WhenOwnerIsGone::Retain));
    let (clock, mut syncs) = (Clock::new(), Syncs::default());
    for (said, owner, phase, is_saved, on_disk) in [
        (None, None, Running, false, None),
        (first.clone(), first.clone(), Running, true, Some(Failed)),
        (first.clone(), first.clone(), Running, false, Some(Failed)),
        (first.clone(), first.clone(), Complete, true, Some(Complete)),
        (first.clone(), first.clone(), Running, false, Some(Complete)),
        (None, first, Complete, false, Some(Complete)),
        (second.clone(), second, Running, true, Some(Complete)),
        (retained.clone(), retained, Complete, true, Some(Complete)),
    ] {
        let meant = report(&mut syncs, owned(said.clone(), phase), &clock.at(0)).unwrap();
        assert_eq!(meant.0, is_saved, "{said:?} {phase:?}");
        assert_eq!(syncs.latest("s").unwrap().owner, owner, "{said:?} {phase:?}");
        let saved = syncs.on_disk().next().map(|(_, saved)| saved.clone());
        assert_eq!(saved.as_ref().map(|saved| saved.phase), on_disk, "{said:?} {phase:?}");
        assert_eq!(saved.and_then(|saved| saved.owner), owner.filter(|_| on_disk.is_some()));
    }
    assert_eq!(syncs.owners().count(), 1);
}
