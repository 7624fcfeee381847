use ragengine_compute::Waiter;
use ragengine_pipeline::filter::Filter;

use super::*;
use crate::SearchSettings;
use crate::chunking::Chunk;
use crate::metrics::IndexMetrics;
use crate::record::IndexRecord;
use crate::writer::{Embedded, Limits, Mode, check_documents};

/// A document whose chunks have different vectors.
fn document(doc_id: &str, chunks: u16) -> Embedded {
    let limits = Limits {
        max_documents: 1,
        max_document_bytes: 9,
        max_metadata_bytes: 9,
        cut_timeout: std::time::Duration::from_secs(9),
    };
    let sent = ragengine_client::wire::Document {
        doc_id: Some(doc_id.to_owned()),
        text: "text".to_owned(),
        ..ragengine_client::wire::Document::default()
    };
    let chunk = |number: u16| {
        let angle = f32::from(number);
        (Chunk { heading: None, page: None, text: number.to_string() }, vec![angle.cos(), angle.sin()])
    };
    Embedded {
        document: check_documents(vec![sent], limits, &Waiter::default()).unwrap().remove(0),
        chunks: (0..chunks).map(chunk).collect(),
    }
}

/// The rows of deleted chunks are not used again.
#[test]
fn a_sample_is_of_the_chunks_that_are_left() {
    let folder = tempfile::tempdir().unwrap();
    let search = SearchSettings {
        exact_below_rows: 100_000,
        ef_search: 64,
        n_probe: None,
        language: ragengine_settings::TextLanguage::English,
    };
    let (path, record) = (folder.path().join("index"), IndexRecord::of_two_dimensions());
    let index = Index::create("i", &path, record, search, &IndexMetrics::unread()).unwrap();
    let query = Query::dense(vec![1.0, 0.0], 1, Filter::default());
    let background = || {
        let (state, _) = index.state(&query, false);
        BackgroundDistances::default().get(1, &state).unwrap()
    };
    assert!(!background().is_known());
    for document in [document("gone", 5_000), document("kept", 10)] {
        index.put(vec![document.prepare(2).unwrap()], Mode::Upsert).unwrap();
    }
    index.remove(vec!["gone".to_owned()]).unwrap();
    let left = background();
    // The mean of two random directions is 2.
    assert!(left.pairs > SAMPLED_VECTORS / 2 && (1.5..2.5).contains(&left.mean), "{left:?}");
}

#[test]
fn few_pairs_say_nothing() {
    let different = |count: u16| (0..count).map(|number| vec![f32::from(number), 0.0]).collect::<Vec<_>>();
    for (vectors, expected) in [
        (Vec::new(), false),
        (vec![vec![1.0, 0.0]; 512], false),
        (different(20), false),
        (different(21), true),
        ([different(30), vec![vec![1.0, 0.0]; 482]].concat(), true),
    ] {
        let distribution = Distribution::of(&vectors);
        assert_eq!(distribution.is_known(), expected, "{distribution:?}");
    }
}
