use ragengine_client::wire::Metadata;
use ragengine_settings::VectorIndexKind;

use super::compare::{Difference, Pair, Place};
use super::*;
use crate::index::record::DocumentRecord;
use crate::index::store::{Changes, Store};

fn model(fingerprint: &str) -> Model {
    Model { name: fingerprint.into(), fingerprint: fingerprint.into(), dimensions: 2, max_passage_tokens: 256 }
}

fn record(fingerprint: &str, max_tokens: u32) -> IndexRecord {
    IndexRecord {
        model: fingerprint.into(),
        embedding_fingerprint: fingerprint.into(),
        dimensions: 2,
        max_tokens,
        overlap_tokens: 10,
        vector_index: VectorIndexKind::Flat,
    }
}

fn plan(target: IndexRecord, phase: Phase) -> Plan {
    Plan { target, phase, started_at: String::new() }
}

const BUILDING: Phase = Phase::Building { folder: 7 };

#[test]
fn a_start_begins_what_the_model_makes_necessary_and_nothing_else() {
    let serving = record("old", 100);
    let large = record("old", 400);
    for (what, serving, plan, model, expected) in [
        ("the same", &serving, None, model("old"), Decision::Rest),
        (
            "the same model under another name",
            &serving,
            None,
            Model { name: "moved".into(), ..model("old") },
            Decision::Rest,
        ),
        ("a lower limit of the same model", &large, None, model("old"), Decision::Rest),
        ("another model", &serving, None, model("new"), Decision::Begin(record("new", 100))),
        (
            "another width",
            &serving,
            None,
            Model { dimensions: 3, ..model("old") },
            Decision::Begin(IndexRecord { dimensions: 3, ..serving.clone() }),
        ),
        ("a model that takes less", &large, None, model("new"), Decision::Begin(record("new", 256))),
        ("half-built", &serving, Some(plan(record("new", 100), BUILDING)), model("new"), Decision::Resume),
        ("half-built otherwise cut", &serving, Some(plan(record("old", 50), BUILDING)), model("old"), Decision::Resume),
        (
            "half-built, and yet another model",
            &serving,
            Some(plan(record("new", 50), BUILDING)),
            model("third"),
            Decision::Begin(record("third", 50)),
        ),
        (
            "half-built, and the old model again",
            &serving,
            Some(plan(record("new", 100), BUILDING)),
            model("old"),
            Decision::Drop,
        ),
        ("given up", &serving, Some(plan(record("new", 100), Phase::Abandoned)), model("new"), Decision::Rest),
        (
            "given up, and another model",
            &serving,
            Some(plan(record("new", 100), Phase::Abandoned)),
            model("third"),
            Decision::Begin(record("third", 100)),
        ),
        (
            "given up, and the old model again",
            &serving,
            Some(plan(record("new", 100), Phase::Abandoned)),
            model("old"),
            Decision::Drop,
        ),
    ] {
        assert_eq!(decide(serving, plan.as_ref(), &model), expected, "{what}");
    }
}

#[test]
fn what_was_given_up_is_begun_again_when_it_is_asked_for() {
    let serving = record("old", 100);
    let given_up = |target| plan(target, Phase::Abandoned);
    for (what, plan, model, expected) in [
        ("nothing", None, model("old"), Decision::Rest),
        ("it is being built", Some(plan(record("old", 50), BUILDING)), model("old"), Decision::Rest),
        ("what a user wanted", Some(given_up(record("old", 50))), model("old"), Decision::Begin(record("old", 50))),
        ("and another model", Some(given_up(record("new", 50))), model("new"), Decision::Begin(record("new", 50))),
        ("of a model that is gone", Some(given_up(record("third", 50))), model("old"), Decision::Rest),
        ("what the model needs", None, model("new"), Decision::Begin(record("new", 100))),
    ] {
        assert_eq!(again(&serving, plan.as_ref(), &model), expected, "{what}");
    }
    // A start leaves it given up.
    for (target, with) in [(record("old", 50), "old"), (record("new", 50), "new")] {
        assert_eq!(decide(&serving, Some(&given_up(target)), &model(with)), Decision::Rest);
    }
}

