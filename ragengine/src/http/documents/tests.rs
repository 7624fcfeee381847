use serde_json::json;

use super::*;

#[test]
fn the_last_document_of_an_id_is_written_at_the_first_position() {
    let document = |doc_id: &str, text: &str| Document {
        doc_id: Some(doc_id.to_owned()),
        text: text.to_owned(),
        metadata: json!({"note": "x".repeat(80)}).as_object().cloned().unwrap_or_default(),
        ..Document::default()
    };
    let limits = Limits {
        max_documents: 9,
        max_document_bytes: 99,
        max_metadata_bytes: 99,
        cut_timeout: std::time::Duration::from_secs(1),
    };
    let sent = vec![document("a", "1"), document("b", "2"), document("a", "3")];
    let batch = Batch::check(sent.clone(), limits, &Waiter::default()).unwrap();
    let texts: Vec<&str> = batch.writes.iter().map(|document| &*document.text).collect();
    let metadata_bytes = 3 * r#"{"note":""}"#.len() + 3 * 80;
    assert!(batch.about_bytes > metadata_bytes, "{} > {metadata_bytes}", batch.about_bytes);
    assert_eq!((batch.sent, texts), (vec![0, 1, 0], vec!["3", "2"]));
    let left = ragengine_compute::Presence::default().waiter();
    assert!(matches!(Batch::check(sent, limits, &left), Err(IndexError::ShuttingDown)));
}

#[test]
fn a_document_has_the_format_of_the_api() {
    for source in [None, Some("s".to_owned())] {
        let metadata = json!({"k": [1]}).as_object().unwrap().clone();
        let document = Incoming {
            doc_id: "d".to_owned(),
            text: "t".into(),
            metadata: Arc::new(metadata.clone()),
            source: source.clone(),
            content_hash: String::new(),
            revision: None,
            cut_within: None,
        };
        let described = StoredDocument { doc_id: "d".to_owned(), text: "t".to_owned(), metadata, source };
        assert_eq!(json!(Stored(&document)), json!(described));
    }
}
