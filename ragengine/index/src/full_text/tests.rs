mod scores;
mod turns;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ragengine_client::wire::Document;
use ragengine_pipeline::filter::Filter;
use ragengine_settings::TextLanguage;

use super::analyse::MAX_PENDING_ROWS;
use crate::chunking::Chunk;
use crate::metrics::IndexMetrics;
use crate::record::IndexRecord;
use crate::search::{ByWords, Fusion, Origin, Query, TextOutcome};
use crate::writer::{Embedded, Limits, Mode, check_documents};
use crate::{Index, SearchSettings};

/// An operation on the folder of a closed index.
type Damage = fn(&Path);

fn settings(language: TextLanguage) -> SearchSettings {
    SearchSettings { exact_below_rows: 10_000, ef_search: 64, n_probe: None, language }
}

/// An index that can be closed and reopened.
struct Subject {
    folder: tempfile::TempDir,
    index: Arc<Index>,
    metrics: Arc<IndexMetrics>,
}

impl Subject {
    fn new() -> Self {
        let (folder, metrics) = (tempfile::tempdir().unwrap(), IndexMetrics::unread());
        let (path, record) = (folder.path().join("index"), IndexRecord::of_two_dimensions());
        let index = Index::create("i", &path, record, settings(TextLanguage::English), &metrics).unwrap();
        Self { folder, index, metrics }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("index")
    }

    /// Closes the index, changes its folder and reopens it.
    fn reopen_after(self, language: TextLanguage, change: impl FnOnce(&Path)) -> Self {
        let (path, Self { folder, index, .. }) = (self.path(), self);
        drop(index);
        change(&path);
        let metrics = IndexMetrics::unread();
        let index = Index::open("i", &path, settings(language), &metrics, &mut |_| {}).unwrap();
        Self { folder, index, metrics }
    }

    /// Writes documents of one chunk: id, text and metadata.
    fn put(&self, documents: &[(&str, &str, serde_json::Value)]) {
        let prepared = documents.iter().map(|(doc_id, text, metadata)| embedded(doc_id, text, metadata));
        let prepared = prepared.map(|document| document.prepare(2).unwrap()).collect();
        self.index.put(prepared, Mode::Upsert).unwrap();
    }

    /// Writes documents `0..count` with their numbers as texts.
    fn put_numbers(&self, numbers: std::ops::Range<usize>) {
        let texts: Vec<String> = numbers.map(|number| format!("number{number}")).collect();
        let documents: Vec<_> = texts.iter().map(|text| (&**text, &**text, serde_json::json!({}))).collect();
        self.put(&documents);
    }

    fn query(&self, text: &str, fusion: Fusion) -> Query {
        let by_words = ByWords { text: text.into(), fusion, candidates: 50 };
        Query { by_words: Some(by_words), ..Query::dense(vec![1.0, 0.0], 10, Filter::default()) }
    }

    /// The ids of the documents that have words of a query, best first.
    fn find(&self, text: &str) -> Vec<String> {
        let found = self.index.search(&self.query(text, Fusion::TextOnly)).unwrap();
        assert!(matches!(found.text, TextOutcome::Done), "{:?}", found.text);
        found.read_all().unwrap().into_iter().map(|chunk| chunk.doc_id).collect()
    }

    fn has_files(&self) -> bool {
        fs::read_dir(self.path())
            .unwrap()
            .any(|entry| entry.unwrap().file_name().to_str().unwrap().starts_with("text-"))
    }

    /// Where the full text is.
    fn pending_and_parts(&self) -> (u64, usize) {
        let text = self.index.view.read().text().clone();
        (text.pending().len(), text.parts().len())
    }
}

fn embedded(doc_id: &str, text: &str, metadata: &serde_json::Value) -> Embedded {
    let metadata = metadata.as_object().cloned().unwrap_or_default();
    let document = Document { doc_id: Some(doc_id.to_owned()), text: text.to_owned(), metadata, ..Document::default() };
    let limits = Limits {
        max_documents: 1,
        max_document_bytes: 1000,
        max_metadata_bytes: 1000,
        cut_timeout: std::time::Duration::from_secs(9),
    };
    let chunk = Chunk { heading: None, page: None, text: text.to_owned() };
    Embedded {
        document: check_documents(vec![document], limits, &ragengine_compute::Waiter::default()).unwrap().remove(0),
        chunks: vec![(chunk, vec![0.0, 1.0])],
    }
}

