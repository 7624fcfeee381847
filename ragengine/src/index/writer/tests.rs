use ragengine_client::wire::Document;
use ragengine_settings::VectorIndexKind;

use super::*;
use crate::index::record::IndexRecord;
use crate::index::store::Store;

const LIMITS: Limits = Limits { max_documents: 9, max_document_bytes: 99, max_metadata_bytes: 99 };

fn prepared(text: &str, change: Change) -> Prepared {
    let revision = Some("new".to_owned());
    let document = Document { doc_id: Some("d".into()), text: text.into(), revision, ..Document::default() };
    let incoming = check_documents(vec![document], LIMITS).unwrap().remove(0);
    Prepared { incoming, fate: Fate::Written, change }
}

#[test]
fn a_revision_is_not_put_on_what_another_write_has_put_there_meanwhile() {
    let record = IndexRecord {
        model: "m".into(),
        embedding_fingerprint: "f".into(),
        dimensions: 2,
        max_tokens: 100,
        overlap_tokens: 10,
        vector_index: VectorIndexKind::Flat,
    };
    for (stored, expected) in [(Some("same"), Some("new")), (Some("other"), Some("old")), (None, None)] {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("index"), &record).unwrap();
        let write = |document: &Prepared| store.write(|transaction| put(transaction, document, Mode::Upsert)).unwrap();
        if let Some(text) = stored {
            write(&prepared(text, Change::Everything(Vec::new())));
            store.write(|transaction| transaction.put_revision(0, Some("old"))).unwrap();
        }
        write(&prepared("same", Change::Revision));
        let revision = store.reader().unwrap().revisions([0]).unwrap().remove(0);
        assert_eq!(revision.as_deref(), expected, "{stored:?}");
    }
}
