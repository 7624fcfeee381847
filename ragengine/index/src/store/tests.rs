pub(crate) mod disk;
mod faults;

use std::collections::BTreeMap;

use proptest::prelude::*;
use ragengine_client::wire::SourceSync;
use tempfile::TempDir;

use super::tables::{PAGES, REVISIONS, SYNCS};
use super::*;
use crate::record::{ChunkRecord, DocumentRecord};

const ALL_ROWS: &[std::ops::Range<u64>] = std::slice::from_ref(&(0..u64::MAX));

fn new_store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("index"), &IndexRecord::of_two_dimensions()).unwrap();
    (folder, store)
}

fn document(doc_id: &str, first_row: u64, chunks: u32) -> DocumentRecord {
    DocumentRecord {
        doc_id: doc_id.into(),
        metadata: "{}".into(),
        source: None,
        content_hash: "h".into(),
        first_row,
        chunks,
        text_bytes: 4,
    }
}

/// Writes a document with `chunks` chunks, each with a distinct vector and hash. The revision is the start of the text.
fn put_in(transaction: &Transaction, doc_id: &str, text: &str, chunks: u32) -> Result<u64, StoreError> {
    let before = transaction.document_by_id(doc_id)?;
    if let Some((_, before)) = &before {
        transaction.remove_chunks(before)?;
    }
    let number = before.map_or_else(|| transaction.next_document(), |(number, _)| Ok(number))?;
    let first_row = transaction.next_rows(chunks)?;
    let chunk = |ordinal: u32| {
        let hash = [(first_row as u8).wrapping_add(ordinal as u8); 32];
        ChunkRecord { document: number, ordinal, heading: None, text: format!("{text} {ordinal}"), hash }
    };
    let records: Vec<ChunkRecord> = (0..chunks).map(chunk).collect();
    let vectors: Vec<[f32; 2]> = (0..chunks).map(|ordinal| [first_row as f32, ordinal as f32]).collect();
    transaction.put_chunks(first_row, records.iter().zip(vectors.iter().map(<[f32; 2]>::as_slice)))?;
    transaction.put_document(number, &document(doc_id, first_row, chunks), text)?;
    transaction.put_revision(number, Some(&text.chars().take(8).collect::<String>()))?;
    Ok(number)
}

fn delete_in(transaction: &Transaction, doc_id: &str) -> Result<bool, StoreError> {
    match transaction.document_by_id(doc_id)? {
        Some((number, document)) => transaction.remove_document(number, &document).map(|()| true),
        None => Ok(false),
    }
}

fn put(store: &Store, doc_id: &str, text: &str, chunks: u32) -> u64 {
    store.write(|transaction| put_in(transaction, doc_id, text, chunks)).unwrap()
}

fn delete(store: &Store, doc_id: &str) -> bool {
    store.write(|transaction| delete_in(transaction, doc_id)).unwrap()
}

fn everything(store: &Store) -> BTreeMap<String, (u64, String, Vec<String>)> {
    let reader = store.reader().unwrap();
    let mut documents = BTreeMap::new();
    reader
        .each_document(|number, document| {
            let chunks = reader.chunks(document.rows()).unwrap().into_iter().map(|chunk| chunk.text).collect();
            let (text, _) = reader.text(number, usize::MAX).unwrap();
            assert_eq!(reader.number(&document.doc_id).unwrap(), Some(number));
            documents.insert(document.doc_id, (number, text, chunks));
        })
        .unwrap();
    documents
}

#[test]
fn written_documents_are_read() {
    let (_folder, store) = new_store();
    let number = put(&store, "a", "tëxt", 2);
    let reader = store.reader().unwrap();
    let document = reader.document_by_id("a").unwrap().unwrap();
    assert_eq!(document.rows(), 0..2);
    assert_eq!(reader.text(number, 2).unwrap(), ("të".to_owned(), true));
    assert_eq!(reader.text(number, 4).unwrap(), ("tëxt".to_owned(), false));
    assert_eq!(reader.chunks([1, 0]).unwrap()[0].text, "tëxt 1");
    assert_eq!(reader.vector(1).unwrap(), Some(vec![0.0, 1.0]));
    assert_eq!(reader.vector_by_hash(&[1; 32]).unwrap(), Some(vec![0.0, 1.0]));
    assert_eq!(reader.vector_by_hash(&[9; 32]).unwrap(), None);
}

#[test]
fn numbers_do_not_start_again() {
    let (_folder, store) = new_store();
    let taken = store.write(|transaction| {
        transaction.put_meta("next_row", &(u64::MAX - 1).to_le_bytes())?;
        assert_eq!(transaction.next_rows(1)?, u64::MAX - 1);
        transaction.next_rows(1)
    });
    assert!(matches!(taken, Err(StoreError::Damaged(reason)) if reason.contains("next_row")));
}

#[test]
fn a_reader_does_not_see_later_writes() {
    let (_folder, store) = new_store();
    put(&store, "a", "old", 1);
    let before = store.reader().unwrap();
    put(&store, "a", "new", 1);
    assert_eq!(before.text(0, 10).unwrap().0, "old");
    assert_eq!(store.reader().unwrap().text(0, 10).unwrap().0, "new");
}

