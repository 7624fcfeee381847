use std::sync::Arc;

use crate::record::{DocumentRecord, IndexRecord};
use crate::{Index, SearchSettings};

fn document(doc_id: &str, source: &str) -> DocumentRecord {
    DocumentRecord {
        doc_id: doc_id.into(),
        metadata: "{}".into(),
        source: Some(source.into()),
        content_hash: "h".into(),
        first_row: 0,
        chunks: 0,
        text_bytes: 4,
    }
}

/// An index with these documents, numbered from 0.
fn index(path: &std::path::Path, documents: &[DocumentRecord]) -> Arc<Index> {
    let search = SearchSettings {
        exact_below_rows: 10,
        ef_search: 10,
        n_probe: None,
        language: ragengine_settings::TextLanguage::English,
    };
    let metrics = crate::metrics::IndexMetrics::unread();
    let index = Index::create("i", path, IndexRecord::of_two_dimensions(), search, &metrics).unwrap();
    let put = |(number, document): (u64, &DocumentRecord)| {
        index.store.write(|transaction| transaction.put_document(number, document, "text")).unwrap();
    };
    (0..).zip(documents).for_each(put);
    drop(index);
    Index::open("i", path, search, &metrics, &mut |_| {}).unwrap()
}

#[test]
fn a_document_that_was_moved_to_another_source_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let index = index(&folder.path().join("index"), &[document("a", "s"), document("b", "t"), document("c", "s")]);
    // The numbers as of the start of the deletion: 1 was moved since, 9 is gone.
    assert_eq!(index.delete_of_source("s", &[0, 1, 9]).unwrap(), 1);
    let left: Vec<(String, u64)> = index.sources().into_iter().map(|source| (source.name, source.documents)).collect();
    assert_eq!(left, [("s".to_owned(), 1), ("t".to_owned(), 1)]);
    assert_eq!(index.delete_source("s").unwrap(), 1);
}

#[test]
fn a_deleted_index_rejects_changes() {
    use ragengine_client::wire::{PutSourceSync, SyncPhase};
    let folder = tempfile::tempdir().unwrap();
    let index = index(&folder.path().join("index"), &[document("a", "s")]);
    index.mark_deleted();
    let put = PutSourceSync::new("a", SyncPhase::Running);
    assert!(index.put_sync("s", put, &super::Moment::now()).is_err());
    assert!(index.delete_source("s").is_err());
}
