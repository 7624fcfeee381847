use super::*;
use crate::record::{ChunkRecord, DocumentRecord, IndexRecord};
use crate::vectors::tests::refuse;
use crate::{IndexSize, SearchSettings};

fn new_index() -> (tempfile::TempDir, Arc<Index>) {
    let folder = tempfile::tempdir().unwrap();
    let record = IndexRecord::of_two_dimensions();
    let search = SearchSettings {
        exact_below_rows: 10_000,
        ef_search: 64,
        n_probe: None,
        language: ragengine_settings::TextLanguage::English,
    };
    let metrics = crate::metrics::IndexMetrics::unread();
    let index = Index::create("i", &folder.path().join("index"), record, search, &metrics).unwrap();
    (folder, index)
}

/// Writes a document without chunks.
fn put(transaction: &Transaction, doc_id: &str) -> Result<Changed, StoreError> {
    let before = transaction.document_by_id(doc_id)?;
    let number = before.as_ref().map_or_else(|| transaction.next_document(), |(number, _)| Ok(*number))?;
    let document = DocumentRecord {
        doc_id: doc_id.into(),
        metadata: "{}".into(),
        source: None,
        content_hash: "h".into(),
        first_row: transaction.next_rows(0)?,
        chunks: 0,
        text_bytes: 1,
    };
    transaction.put_document(number, &document, "t")?;
    Ok(Changed { number, before: before.map(|(_, before)| before), after: Some((document, Vec::new())) })
}

/// Writes a document with one chunk.
fn put_chunk(transaction: &Transaction, doc_id: &str) -> Result<Changed, StoreError> {
    let mut changed = put(transaction, doc_id)?;
    let Some((document, vectors)) = &mut changed.after else { return Ok(changed) };
    (document.first_row, document.chunks) = (transaction.next_rows(1)?, 1);
    *vectors = vec![1.0, 0.0];
    let chunk = ChunkRecord { document: changed.number, ordinal: 0, heading: None, text: "t".into(), hash: [7; 32] };
    transaction.put_chunks(document.first_row, [(&chunk, vectors.as_slice())])?;
    transaction.put_document(changed.number, document, "t")?;
    Ok(changed)
}

/// Writes a document with one chunk, of the source `s`.
fn put_of_source(transaction: &Transaction, doc_id: &str) -> Result<Changed, StoreError> {
    let mut changed = put_chunk(transaction, doc_id)?;
    let Some((document, _)) = &mut changed.after else { return Ok(changed) };
    document.source = Some("s".to_owned());
    transaction.put_document(changed.number, document, "t")?;
    Ok(changed)
}

/// Queues a change, as another thread does while one writes. Returns the receiver of its result.
fn waiting(
    index: &Index,
    make: impl FnMut(&Transaction) -> Result<Vec<Changed>, StoreError> + Send + 'static,
) -> oneshot::Receiver<Result<(), Failure>> {
    let (made, answer) = oneshot::channel();
    index.writes.queue.0.lock().push_back(Waiting { make: Box::new(make), chunks: 1, made });
    answer
}

#[test]
fn a_writer_makes_all_waiting_changes_in_order() {
    let (_folder, index) = new_index();
    let order = Arc::new(Mutex::new(Vec::new()));
    let others: Vec<_> = (0..5)
        .map(|number| {
            let order = Arc::clone(&order);
            waiting(&index, move |transaction| {
                order.lock().push(number);
                put(transaction, &format!("d{number}")).map(|changed| vec![changed])
            })
        })
        .collect();
    let last = Arc::clone(&order);
    let own = index.commit(1, move |transaction| {
        last.lock().push(5);
        Ok(("mine", vec![put(transaction, "d0")?]))
    });
    assert_eq!(own.unwrap(), "mine");
    assert_eq!(*order.lock(), [0, 1, 2, 3, 4, 5], "each once: one transaction");
    assert!(others.into_iter().all(|mut other| matches!(other.try_recv(), Ok(Ok(())))));
    assert_eq!(index.size().documents, 5, "d0 was written twice");
}

