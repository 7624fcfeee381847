//! Fuzzes the bodies of requests about documents, searches, indexes and sources. A body is refused or accepted; an
//! accepted one survives being written and read again, and a document matches a filter made of its own metadata.
#![no_main]

#[path = "../../index/src/filter.rs"]
mod filter;
#[path = "../../index/src/sources/check.rs"]
mod source_check;

use filter::MetadataIndex;
use libfuzzer_sys::fuzz_target;
use ragengine_client::wire::{
    AddDocuments, DeleteDocuments, IndexSettings, Metadata, PutSourceSync, Retrieve, UpdateDocuments,
};
use ragengine_client::{content_hash, default_doc_id};
use ragengine_pipeline::filter::Filter;
use ragengine_settings::VectorIndexKind;
use serde::Serialize;
use serde::de::DeserializeOwned;

fuzz_target!(|body: &[u8]| {
    if let Some(request) = check_round_trip::<AddDocuments>(body) {
        for document in &request.documents {
            assert_eq!(default_doc_id(&document.text), default_doc_id(&document.text.clone()));
            assert_eq!(content_hash(&document.text, &document.metadata).len(), 64);
        }
    }
    check_round_trip::<UpdateDocuments>(body);
    check_round_trip::<DeleteDocuments>(body);
    if let Some(Some(filter)) = check_round_trip::<Retrieve>(body).map(|request| request.metadata_filter) {
        check_matches_own_metadata(&filter);
    }
    if let Ok(metadata) = serde_json::from_slice::<Metadata>(body) {
        check_matches_own_metadata(&metadata);
    }
    let settings = check_round_trip::<IndexSettings>(body);
    if let Some(Ok(kind)) =
        settings.and_then(|settings| settings.vector_index).map(|kind| kind.parse::<VectorIndexKind>())
    {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    if let Some(sync) = check_round_trip::<PutSourceSync>(body) {
        let refused = source_check::check_sync(&sync.sync_id, &sync);
        assert!(refused.is_ok() || !refused.unwrap_err().to_string().is_empty());
    }
});

fn check_round_trip<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(body: &[u8]) -> Option<T> {
    let value: T = serde_json::from_slice(body).ok()?;
    let written = serde_json::to_vec(&value).expect("a value read from JSON can be written");
    assert_eq!(serde_json::from_slice::<T>(&written).expect("written JSON can be read"), value);
    Some(value)
}

/// A list in a filter matches any of its values, and an empty list matches nothing. A filter with operators is only
/// evaluated.
fn check_matches_own_metadata(metadata: &Metadata) {
    let Ok(filter) = Filter::new(metadata) else { return };
    let mut index = MetadataIndex::default();
    index.insert(1, metadata);
    let has_empty_list = metadata.values().any(|value| value.as_array().is_some_and(Vec::is_empty));
    if !filter.is_empty() {
        let has_operators = serde_json::to_string(metadata).is_ok_and(|text| text.contains("\"$"));
        let matches = index.candidates(&filter).matching().contains(1);
        assert!(has_operators || matches != has_empty_list);
        index.remove(1, metadata);
        assert!(index.candidates(&filter).matching().is_empty());
    }
}
