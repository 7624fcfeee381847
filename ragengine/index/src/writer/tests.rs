use std::time::Duration;

use ragengine_client::wire::Document;

use super::*;
use crate::SearchSettings;
use ragengine_compute::{Presence, Waiter};

use crate::chunking::{Chunk, ChunkingError, Stopped};
use crate::record::IndexRecord;
use crate::search::Query;
use crate::store::Store;
use crate::vectors::tests::refuse;
use ragengine_pipeline::filter::Filter;

const LIMITS: Limits =
    Limits { max_documents: 9, max_document_bytes: 99, max_metadata_bytes: 99, cut_timeout: Duration::from_secs(9) };

fn prepared(text: &str, change: DocumentChange) -> Prepared {
    let revision = Some("new".to_owned());
    let document = Document { doc_id: Some("d".into()), text: text.into(), revision, ..Document::default() };
    let incoming = check_documents(vec![document], LIMITS, &Waiter::default()).unwrap().remove(0);
    Prepared { incoming, outcome: WriteOutcome::Written, change }
}

fn new_index() -> (tempfile::TempDir, Arc<Index>) {
    let folder = tempfile::tempdir().unwrap();
    let search = SearchSettings {
        exact_below_rows: 10_000,
        ef_search: 64,
        n_probe: None,
        language: ragengine_settings::TextLanguage::English,
    };
    let metrics = crate::metrics::IndexMetrics::unread();
    let index =
        Index::create("i", &folder.path().join("index"), IndexRecord::of_two_dimensions(), search, &metrics).unwrap();
    (folder, index)
}

fn embedded(doc_id: &str, vectors: &[[f32; 2]]) -> Embedded {
    let document = Document { doc_id: Some(doc_id.into()), text: "text".into(), ..Document::default() };
    let chunk = |vector: &[f32; 2]| (Chunk { heading: None, page: None, text: "text".into() }, vector.to_vec());
    Embedded {
        document: check_documents(vec![document], LIMITS, &Waiter::default()).unwrap().remove(0),
        chunks: vectors.iter().map(chunk).collect(),
    }
}

fn found(index: &Arc<Index>, vector: [f32; 2]) -> Vec<String> {
    let query = Query::dense(vector.to_vec(), 10, Filter::default());
    index.search(&query).unwrap().read_all().unwrap().into_iter().map(|found| found.doc_id.clone()).collect()
}

#[test]
fn documents_with_vectors_are_found_by_them() {
    let (_folder, index) = new_index();
    index.put_vectors(vec![embedded("a", &[[1.0, 0.0]]), embedded("b", &[[0.0, 1.0], [0.6, 0.8]])]).unwrap();
    assert_eq!(found(&index, [0.0, 1.0]), ["b", "b", "a"]);
    index.put_vectors(vec![embedded("b", &[[1.0, 0.0]])]).unwrap();
    assert_eq!((found(&index, [0.0, 1.0]), index.size().documents), (vec!["a".into(), "b".into()], 2));
}

#[test]
fn an_invalid_vector_is_not_written() {
    let (_folder, index) = new_index();
    let mut narrow = embedded("a", &[[1.0, 0.0]]);
    narrow.chunks[0].1.pop();
    for odd in [narrow, embedded("a", &[[1.0, f32::NAN]])] {
        let written = index.put_vectors(vec![embedded("b", &[[1.0, 0.0]]), odd]);
        assert!(matches!(written, Err(IndexError::OtherVectors(_))));
        assert_eq!(index.size().documents, 0);
    }
}

#[test]
fn a_revision_is_not_put_on_the_content_of_another_write() {
    for (stored, expected) in [(Some("same"), Some("new")), (Some("other"), Some("old")), (None, None)] {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("index"), &IndexRecord::of_two_dimensions()).unwrap();
        let write = |document: &Prepared| store.write(|transaction| put(transaction, document, Mode::Upsert)).unwrap();
        if let Some(text) = stored {
            write(&prepared(text, DocumentChange::Everything(Vec::new())));
            store.write(|transaction| transaction.put_revision(0, Some("old"))).unwrap();
        }
        write(&prepared("same", DocumentChange::Revision));
        let revision = store.reader().unwrap().revisions([0]).unwrap().remove(0);
        assert_eq!(revision.as_deref(), expected, "{stored:?}");
    }
}

