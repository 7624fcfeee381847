//! Writers that are stopped, that meet each other, and that readers watch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ragengine_pipeline::filter::Filter;
use ragengine_vector_database::{DenseSearch, Index, Selection, WithoutDocuments};

use crate::corpus::{TestDocument, some, vector};
use crate::engine::{Engine, document, terms_of_query};
use crate::servers::{Running, with_each_database};

with_each_database!(
    a_reader_sees_one_whole_version_at_any_time,
    a_stopped_writer_leaves_a_whole_document,
    of_two_writers_the_later_one_wins,
    revisions_vectors_and_scores_are_read_back,
    documents_are_passed_over_as_they_are_listed,
    sources_have_their_sizes,
);

/// A version of a document, whose chunks all say which.
fn version(doc_id: &str, number: usize, chunks: usize) -> TestDocument {
    let lines: Vec<String> = (0..chunks).map(|chunk| format!("version {number} part {chunk}")).collect();
    TestDocument::new(doc_id, &lines.join("\n"))
}

async fn index(running: &Running, name: &str) -> Index {
    match Engine::external(running.database.clone(), name, 1).await {
        Engine::External(index) => *index,
        Engine::Faiss { .. } => panic!("it is a vector database"),
    }
}

/// The chunks that a search shows, by document: how many of which version.
async fn shown(index: &Index) -> BTreeMap<String, Vec<String>> {
    let filter = Filter::default();
    let search = DenseSearch { vectors: &[vector(1)], top_k: 100, filter: &filter, has_vectors: false };
    let mut documents: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for hit in index.nearest(&search).await.unwrap() {
        let version = hit.text.split(" part").next().unwrap().to_owned();
        documents.entry(hit.document.doc_id.clone()).or_default().push(version);
    }
    documents
}

async fn a_reader_sees_one_whole_version_at_any_time(running: Running) {
    let index = index(&running, "watched").await;
    index.put(&[document(&version("d", 0, 5)), document(&version("other", 0, 5))]).await.unwrap();
    let is_done = Arc::new(AtomicBool::new(false));
    let (watched, ends) = (index.clone(), Arc::clone(&is_done));
    let reader = tokio::spawn(async move {
        let mut seen = BTreeSet::new();
        while !ends.load(Ordering::Relaxed) {
            let documents = shown(&watched).await;
            let versions = documents.get("d").expect("the document is there at any time");
            assert!(versions.len() == 5 && versions.iter().all(|each| *each == versions[0]), "{versions:?}");
            seen.insert(versions[0].clone());
            let whole = watched.whole_document("d").await.unwrap().expect("its text is there, too");
            assert_eq!(whole.text.lines().count(), 5);
        }
        seen
    });
    for number in 1..=40 {
        index.put(&[document(&version("d", number, 5))]).await.unwrap();
    }
    is_done.store(true, Ordering::Relaxed);
    let seen = reader.await.unwrap();
    assert!(seen.len() > 3, "{seen:?}");
    assert_eq!(shown(&index).await["d"], vec!["version 40"; 5]);
}

async fn a_stopped_writer_leaves_a_whole_document(running: Running) {
    let index = index(&running, "stopped").await;
    let chunks = 60;
    index.put(&[document(&version("d", 0, chunks))]).await.unwrap();
    for (number, stop_ms) in (1..).zip((0..40).chain((40..160).step_by(4))) {
        let document = document(&version("d", number, chunks));
        drop(tokio::time::timeout(Duration::from_millis(stop_ms), index.put(&[document])).await);
        let documents = shown(&index).await;
        let versions = &documents["d"];
        assert!(versions.len() == chunks && versions.iter().all(|each| *each == versions[0]), "{versions:?}");
        let whole = index.whole_document("d").await.unwrap().unwrap();
        assert!(whole.text.starts_with(&versions[0]), "{} {}", whole.text, versions[0]);
    }
    // What is left is not counted, and is swept when it is old enough.
    let size = index.size(Selection::Filter(&Filter::default())).await.unwrap();
    assert_eq!((size.documents, size.chunks), (1, chunks as u64));
    let sweep = async |grace: Duration| index.sweep(grace, WithoutDocuments::Keep).await.unwrap();
    assert_eq!(sweep(Duration::from_secs(3600)).await, 0);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(sweep(Duration::ZERO).await > 0);
    assert_eq!(sweep(Duration::ZERO).await, 0);
    assert_eq!(shown(&index).await["d"].len(), chunks);
    // An index without documents that has nothing else either is swept, too.
    assert_eq!(index.delete(&["d".to_owned()]).await.unwrap(), [true]);
    assert_eq!(sweep(Duration::ZERO).await, 0);
}