#[test]
fn a_change_that_fails_changes_nothing() {
    let (_folder, store) = new_store();
    put(&store, "a", "text", 1);
    let failed: Result<(), StoreError> = store.write(|transaction| {
        let (number, document) = transaction.document_by_id("a")?.unwrap();
        transaction.remove_document(number, &document)?;
        Err(StoreError::Disk("full".into()))
    });
    assert!(failed.is_err());
    assert_eq!(everything(&store).len(), 1);
}

#[test]
fn numbers_are_never_reused_even_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let store = Store::create(&path, &IndexRecord::of_two_dimensions()).unwrap();
    let first = put(&store, "a", "text", 3);
    assert!(delete(&store, "a"));
    drop(store);
    let (store, read) = Store::open(&path).unwrap();
    assert_eq!(read, IndexRecord::of_two_dimensions());
    assert!(put(&store, "a", "text", 1) > first);
    assert_eq!(store.reader().unwrap().document_by_id("a").unwrap().unwrap().first_row, 3);
}

#[test]
fn a_store_has_one_owner() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let _store = Store::create(&path, &IndexRecord::of_two_dimensions()).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::InUse(_))));
}

#[test]
fn a_missing_or_foreign_file_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(Store::open(folder.path()), Err(StoreError::Damaged(_))));
    std::fs::write(folder.path().join(FILE), b"not a database, but long enough to look like one").unwrap();
    assert!(Store::open(folder.path()).is_err());
}

#[test]
fn a_newer_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let store = Store::create(&path, &IndexRecord::of_two_dimensions()).unwrap();
    store.write(|transaction| transaction.put_meta("format", b"2")).unwrap();
    drop(store);
    assert!(matches!(Store::open(&path), Err(StoreError::Format(format)) if format == "2"));
}

#[derive(Debug, Clone)]
enum Step {
    Put(u8, String, u32),
    Delete(u8),
    Revise(u8, Option<String>),
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let put = (0_u8..6, "[a-z]{1,8}", 1_u32..4).prop_map(|(id, text, chunks)| Step::Put(id, text, chunks));
    let revise = (0_u8..6, proptest::option::of("[a-z]{1,8}")).prop_map(|(id, revision)| Step::Revise(id, revision));
    let step = prop_oneof![4 => put, 2 => (0_u8..6).prop_map(Step::Delete), 2 => revise, 1 => Just(Step::Reopen)];
    proptest::collection::vec(step, 1..25)
}

/// A document's text, how many chunks it has, and its revision.
type Model = BTreeMap<String, (String, u32, Option<String>)>;

fn revise(store: &Store, doc_id: &str, revision: Option<&str>) -> bool {
    let revised = store.write(|transaction| match transaction.document_by_id(doc_id)? {
        Some((number, _)) => transaction.put_revision(number, revision).map(|()| true),
        None => Ok(false),
    });
    revised.unwrap()
}

fn check(store: &Store, model: &Model) -> Result<(), TestCaseError> {
    let stored = everything(store);
    prop_assert_eq!(stored.keys().collect::<Vec<_>>(), model.keys().collect::<Vec<_>>());
    let reader = store.reader().unwrap();
    for (doc_id, (text, chunks, revision)) in model {
        let (number, stored_text, stored_chunks) = &stored[doc_id];
        prop_assert_eq!(stored_text, text);
        let expected: Vec<String> = (0..*chunks).map(|ordinal| format!("{text} {ordinal}")).collect();
        prop_assert_eq!(stored_chunks, &expected);
        prop_assert_eq!(&reader.revisions([*number]).unwrap()[0], revision);
    }
    let mut rows = 0;
    let count = |_, _: Vec<f32>| {
        rows += 1;
        Ok::<_, StoreError>(())
    };
    reader.each_vector(ALL_ROWS, count).unwrap();
    prop_assert_eq!(rows, model.values().map(|(_, chunks, _)| *chunks).sum::<u32>());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_store_is_a_map(steps in steps()) {
        let (folder, mut store) = new_store();
        let mut model = Model::new();
        for step in steps {
            match step {
                Step::Put(id, text, chunks) => {
                    put(&store, &id.to_string(), &text, chunks);
                    let revision = Some(text.chars().take(8).collect());
                    model.insert(id.to_string(), (text, chunks, revision));
                }
                Step::Delete(id) => {
                    prop_assert_eq!(delete(&store, &id.to_string()), model.remove(&id.to_string()).is_some());
                }
                Step::Revise(id, revision) => {
                    let known = model.get_mut(&id.to_string());
                    prop_assert_eq!(revise(&store, &id.to_string(), revision.as_deref()), known.is_some());
                    known.into_iter().for_each(|known| known.2.clone_from(&revision));
                }
                Step::Reopen => {
                    drop(store);
                    store = Store::open(&folder.path().join("index")).unwrap().0;
                    check(&store, &model)?;
                }
            }
        }
        check(&store, &model)?;
    }
}