#[test]
fn chunks_are_found_by_their_words() {
    let subject = Subject::new();
    let code = serde_json::json!({"split_type": "code", "language": "rust"});
    subject.put(&[
        ("policy", "Our policies on travelling", serde_json::json!({})),
        ("lunch", "Lunch is in the garden", serde_json::json!({})),
        ("code", "for policy in policies { max_tokens }", code),
    ]);
    for (query, expected) in [
        ("policy", vec!["policy", "code"]),
        ("travels", vec!["policy"]),
        ("the garden", vec!["lunch"]),
        ("MaxTokens", vec!["code"]),
        // Stop words are found in code, if the query has nothing else.
        ("for in", vec!["code"]),
        ("the", vec![]),
        ("absent", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(subject.find(query), expected, "{query}");
    }
}

#[test]
fn both_searches_are_combined() {
    let subject = Subject::new();
    subject.put(&[("a", "red apple", serde_json::json!({})), ("b", "green pear", serde_json::json!({}))]);
    let origins = |fusion, text: &str| {
        let found = subject.index.search(&subject.query(text, fusion)).unwrap();
        let found = found.read_all().unwrap().into_iter();
        found.map(|chunk| (chunk.doc_id, chunk.found.origin, chunk.found.score)).collect::<Vec<_>>()
    };
    let weighted = Fusion::Weighted(Default::default());
    // All vectors are at distance 2, so the similarity is 0.
    let (a, b) = ("a".to_owned(), "b".to_owned());
    assert_eq!(origins(weighted, "pear"), [(b.clone(), Origin::Both, 0.3), (a.clone(), Origin::Vector, 0.0)]);
    assert_eq!(origins(weighted, "plum"), [(a.clone(), Origin::Vector, 0.0), (b.clone(), Origin::Vector, 0.0)]);
    assert_eq!(origins(Fusion::TextOnly, "pear"), [(b.clone(), Origin::Words, 1.0)]);
    let both = origins(Fusion::ReciprocalRank, "pear");
    assert_eq!((&both[0].0, both[0].1), (&b, Origin::Both));
    assert!((both[0].2 - (1.0 / 61.0 + 1.0 / 62.0) / (2.0 / 61.0)).abs() < 1e-6, "{both:?}");
}

#[test]
fn small_segments_are_merged_and_many_chunks_are_saved() {
    let subject = Subject::new();
    for number in 0..16 {
        subject.put_numbers(number..number + 1);
        assert_eq!(subject.find(&format!("number{number}")), [format!("number{number}")]);
    }
    // Four of four.
    assert_eq!(subject.pending_and_parts(), (0, 1));
    subject.index.work_on_full_text();
    assert!(!subject.has_files());
    subject.put_numbers(16..40);
    subject.index.work_on_full_text();
    assert!(subject.has_files());
    subject.index.remove(vec!["number3".to_owned(), "number20".to_owned()]).unwrap();
    assert_eq!(subject.find("number3 number4"), ["number4"]);

    let subject = subject.reopen_after(TextLanguage::English, |_| {});
    assert_eq!(subject.pending_and_parts(), (0, 1));
    assert_eq!(subject.metrics.full_text("reads", "loaded"), 1);
    assert_eq!(subject.find("number3 number4 number20"), ["number4"]);
}

#[test]
fn a_chunk_that_is_removed_during_a_merge_is_not_found() {
    let subject = Subject::new();
    subject.put_numbers(0..40);
    subject.index.analyse_pending().unwrap();
    let parts = subject.index.view.write().text_mut().close();
    let segments: Vec<_> = parts.iter().map(|part| (&*part.segment, &*part.dead)).collect();
    let merged = super::segment::TextSegment::merged(&segments).unwrap();
    subject.index.remove(vec!["number3".to_owned()]).unwrap();
    // A later chunk is not part of the merge.
    subject.put_numbers(40..41);
    assert_eq!(subject.find("number40"), ["number40"]);
    drop(subject.index.view.write().text_mut().replace(&parts, merged));
    assert_eq!(subject.find("number3 number4 number40").len(), 2);
}

#[test]
fn unusable_files_are_made_again() {
    let in_files = |folder: &Path, extension: &str| {
        let files = fs::read_dir(folder.join("text-00000001")).unwrap().map(|entry| entry.unwrap().path());
        files.into_iter().find(|path| path.to_str().unwrap().ends_with(extension)).unwrap()
    };
    let damages: [(&str, TextLanguage, Damage); 5] = [
        ("damaged", TextLanguage::English, |folder| fs::write(folder.join("text-00000001/manifest"), "").unwrap()),
        ("damaged", TextLanguage::English, |folder| fs::remove_file(folder.join("text-00000001/meta.json")).unwrap()),
        ("damaged", TextLanguage::English, |folder| {
            let path = folder.join("text-00000001");
            let terms = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
            let terms = terms.into_iter().find(|path| path.extension().is_some_and(|end| end == "term")).unwrap();
            let mut bytes = fs::read(&terms).unwrap();
            bytes[3] ^= 1;
            fs::remove_file(&terms).unwrap();
            fs::write(&terms, bytes).unwrap();
        }),
        ("foreign", TextLanguage::German, |_| {}),
        ("foreign", TextLanguage::English, |folder| {
            let other = Subject::new();
            other.put_numbers(0..30);
            other.index.work_on_full_text();
            fs::remove_dir_all(folder.join("text-00000001")).unwrap();
            fs::rename(other.path().join("text-00000001"), folder.join("text-00000001")).unwrap();
        }),
    ];
    for (number, (expected, language, damage)) in damages.into_iter().enumerate() {
        let subject = Subject::new();
        subject.put_numbers(0..30);
        subject.index.work_on_full_text();
        assert!(in_files(&subject.path(), ".term").exists());
        let subject = subject.reopen_after(language, damage);
        assert_eq!(subject.metrics.full_text("reads", expected), 1, "{number}");
        assert!(!subject.has_files(), "{number}");
        assert_eq!(subject.find("number7"), ["number7"], "{number}");
        subject.index.work_on_full_text();
        let subject = subject.reopen_after(language, |_| {});
        assert_eq!(subject.metrics.full_text("reads", "loaded"), 1, "{number}");
        assert_eq!(subject.find("number7"), ["number7"], "{number}");
    }
}

#[test]
fn a_search_does_not_wait_for_many_chunks() {
    let subject = Subject::new();
    subject.put_numbers(0..MAX_PENDING_ROWS as usize + 1);
    let found = subject.index.search(&subject.query("number7", Fusion::Weighted(Default::default()))).unwrap();
    assert!(matches!(&found.text, TextOutcome::Failed(error) if error.kind() == "not_ready"), "{:?}", found.text);
    assert_eq!(found.results.len(), 10);
    assert!(subject.index.work_on_full_text());
    assert_eq!(subject.find("number7"), ["number7"]);
}