/// A new revision writes no chunks; new metadata does.
#[test]
fn a_new_revision_alone_keeps_the_rows() {
    let (_folder, index) = new_index();
    let document = |revision: &str, title: &str| Document {
        doc_id: Some("d".into()),
        text: "text".into(),
        metadata: serde_json::Map::from_iter([("title".to_owned(), title.into())]),
        revision: Some(revision.to_owned()),
        ..Document::default()
    };
    let caller = Waiter::default();
    for (sent, first_row) in [(document("1", "a"), 0), (document("2", "a"), 0), (document("3", "b"), 1)] {
        let incoming = check_documents(vec![sent], LIMITS, &caller).unwrap();
        let mut prepared = index.prepare(incoming, Mode::Upsert, None, cutting(&caller)).unwrap();
        let vectors = prepared.texts_to_embed().iter().map(|_| vec![1.0, 0.0]).collect();
        index.put(prepared.with_vectors(vectors, 2).unwrap(), Mode::Upsert).unwrap();
        assert_eq!(index.reader().document_by_id("d").unwrap().unwrap().first_row, first_row);
    }
}

fn cut_one(incoming: Incoming, caller: &Waiter) -> (Result<(), IndexError>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("index"), &IndexRecord::of_two_dimensions()).unwrap();
    let known = KnownVectors { reader: &store.reader().unwrap(), donor: None };
    let counted = std::cell::Cell::new(0);
    let count = |text: &str| {
        counted.set(counted.get() + 1);
        text.len()
    };
    let prepared =
        prepare::prepare(&known, vec![incoming], Mode::Upsert, Cutting { count_tokens: &count, ..cutting(caller) });
    (prepared.map(drop), counted.get())
}

const SIZES: Sizes = Sizes { max_tokens: 100, overlap_tokens: 10, max_passage_tokens: 100 };

fn cutting(caller: &Waiter) -> Cutting<'_> {
    Cutting { sizes: SIZES, has_document_names: false, count_tokens: &str::len, caller }
}

/// The texts to embed of a document with a title, where the model accepts `max_passage_tokens` bytes.
fn embedded_with_title(title: &str, text: &str, max_passage_tokens: usize) -> Vec<String> {
    let metadata = serde_json::Map::from_iter([("title".to_owned(), title.into())]);
    let incoming = Incoming { metadata: metadata.into(), ..incoming(text) };
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("index"), &IndexRecord::of_two_dimensions()).unwrap();
    let known = KnownVectors { reader: &store.reader().unwrap(), donor: None };
    let caller = Waiter::default();
    let sizes = Sizes { max_passage_tokens, ..SIZES };
    let cutting = Cutting { sizes, has_document_names: true, ..cutting(&caller) };
    prepare::prepare(&known, vec![incoming], Mode::Upsert, cutting).unwrap().texts_to_embed()
}

#[test]
fn a_name_leaves_the_model_room_for_the_chunk() {
    assert_eq!(embedded_with_title("Pump", "Turn it off.", 100), ["Pump\nTurn it off."]);
    // A quarter of 40 is 10.
    assert_eq!(embedded_with_title("The longest", "Turn it off.", 40), ["Turn it off."]);
    let text = "One two three. ".repeat(6);
    for max_passage_tokens in [20, 40, 60, 100] {
        let embedded = embedded_with_title("Pump", text.trim(), max_passage_tokens);
        assert!(
            embedded.iter().all(|text| text.starts_with("Pump\n") && text.len() <= max_passage_tokens),
            "{embedded:?}"
        );
        // Equal chunks are embedded once.
        assert!(!embedded.is_empty());
    }
}

fn incoming(text: &str) -> Incoming {
    let document = Document { doc_id: Some("d".into()), text: text.into(), ..Document::default() };
    check_documents(vec![document], LIMITS, &Waiter::default()).unwrap().remove(0)
}