/// A copy of an open store is in the same state as after a kill: nothing has been done that redb does on closing.
#[test]
fn opening_after_a_kill_repairs_nothing() {
    let (folder, store) = new_store();
    for number in 0..50 {
        put(&store, &number.to_string(), "text", 2);
    }
    let copy = folder.path().join("copy.redb");
    std::fs::copy(folder.path().join("index").join(FILE), &copy).unwrap();
    let mut builder = redb::Builder::new();
    builder.set_repair_callback(|_| panic!("the file is scanned"));
    drop(builder.open(&copy).unwrap());
    let (store, _) = Store::open_in(DatabaseFile::open(&copy).unwrap()).unwrap();
    assert_eq!(everything(&store).len(), 50);
}

#[test]
fn token_counts_are_saved_for_each_tokenizer_and_deleted_with_their_chunks() {
    let (folder, store) = new_store();
    put(&store, "a", "one", 2);
    put(&store, "b", "two", 1);
    assert_eq!(store.token_counts(1, &[0, 1, 2]).unwrap(), [None, None, None]);
    // Row 9 does not exist, so its count is skipped.
    store.put_token_counts(1, &[(0, 10), (2, 30), (9, 90)]).unwrap();
    store.put_token_counts(2, &[(0, 11)]).unwrap();
    assert_eq!(store.token_counts(1, &[2, 1, 0, 9]).unwrap(), [Some(30), None, Some(10), None]);
    assert_eq!(store.token_counts(2, &[0]).unwrap(), [Some(11)]);
    put(&store, "a", "changed", 1);
    assert_eq!(store.token_counts(1, &[0, 2, 3]).unwrap(), [None, Some(30), None]);
    // The change made the earlier counts durable.
    drop(store);
    let (store, _) = Store::open(&folder.path().join("index")).unwrap();
    assert_eq!(store.token_counts(1, &[2]).unwrap(), [Some(30)]);
}

fn sync(sync_id: &str) -> SourceSync {
    serde_json::from_value(serde_json::json!({"sync_id": sync_id, "phase": "complete", "started_at": "t"})).unwrap()
}

#[test]
fn revisions_and_pages_are_deleted_with_their_documents() {
    let (_folder, store) = new_store();
    let (a, b) = (put(&store, "a", "one", 2), put(&store, "b", "two", 1));
    let write =
        |change: &dyn Fn(&Transaction) -> Result<(), StoreError>| store.write(|transaction| change(transaction));
    write(&|transaction| {
        transaction.put_revision(a, Some("a1"))?;
        transaction.put_revision(b, Some("b1"))?;
        transaction.put_pages([(0, 1), (1, 2), (2, 7)])
    })
    .unwrap();
    let revisions = || store.reader().unwrap().revisions([b, a, 99]).unwrap();
    let pages = || store.reader().unwrap().pages([2, 0, 1, 99]).unwrap();
    let some = |revision: &str| Some(revision.to_owned());
    assert_eq!((revisions(), pages()), (vec![some("b1"), some("a1"), None], vec![Some(7), Some(1), Some(2), None]));
    write(&|transaction| transaction.put_revision(a, None)).unwrap();
    assert_eq!(revisions(), [some("b1"), None, None]);
    put(&store, "a", "changed", 1);
    assert_eq!(pages(), [Some(7), None, None, None]);
    assert!(delete(&store, "b"));
    assert_eq!((revisions(), pages()), (vec![None, some("changed"), None], vec![None, None, None, None]));
}

#[test]
fn records_of_synchronisations_are_kept_until_they_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let store = Store::create(&path, &IndexRecord::of_two_dimensions()).unwrap();
    for (source, record) in [("s", sync("1")), ("t", sync("2")), ("s", sync("3"))] {
        store.write(|transaction| transaction.put_sync(source, Some(&record))).unwrap();
    }
    store.write(|transaction| transaction.put_sync("t", None)).unwrap();
    drop(store);
    let (store, _) = Store::open(&path).unwrap();
    assert_eq!(store.reader().unwrap().syncs().unwrap(), [("s".to_owned(), sync("3"))]);
}

#[test]
fn an_index_from_before_these_tables_is_read_and_written() {
    let (_folder, store) = new_store();
    let number = put(&store, "a", "one", 1);
    store
        .write(|transaction| {
            let drop =
                |dropped: Result<bool, redb::TableError>| dropped.map_err(|error| redb::Error::from(error).into());
            let gone: Result<Vec<bool>, StoreError> = [
                drop(transaction.inner().delete_table(REVISIONS)),
                drop(transaction.inner().delete_table(PAGES)),
                drop(transaction.inner().delete_table(SYNCS)),
            ]
            .into_iter()
            .collect();
            assert_eq!(gone?, [true; 3]);
            Ok(())
        })
        .unwrap();
    let reader = store.reader().unwrap();
    assert_eq!((reader.revisions([number]).unwrap(), reader.pages([0]).unwrap()), (vec![None], vec![None]));
    assert_eq!(reader.syncs().unwrap(), []);
    put(&store, "a", "changed", 2);
    assert!(delete(&store, "a"));
    store.write(|transaction| transaction.put_sync("s", Some(&sync("1")))).unwrap();
    assert_eq!(store.reader().unwrap().syncs().unwrap().len(), 1);
}
