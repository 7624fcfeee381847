use ragengine_client::wire::Metadata;

use super::compare::{Difference, Pair, Place};
use crate::record::{DocumentRecord, IndexRecord};
use crate::store::{Changes, Store};

/// A store like those of the catalog, with documents written directly.
struct Documents {
    _folder: tempfile::TempDir,
    store: Store,
}

impl Documents {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("store"), &IndexRecord::of_two_dimensions()).unwrap();
        Self { _folder: folder, store }
    }

    fn with(documents: &[(&str, &str, Option<&str>)]) -> Self {
        let made = Self::new();
        documents.iter().for_each(|(doc_id, text, revision)| made.put(doc_id, text, *revision));
        made
    }

    fn put(&self, doc_id: &str, text: &str, revision: Option<&str>) {
        let put = |transaction: &crate::store::Transaction| {
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
        let remove = |transaction: &crate::store::Transaction| match transaction.document_by_id(doc_id)? {
            Some((number, record)) => transaction.remove_document(number, &record),
            None => Ok(()),
        };
        self.store.write(remove).unwrap();
    }
}

/// Removed documents, written documents with their revisions, and changed revisions.
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
fn only_differences_are_written() {
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
    // A document that was deleted and added again is listed last.
    serving.remove("b");
    serving.put("b", "2", Some("r"));
    let same = Documents::with(&[("a", "1", None), ("b", "2", Some("r")), ("c", "3", None), ("d", "4", None)]);
    assert_eq!(everything(&serving, &same), (vec!["b".to_owned()], all[1..2].to_vec(), vec![]));
}

#[test]
fn all_changes_are_compared_and_nothing_else() {
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
