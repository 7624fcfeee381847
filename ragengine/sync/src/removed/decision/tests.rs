use ragengine_client::wire::WhenOwnerIsGone;
use serde_json::{Value, json};

use super::*;

fn contents(contents: &[&str]) -> Vec<String> {
    contents.iter().map(|content| (*content).to_owned()).collect()
}

#[test]
fn a_removed_source_is_deleted_when_most_documents_are_kept() {
    for (what, kept, removed, expected) in [
        ("it was renamed", vec!["a", "b", "c"], vec!["a", "b", "c"], false),
        ("another has taken its place", vec!["x", "y", "z"], vec!["a", "b", "c"], false),
        ("a small one of two", vec!["a", "b", "c"], vec!["d"], false),
        ("one of two equal ones", vec!["a"], vec!["b"], false),
        ("the large one of two", vec!["d"], vec!["a", "b", "c"], true),
        ("what has taken its place is empty", vec![], vec!["a"], true),
        ("it is empty itself", vec![], vec![], false),
    ] {
        assert_eq!(loses_most(&contents(&kept), &contents(&removed)), expected, "{what}");
    }
}

fn task(sources: &[&str], confirmations: &[&str]) -> SyncTask {
    let source = |name: &&str| json!({"name": name, "origin": {"folder": {"path": "/docs"}}});
    let sources: Value = sources.iter().map(source).collect();
    let task = json!({"server": "http://s", "index": "i", "owner": "o", "syncId": "new", "sources": sources,
        "confirmations": confirmations});
    serde_json::from_value(task).unwrap()
}

/// A source that the server records with this owner.
fn source(name: &str, owner: Option<SourceOwner>) -> SourceDescription {
    let started_at = "2026-11-22T09:00:00Z";
    let sync =
        json!({"sync_id": "old", "phase": "complete", "revision": "r1", "owner": owner, "started_at": started_at});
    let source = json!({"name": name, "documents": 7, "chunks": 9, "bytes": 99, "sync": sync});
    serde_json::from_value(source).unwrap()
}

fn owner(uid: &str, scope: &str, when_gone: WhenOwnerIsGone) -> SourceOwner {
    SourceOwner { name: "o".to_owned(), uid: uid.to_owned(), scope: scope.to_owned(), when_gone }
}

#[test]
fn a_source_that_the_task_does_not_name_was_removed() {
    // `o.x` is another owner.
    let on_server = ["o.faq", "o.site", "other.faq", "o2.faq", "o.x.faq"].map(|name| source(name, None)).to_vec();
    let me = owner("u", "s", WhenOwnerIsGone::Retain);
    for (named, removed) in [(&["faq"][..], &["o.site"][..]), (&["faq", "site"], &[]), (&["new"], &["o.faq", "o.site"])]
    {
        for owner in [None, Some(&me)] {
            let found = removed_sources(&task(named, &[]), owner, on_server.clone());
            assert_eq!(found.iter().map(|source| source.name.as_str()).collect::<Vec<_>>(), removed, "{named:?}");
        }
    }
}

#[test]
fn sources_that_are_to_be_deleted_with_their_owner_go_with_it() {
    use WhenOwnerIsGone::{Delete, Retain};
    let gone = owner("u", "s", Delete);
    for (recorded, goes) in [
        (Some(owner("u", "s", Delete)), true),
        (Some(owner("u", "s", Retain)), false),
        (Some(owner("another", "s", Delete)), false),
        (Some(owner("u", "another", Delete)), false),
        (None, false),
    ] {
        let found = removed_sources(&task(&[], &[]), Some(&gone), vec![source("o.faq", recorded.clone())]);
        assert_eq!(!found.is_empty(), goes, "{recorded:?}");
        let of_nobody = removed_sources(&task(&[], &[]), None, vec![source("o.faq", recorded)]);
        assert_eq!(of_nobody.len(), 1);
    }
}

#[test]
fn a_removed_source_is_held_back_until_its_deletion_is_confirmed() {
    let (source, me) = (source("o.faq", None), owner("u", "s", WhenOwnerIsGone::Delete));
    for (kept, reason) in
        [(KeptReason::Waits, "every other source was read"), (KeptReason::Guarded, "more than half of the documents")]
    {
        let record = held_back(&task(&["site"], &[]), Some(&me), &source, kept).unwrap();
        let message = record.message.clone().unwrap();
        assert!(message.contains(reason), "{message}");
        let confirmation = record.confirmation.clone().unwrap();
        assert!(confirmation.starts_with("faq@"), "{confirmation}");
        let expected = PutSourceSync {
            owner: Some(me.clone()),
            revision: Some("r1".to_owned()),
            held_back: 7,
            confirmation: Some(confirmation.clone()),
            message: Some(message),
            ..PutSourceSync::new("new", SyncPhase::Complete)
        };
        assert_eq!(record, expected);
        assert!(held_back(&task(&["site"], &["faq@another"]), Some(&me), &source, kept).is_some());
        assert_eq!(held_back(&task(&["site"], &[&confirmation]), Some(&me), &source, kept), None);
    }
}