#[test]
fn a_failing_change_does_not_affect_the_others() {
    let (_folder, index) = new_index();
    let mut good = waiting(&index, |transaction| Ok(vec![put(transaction, "good")?]));
    let mut bad = waiting(&index, |transaction| {
        put(transaction, "bad")?;
        Err(StoreError::Damaged("as planned".into()))
    });
    index.commit(1, |transaction| Ok(((), vec![put(transaction, "own")?]))).unwrap();
    assert!(matches!(good.try_recv(), Ok(Ok(()))));
    assert!(matches!(bad.try_recv(), Ok(Err(Failure::Store(StoreError::Damaged(_))))));
    let reader = index.reader();
    assert_eq!(["good", "bad", "own"].map(|doc_id| reader.number(doc_id).unwrap().is_some()), [true, false, true]);
    assert_eq!(index.size().documents, 2);
}

#[test]
fn a_failure_of_the_disk_affects_all_changes_of_the_transaction() {
    let (_folder, index) = new_index();
    let mut other = waiting(&index, |transaction| Ok(vec![put(transaction, "other")?]));
    let own = index.commit(1, |_| Err::<((), Vec<Changed>), _>(StoreError::Full));
    assert!(matches!(own, Err(IndexError::Store(StoreError::Full))));
    assert!(matches!(other.try_recv(), Ok(Err(Failure::Store(StoreError::Full)))));
    assert_eq!(index.size().documents, 0);
}

#[test]
fn a_deleted_index_rejects_changes() {
    let (_folder, index) = new_index();
    index.mark_deleted();
    let made = index.commit(1, |transaction| Ok(((), vec![put(transaction, "late")?])));
    assert!(matches!(made, Err(IndexError::NoSuchIndex(_))));
}

#[test]
fn after_a_panic_the_other_changes_get_an_answer() {
    let (_folder, index) = new_index();
    let mut other = waiting(&index, |_| Ok(Vec::new()));
    let broken = Arc::clone(&index);
    let own = std::thread::spawn(move || broken.commit(1, |_| -> Result<((), _), _> { panic!("as planned") }));
    assert!(own.join().is_err());
    assert!(matches!(other.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
    index.commit(1, |transaction| Ok(((), vec![put(transaction, "after")?]))).unwrap();
    assert_eq!(index.size().documents, 1);
}

#[test]
fn a_transaction_has_a_bounded_size() {
    let queue = Queue::default();
    let push = |chunks: usize| {
        let (made, _) = oneshot::channel();
        queue.0.lock().push_back(Waiting { make: Box::new(|_| Ok(Vec::new())), chunks, made });
    };
    for chunks in [MAX_CHUNKS * 2, 1, MAX_CHUNKS - 1, 1] {
        push(chunks);
    }
    (0..MAX_CHANGES).for_each(|_| push(0));
    assert_eq!([1, 2, MAX_CHANGES, 1, 0].map(|_| queue.next().len()), [1, 2, MAX_CHANGES, 1, 0]);
}

#[test]
fn concurrent_writers_lose_no_changes() {
    let (_folder, index) = new_index();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let index = &index;
            scope.spawn(move || {
                for number in 0..20 {
                    let doc_id = format!("{writer}-{number}");
                    let made = index.commit(1, move |transaction| Ok(((), vec![put(transaction, &doc_id)?])));
                    made.unwrap();
                }
            });
        }
    });
    assert_eq!(index.size().documents, 160);
    let mut stored = 0;
    index.reader().each_document(|_, _| stored += 1).unwrap();
    assert_eq!(stored, 160);
}