#[test]
fn a_document_over_its_time_limit_is_named_and_not_split_again() {
    let late = Incoming { cut_within: Some(Duration::ZERO), ..incoming("too slow") };
    let (refused, _) = cut_one(late, &Waiter::default());
    let words = refused.unwrap_err().to_string();
    assert!(words.contains("'d'") && words.contains("limits.cutTimeoutSeconds"), "{words}");

    let slow = incoming("slow once");
    assert!(cut_one(slow.clone(), &Waiter::default()).0.is_ok());
    slow::Attempt::of(&slow, SIZES).remember_as_too_slow();
    let (refused, counted) = cut_one(slow.clone(), &Waiter::default());
    assert!(matches!(refused, Err(IndexError::SlowDocument { doc_id, .. }) if doc_id == "d"));
    assert_eq!(counted, 0);
    for other in [incoming("slow no more"), Incoming { cut_within: None, ..slow }] {
        assert!(cut_one(other, &Waiter::default()).0.is_ok());
    }
}

#[test]
fn nothing_is_split_for_a_disconnected_client() {
    let caller = Presence::default().waiter();
    let (refused, counted) = cut_one(incoming("text"), &caller);
    assert!(matches!(refused, Err(IndexError::Chunking(ChunkingError::Stopped(Stopped::Unwanted)))));
    assert_eq!(counted, 0);
}

#[test]
fn a_short_document_gets_a_share_of_the_time_limit() {
    let limits = Limits { max_document_bytes: 1000, cut_timeout: Duration::from_secs(30), ..LIMITS };
    let within = |bytes: usize| {
        let document = Document { text: "x".repeat(bytes), ..Document::default() };
        check_documents(vec![document], limits, &Waiter::default()).unwrap()[0].cut_within.unwrap().as_secs_f64()
    };
    assert_eq!((within(1), within(500), within(1000)), (2.0, 15.0, 30.0));
}

/// Writes a document like a request: compares, splits, embeds and writes it.
fn write(index: &Index, text: &str, mode: Mode) -> Result<Vec<WriteOutcome>, IndexError> {
    let caller = Waiter::default();
    let mut prepared = index.prepare(vec![incoming(text)], mode, None, cutting(&caller))?;
    let vectors = prepared.texts_to_embed().iter().map(|_| vec![1.0, 0.0]).collect();
    index.put(prepared.with_vectors(vectors, 2)?, mode)
}

/// The visible text.
fn shown(index: &Index) -> String {
    let reader = index.reader();
    let number = reader.number("d").unwrap().unwrap();
    reader.text(number, usize::MAX).unwrap().0
}

#[test]
fn a_document_is_reverted_after_a_write_that_could_not_be_shown() {
    let (_folder, index) = new_index();
    assert_eq!(write(&index, "first", Mode::Upsert).unwrap(), [WriteOutcome::Written]);
    refuse(2);
    assert!(matches!(write(&index, "second", Mode::Upsert), Err(IndexError::NotShown { .. })));
    // The view still shows the old text.
    assert_eq!(shown(&index), "first");
    assert!(matches!(write(&index, "first", Mode::Upsert), Err(IndexError::NotShown { .. })), "no memory yet");
    assert_eq!(write(&index, "first", Mode::Upsert).unwrap(), [WriteOutcome::Written]);
    index.show_unshown();
    assert_eq!((shown(&index), index.has_unshown()), ("first".to_owned(), false));
    assert_eq!(write(&index, "first", Mode::Upsert).unwrap(), [WriteOutcome::Unchanged]);
}

#[test]
fn a_document_that_could_not_be_shown_can_be_updated() {
    let (_folder, index) = new_index();
    assert_eq!(write(&index, "first", Mode::UpdateOnly).unwrap(), [WriteOutcome::NotFound]);
    refuse(1);
    assert!(matches!(write(&index, "first", Mode::Upsert), Err(IndexError::NotShown { .. })));
    assert_eq!(write(&index, "second", Mode::UpdateOnly).unwrap(), [WriteOutcome::Written]);
    assert_eq!(shown(&index), "second");
}