#[test]
fn a_user_gets_what_is_asked_for_and_the_rest_stays() {
    let serving = record("old", 100);
    let longest = |max_tokens| Asked { max_tokens: Some(max_tokens), ..Asked::default() };
    let sq8 = Asked { vector_index: Some(VectorIndexKind::Sq8), ..Asked::default() };
    let with_sq8 = |record: IndexRecord| IndexRecord { vector_index: VectorIndexKind::Sq8, ..record };
    let (building, abandoned) = (plan(record("old", 50), BUILDING), plan(record("new", 100), Phase::Abandoned));
    for (what, plan, model, wanted, expected) in [
        ("nothing", None, model("old"), Asked::default(), Decision::Rest),
        ("what is", None, model("old"), longest(100), Decision::Rest),
        ("other chunks", None, model("old"), longest(50), Decision::Begin(record("old", 50))),
        ("more than the model takes", None, model("old"), longest(1000), Decision::Begin(record("old", 256))),
        (
            "less than the overlap",
            None,
            model("old"),
            longest(16),
            Decision::Begin(IndexRecord { overlap_tokens: 8, ..record("old", 16) }),
        ),
        ("another kind", None, model("old"), sq8, Decision::Begin(with_sq8(record("old", 100)))),
        ("what is being built", Some(&building), model("old"), longest(50), Decision::Rest),
        ("nothing while it is built", Some(&building), model("old"), Asked::default(), Decision::Rest),
        ("more than is being built", Some(&building), model("old"), sq8, Decision::Begin(with_sq8(record("old", 50)))),
        ("what serves", Some(&building), model("old"), longest(100), Decision::Drop),
        ("what serves, the model given up", Some(&abandoned), model("new"), longest(100), Decision::Rest),
        (
            "other chunks, the model given up",
            Some(&abandoned),
            model("new"),
            longest(50),
            Decision::Begin(record("new", 50)),
        ),
    ] {
        assert_eq!(asked(&serving, plan, &model, wanted), expected, "{what}");
    }
}

/// A store of the catalog's kind with documents put straight into it.
struct Documents {
    _folder: tempfile::TempDir,
    store: Store,
}

impl Documents {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("store"), &record("m", 100)).unwrap();
        Self { _folder: folder, store }
    }

    fn with(documents: &[(&str, &str, Option<&str>)]) -> Self {
        let made = Self::new();
        documents.iter().for_each(|(doc_id, text, revision)| made.put(doc_id, text, *revision));
        made
    }

    fn put(&self, doc_id: &str, text: &str, revision: Option<&str>) {
        let put = |transaction: &crate::index::store::Transaction| {
            let number = match transaction.document_by_id(doc_id)? {
                Some((number, _)) => number,
                None => transaction.next_document()?,
            };
            let record = DocumentRecord {
                doc_id: doc_id.to_owned(),
                metadata: "{\"a\":1}".to_owned(),
                source: Some("s".to_owned()),
                content_hash: text.to_owned(),
                first_row: 0,
                chunks: 0,
                text_bytes: text.len() as u64,
            };
            transaction.put_document(number, &record, text)?;
            transaction.put_revision(number, revision)
        };
        self.store.write(put).unwrap();
    }

    fn remove(&self, doc_id: &str) {
        let remove = |transaction: &crate::index::store::Transaction| match transaction.document_by_id(doc_id)? {
            Some((number, record)) => transaction.remove_document(number, &record),
            None => Ok(()),
        };
        self.store.write(remove).unwrap();
    }
}

/// What is removed, written (with its revision) and renamed.
type Shown = (Vec<String>, Vec<(String, String, Option<String>)>, Vec<(u64, Option<String>)>);