#[test]
fn a_change_that_could_not_be_shown_is_shown_before_the_next_one() {
    let (_folder, index) = new_index();
    let write =
        |doc_id: &'static str| index.commit(1, move |transaction| Ok(((), vec![put_chunk(transaction, doc_id)?])));
    write("a").unwrap();
    refuse(1);
    let error = write("b").unwrap_err();
    assert!(matches!(&error, IndexError::NotShown { .. }) && error.to_string().contains("no memory"), "{error}");
    // The change is durable, but searches do not find it.
    assert!(index.store.reader().unwrap().number("b").unwrap().is_some());
    assert_eq!((index.size().documents, index.has_unshown()), (1, true));
    // Deletes the document and continues writing.
    let remove = |doc_id: &'static str| index.remove(vec![doc_id.to_owned()]).unwrap();
    write("c").unwrap();
    assert_eq!((index.size().documents, index.size().chunks, index.has_unshown()), (3, 3, false));
    remove("b");
    assert_eq!((index.size().documents, index.size().chunks, index.size().text_bytes), (2, 2, 2));
}

#[test]
fn a_document_that_could_not_be_shown_is_deleted_or_the_deletion_fails() {
    let (_folder, index) = new_index();
    let write = || index.commit(1, |transaction| Ok(((), vec![put_of_source(transaction, "b")?])));
    let by_id: fn(&Arc<Index>) -> Result<bool, IndexError> = |index| Ok(index.remove(vec!["b".to_owned()])? == [true]);
    let by_source: fn(&Arc<Index>) -> Result<bool, IndexError> = |index| Ok(index.delete_source("s")? == 1);
    for delete in [by_id, by_source] {
        refuse(2);
        assert!(matches!(write(), Err(IndexError::NotShown { .. })));
        assert!(matches!(delete(&index), Err(IndexError::NotShown { .. })), "there is still no memory");
        assert!(delete(&index).unwrap(), "the document existed");
        assert!(index.store.reader().unwrap().number("b").unwrap().is_none());
        index.show_unshown();
        assert_eq!((index.size(), index.has_unshown()), (IndexSize::default(), false));
    }
}

#[test]
fn a_deletion_reports_what_its_transaction_found() {
    let (_folder, index) = new_index();
    index.commit(1, |transaction| Ok(((), vec![put(transaction, "a")?, put(transaction, "b")?]))).unwrap();
    // Both changes are made after the check for existing documents and before the deletion.
    let other_deletes = waiting(&index, |transaction| {
        let (number, document) = transaction.document_by_id("a")?.unwrap();
        transaction.remove_document(number, &document)?;
        Ok(vec![Changed { number, before: Some(document), after: None }])
    });
    let other_puts = waiting(&index, |transaction| Ok(vec![put(transaction, "c")?]));
    let doc_ids = ["a", "b", "c", "d", "b"].map(str::to_owned).to_vec();
    assert_eq!(index.remove(doc_ids).unwrap(), [false, true, true, false, true]);
    assert!([other_deletes, other_puts].into_iter().all(|mut other| matches!(other.try_recv(), Ok(Ok(())))));
    assert_eq!(index.size(), IndexSize::default());
}

#[test]
fn nothing_is_written_before_earlier_changes_are_shown() {
    let (_folder, index) = new_index();
    let write =
        |doc_id: &'static str| index.commit(1, move |transaction| Ok(((), vec![put_chunk(transaction, doc_id)?])));
    refuse(2);
    for doc_id in ["a", "b"] {
        assert!(matches!(write(doc_id), Err(IndexError::NotShown { .. })));
    }
    let stored = |doc_id| index.store.reader().unwrap().number(doc_id).unwrap().is_some();
    assert_eq!((stored("a"), stored("b")), (true, false));
    index.show_unshown();
    assert_eq!((index.size().documents, index.has_unshown()), (1, false));
    write("b").unwrap();
    assert_eq!(index.size().documents, 2);
}

#[test]
fn all_changes_of_a_transaction_that_could_not_be_shown_fail_and_are_written_once() {
    let (_folder, index) = new_index();
    let mut other = waiting(&index, |transaction| Ok(vec![put_chunk(transaction, "other")?]));
    refuse(1);
    let own = index.commit(1, |transaction| Ok(((), vec![put_chunk(transaction, "own")?])));
    assert!(matches!(own, Err(IndexError::NotShown { .. })));
    assert!(matches!(other.try_recv(), Ok(Err(Failure::NotShown(_)))));
    index.show_unshown();
    assert_eq!((index.size().documents, index.size().chunks), (2, 2));
}