async fn of_two_writers_the_later_one_wins(running: Running) {
    let index = index(&running, "raced").await;
    for round in 0..10 {
        let write = async |number: usize| index.put(&[document(&version("d", number, 7))]).await.unwrap();
        let delete = async || drop(index.delete(&["d".to_owned()]).await.unwrap());
        tokio::join!(write(2 * round), write(2 * round + 1), async {
            if round % 3 == 2 {
                delete().await;
            }
        });
        let documents = shown(&index).await;
        let whole = index.whole_document("d").await.unwrap();
        assert_eq!(documents.contains_key("d"), whole.is_some());
        if let (Some(versions), Some(whole)) = (documents.get("d"), whole) {
            assert!(versions.len() == 7 && versions.iter().all(|each| *each == versions[0]), "{versions:?}");
            assert!(whole.text.starts_with(&versions[0]));
        }
    }
}

async fn revisions_vectors_and_scores_are_read_back(running: Running) {
    let index = index(&running, "parts").await;
    let apples = document(&TestDocument::new("d", "red apples\ngreen apples\npears").of_source("s", "1"));
    index.put(&[apples.clone(), document(&TestDocument::new("e", "red apples\nnuts"))]).await.unwrap();

    assert!(index.put_revision("d", &apples.content_hash, Some("s"), "2").await.unwrap());
    assert!(!index.put_revision("d", "another hash", Some("s"), "3").await.unwrap());
    assert!(!index.put_revision("d", &apples.content_hash, None, "3").await.unwrap());
    assert!(!index.put_revision("missing", "", None, "").await.unwrap());
    let record = index.record("d").await.unwrap().unwrap();
    assert_eq!((record.revision.as_deref(), record.chunk_count), (Some("2"), 3));
    assert_eq!(index.list(Selection::Source("s"), None, 9).await.unwrap().documents, [record]);

    let hashes: Vec<String> = apples.chunks.iter().map(|chunk| chunk.place.hash.clone()).collect();
    let vectors = index.vectors_by_hash(&[&hashes[1..], &["unknown".to_owned()]].concat()).await.unwrap();
    assert_eq!(vectors.len(), 2);
    assert_eq!(vectors[&hashes[2]], apples.chunks[2].vector, "vectors are kept to the last bit");

    let filter = Filter::default();
    let search = DenseSearch { vectors: &[vector(1)], top_k: 9, filter: &filter, has_vectors: true };
    let hits = index.nearest(&search).await.unwrap();
    assert!(hits.iter().all(|hit| !hit.vector.is_empty()));
    let ids: Vec<_> = hits.iter().map(|hit| hit.id).collect();
    let scores = index.scores(&terms_of_query("apple"), &ids).await.unwrap();
    assert_eq!(scores.len(), 3);
    let terms = terms_of_query("apple");
    let all = ragengine_vector_database::WordSearch { terms: &terms, top_k: 9, filter: &filter, has_vectors: false };
    for hit in index.by_words(&all).await.unwrap() {
        assert_eq!(scores.get(&hit.id).copied(), hit.bm25, "scores are the same for some and for all");
    }
}

async fn documents_are_passed_over_as_they_are_listed(running: Running) {
    let index = index(&running, "passed").await;
    let documents: Vec<_> = some(23).iter().map(document).collect();
    index.put(&documents).await.unwrap();
    let (filter, mut after, mut passed) = (Filter::default(), None, 0);
    loop {
        let page = index.list(Selection::Filter(&filter), after, 5).await.unwrap();
        let (count, next) = index.pass_over(Selection::Filter(&filter), after, 5).await.unwrap();
        assert_eq!((count, next), (page.documents.len(), page.next));
        passed += count;
        after = next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(passed, documents.len());
}

async fn sources_have_their_sizes(running: Running) {
    let index = index(&running, "sizes").await;
    let of_source = |number: usize| {
        let text = vec!["a line"; number + 1].join("\n");
        let text_document = TestDocument::new(&format!("d{number}"), &text);
        document(&if number < 9 { text_document.of_source(["a", "b", "c d"][number % 3], "r") } else { text_document })
    };
    let documents: Vec<_> = (0..12).map(of_source).collect();
    assert_eq!(index.sources().await.unwrap(), BTreeMap::new());
    index.put(&documents).await.unwrap();
    let sources = index.sources().await.unwrap();
    assert_eq!(sources.keys().collect::<Vec<_>>(), ["a", "b", "c d"]);
    for (name, size) in sources {
        assert_eq!(size, index.size(Selection::Source(&name)).await.unwrap(), "{name}");
        let own = documents.iter().filter(|document| document.source.as_ref() == Some(&name));
        assert_eq!((size.documents, size.chunks), (3, own.map(|document| document.chunks.len() as u64).sum()));
    }
}