fn shown(difference: Difference) -> Shown {
    for written in &difference.to_write {
        assert_eq!((written.source.as_deref(), written.content_hash.as_str()), (Some("s"), &*written.text));
        assert_eq!(*written.metadata, Metadata::from_iter([("a".to_owned(), 1.into())]));
    }
    let written =
        difference.to_write.into_iter().map(|document| (document.doc_id, document.text.to_string(), document.revision));
    (difference.to_remove, written.collect(), difference.revisions)
}

fn everything(serving: &Documents, next: &Documents) -> Shown {
    let (serving, next) = (serving.store.reader().unwrap(), next.store.reader().unwrap());
    let pair = Pair { serving: &serving, next: &next };
    let mut difference = Difference { to_remove: pair.gone().unwrap(), ..Difference::default() };
    let mut last = None;
    for number in serving.document_numbers().unwrap() {
        last = pair.compare(number, Place::Behind(last), &mut difference).unwrap().max(last);
    }
    shown(difference)
}

#[test]
fn only_what_differs_is_done_again() {
    let serving = Documents::with(&[("a", "1", None), ("b", "2", Some("r")), ("c", "3", None), ("d", "4", None)]);
    let owned = |doc_id: &str, text: &str, revision: Option<&str>| {
        (doc_id.to_owned(), text.to_owned(), revision.map(str::to_owned))
    };
    let all = vec![owned("a", "1", None), owned("b", "2", Some("r")), owned("c", "3", None), owned("d", "4", None)];
    assert_eq!(everything(&serving, &Documents::new()), (vec![], all.clone(), vec![]));
    let half = Documents::with(&[("a", "1", None), ("b", "2", Some("old")), ("x", "9", None)]);
    assert_eq!(everything(&serving, &half), (vec!["x".to_owned()], all[2..].to_vec(), vec![(1, Some("r".to_owned()))]));
    let other =
        Documents::with(&[("a", "1", Some("gone")), ("b", "other", Some("r")), ("c", "3", None), ("d", "4", None)]);
    assert_eq!(everything(&serving, &other), (vec![], all[1..2].to_vec(), vec![(0, None)]));
    // What was deleted and added again is listed last.
    serving.remove("b");
    serving.put("b", "2", Some("r"));
    let same = Documents::with(&[("a", "1", None), ("b", "2", Some("r")), ("c", "3", None), ("d", "4", None)]);
    assert_eq!(everything(&serving, &same), (vec!["b".to_owned()], all[1..2].to_vec(), vec![]));
}

#[test]
fn changes_are_all_that_is_looked_at_and_all_of_them() {
    let both = [("a", "1", None), ("b", "2", None), ("c", "3", None), ("d", "4", None)];
    let (serving, next) = (Documents::with(&both), Documents::with(&both));
    let changes_after = |change: &dyn Fn()| {
        serving.store.follow_changes(1);
        change();
        serving.store.take_changes(1).unwrap()
    };
    let changed = |changes: &Changes| {
        let readers = (serving.store.reader().unwrap(), next.store.reader().unwrap());
        shown(Pair { serving: &readers.0, next: &readers.1 }.changed(changes, 3).unwrap())
    };
    assert_eq!(changed(&changes_after(&|| {})), (vec![], vec![], vec![]));
    let revision = changes_after(&|| {
        serving.store.write(|transaction| transaction.put_revision(2, Some("r"))).unwrap();
    });
    assert_eq!(changed(&revision), (vec![], vec![], vec![(2, Some("r".to_owned()))]));
    let many = changes_after(&|| {
        serving.put("a", "other", None);
        serving.remove("b");
        serving.put("e", "5", None);
        serving.remove("d");
        serving.put("d", "4", None);
        serving.put("f", "6", None);
        serving.remove("f");
    });
    let owned = |doc_id: &str, text: &str| (doc_id.to_owned(), text.to_owned(), None);
    let expected = vec![owned("a", "other"), owned("e", "5"), owned("d", "4")];
    assert_eq!(changed(&many), (vec!["b".to_owned(), "d".to_owned()], expected, vec![]));
}

#[test]
fn a_generation_has_one_builder() {
    let building = Building::new(0);
    assert_eq!([building.begin(), building.begin()], [true, false]);
}
