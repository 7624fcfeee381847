//! Any bytes as the body of a request about documents, searches, indexes or sources: it is refused or taken, and one that is taken means the same
//! when it is written down and read again; a document passes the filter that says what its metadata is.
#![no_main]

#[path = "../../index/src/filter.rs"]
#[expect(dead_code, reason = "the server uses the rest")]
mod filter;
#[path = "../../index/src/sources/check.rs"]
mod source_check;

use filter::{Filter, MetadataIndex};
use libfuzzer_sys::fuzz_target;
use ragengine_client::wire::{
    AddDocuments, DeleteDocuments, IndexSettings, Metadata, PutSourceSync, Retrieve, UpdateDocuments,
};
use ragengine_client::{content_hash, default_doc_id};
use ragengine_settings::VectorIndexKind;
use serde::Serialize;
use serde::de::DeserializeOwned;

fuzz_target!(|body: &[u8]| {
    if let Some(request) = is_read_again::<AddDocuments>(body) {
        for document in &request.documents {
            assert_eq!(default_doc_id(&document.text), default_doc_id(&document.text.clone()));
            assert_eq!(content_hash(&document.text, &document.metadata).len(), 64);
        }
    }
    is_read_again::<UpdateDocuments>(body);
    is_read_again::<DeleteDocuments>(body);
    if let Some(Some(filter)) = is_read_again::<Retrieve>(body).map(|request| request.metadata_filter) {
        is_found_by_itself(&filter);
    }
    if let Ok(metadata) = serde_json::from_slice::<Metadata>(body) {
        is_found_by_itself(&metadata);
    }
    let settings = is_read_again::<IndexSettings>(body);
    if let Some(Ok(kind)) =
        settings.and_then(|settings| settings.vector_index).map(|kind| kind.parse::<VectorIndexKind>())
    {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    if let Some(sync) = is_read_again::<PutSourceSync>(body) {
        let refused = source_check::check_sync(&sync.sync_id, &sync);
        assert!(refused.is_ok() || !refused.unwrap_err().to_string().is_empty());
    }
});

fn is_read_again<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(body: &[u8]) -> Option<T> {
    let value: T = serde_json::from_slice(body).ok()?;
    let written = serde_json::to_vec(&value).expect("it was JSON");
    assert_eq!(serde_json::from_slice::<T>(&written).expect("it was written here"), value);
    Some(value)
}

/// A list stands for any of its values, and an empty one for none.
fn is_found_by_itself(metadata: &Metadata) {
    let Ok(filter) = Filter::new(metadata) else { return };
    let mut index = MetadataIndex::default();
    index.insert(1, metadata);
    let has_empty_list = metadata.values().any(|value| value.as_array().is_some_and(Vec::is_empty));
    if !filter.is_empty() {
        assert_eq!(index.candidates(&filter).matching().contains(1), !has_empty_list);
        index.remove(1, metadata);
        assert!(index.candidates(&filter).matching().is_empty());
    }
}
