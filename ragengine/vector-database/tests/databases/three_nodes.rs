use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ragengine_pipeline::filter::Filter;
use ragengine_vector_database::{Index, Selection, VectorDatabaseError, WithoutDocuments};
use serde_json::{Value, json};

use crate::corpus::{TestDocument, some};
use crate::engine::{self, Engine};
use crate::nodes::{API_KEY, Nodes, name_of};

/// A node that was away has what it missed within this time.
const CATCHES_UP_WITHIN: Duration = Duration::from_secs(180);

const NAME: &str = "replicated";

/// Which replicas Weaviate compares differs from index to index.
const NAMES: [&str; 4] = ["first", "second", "third", "fourth"];

async fn engine(nodes: &Nodes, number: usize) -> Engine {
    engine_of(nodes, number, NAME).await
}

async fn engine_of(nodes: &Nodes, number: usize, name: &str) -> Engine {
    Engine::External(Box::new(Index::open(nodes.client(number), engine::namespace(), name).await.unwrap()))
}

/// The ids of all documents in a list. They are not counted too, because a node that catches up gets more in between.
async fn listed(engine: &Engine) -> BTreeSet<String> {
    let Engine::External(index) = engine else { panic!("it is not FAISS") };
    let page = index.list(Selection::Filter(&Filter::default()), None, 1000).await.unwrap();
    page.documents.into_iter().map(|record| record.doc_id).collect()
}

/// The ids of documents that a search finds for this document.
async fn found(engine: &Engine, document: &TestDocument) -> BTreeSet<String> {
    let near = engine.nearest(&[document.chunks[0].vector.clone()], 1000, &json!({})).await;
    near.into_iter().map(|near| near.doc_id).collect()
}

/// A search asks one replica, so writes wait for all of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_search_of_any_node_finds_what_was_just_written() {
    let nodes = Nodes::start(3).await;
    let writer = Engine::external(nodes.client(0), NAME, 3).await;
    let readers = [engine(&nodes, 0).await, engine(&nodes, 1).await, engine(&nodes, 2).await];
    for document in some(60) {
        writer.put(std::slice::from_ref(&document)).await;
        let words = &document.chunks[0].text;
        for (number, reader) in readers.iter().enumerate() {
            let (near, listed) = (found(reader, &document).await, reader.ids(&json!({})).await);
            assert!(near.contains(&document.doc_id), "node {number} does not find {}: {near:?}", document.doc_id);
            assert!(listed.contains(&document.doc_id), "node {number} does not list {}: {listed:?}", document.doc_id);
            let by_words = reader.by_words(words, 1000, &json!({})).await;
            assert!(by_words.iter().any(|(id, _)| *id == document.doc_id), "node {number}, {words}: {by_words:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_node_stops_neither_reads_nor_writes() {
    let mut nodes = Nodes::start(3).await;
    let first = Engine::external(nodes.client(0), NAME, 3).await;
    let documents = some(40);
    first.put(&documents[..30]).await;
    for number in 0..3 {
        let engine = engine(&nodes, number).await;
        assert_eq!(found(&engine, &documents[0]).await.len(), 30, "node {number}");
        assert_eq!(engine.ids(&json!({})).await.len(), 30, "node {number}");
    }

    nodes.kill(2);
    first.put(&documents[30..]).await;
    let changed = TestDocument { text: "other text".to_owned(), ..TestDocument::new("document 001", "other text") };
    first.put(std::slice::from_ref(&changed)).await;
    assert_eq!(first.delete(&["document 000"]).await, [true]);
    let left: BTreeSet<String> = documents[1..].iter().map(|document| document.doc_id.clone()).collect();
    for number in [0, 1] {
        let engine = engine(&nodes, number).await;
        assert_eq!(engine.ids(&json!({})).await, left, "node {number}");
        assert_eq!(found(&engine, &documents[0]).await, left, "node {number}");
        assert_eq!(engine.by_words("other", 5, &json!({})).await, [("document 001".to_owned(), 0)], "node {number}");
        assert_eq!(engine.whole("document 001").await.unwrap().text, "other text", "node {number}");
        assert_eq!(engine.whole("document 000").await, None, "node {number}");
        assert_eq!(engine.size().await.0, 39, "node {number}");
    }

    // A list may lack documents of a source meanwhile, so it is not said that none is left.
    let Engine::External(index) = &first else { panic!("it is not FAISS") };
    assert_eq!(index.delete_source("any").await, Err(VectorDatabaseError::ReplicaMissing));

    nodes.start_again(2).await;
    let returned = engine(&nodes, 2).await;
    let vectors = [documents[0].chunks[0].vector.clone()];
    let until = Instant::now() + CATCHES_UP_WITHIN;
    let started = Instant::now();
    while let Err(error) = index.delete_source("any").await {
        assert!(error == VectorDatabaseError::ReplicaMissing && Instant::now() < until, "{error}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    loop {
        let near = found(&returned, &documents[0]).await;
        assert!(near.is_subset(&left), "a deleted document is never shown: {near:?}");
        assert_eq!(returned.by_words("first line of 1", 50, &json!({"number": 1})).await, [], "nor a replaced one");
        assert_eq!(returned.whole("document 001").await.unwrap().text, "other text");
        let listed = listed(&returned).await;
        // With a filter, Weaviate compares all vectors. Its graph may miss some after the kill.
        let compared = returned.nearest(&vectors, 1000, &json!({"number": {"$gte": 0}})).await.len();
        if listed == left && compared == 2 * documents[2..].len() {
            break;
        }
        let unlisted: Vec<_> = left.difference(&listed).collect();
        assert!(Instant::now() < until, "the node does not list {unlisted:?}, or finds only {compared} chunks");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    eprintln!("the node had everything again after {:?}", started.elapsed());
}

/// With `consistencyLevel`, Weaviate 1.35 writes what a search read of an object to a replica that lacks it: without the
/// other properties, and often without the vector. The replicas then count as equal.
#[tokio::test(flavor = "multi_thread")]
async fn searches_leave_no_partial_objects_on_a_node_that_was_away() {
    let mut nodes = Nodes::start(3).await;
    let documents = some(12);
    for name in NAMES {
        Engine::external(nodes.client(0), name, 3).await.put(&documents[..2]).await;
    }
    nodes.kill(2);
    for name in NAMES {
        engine_of(&nodes, 0, name).await.put(&documents[2..]).await;
    }
    nodes.start_again(2).await;
    let until = Instant::now() + CATCHES_UP_WITHIN;
    for name in NAMES {
        let returned = engine_of(&nodes, 2, name).await;
        while let Some(missed) = missed(&returned, &documents).await {
            assert!(Instant::now() < until, "the node does not catch up: {missed}");
            for number in [0, 1] {
                read_few_properties(&nodes, number, name, &documents).await;
            }
            assert_eq!(partial_chunks(&nodes, 2).await, Vec::<Value>::new());
        }
        for TestDocument { doc_id, .. } in &documents {
            assert_eq!(returned.whole(doc_id).await, engine_of(&nodes, 0, name).await.whole(doc_id).await);
        }
    }
}

async fn read_few_properties(nodes: &Nodes, number: usize, name: &str, documents: &[TestDocument]) {
    let index = Index::open(nodes.client(number), engine::namespace(), name).await.unwrap();
    let chunks = documents.iter().flat_map(|of| engine::document(of).chunks);
    let hashes: Vec<String> = chunks.map(|chunk| chunk.place.hash).collect();
    index.pass_over(Selection::Filter(&Filter::default()), None, 1000).await.unwrap();
    index.vectors_by_hash(&hashes).await.unwrap();
    index.sample_vectors(1000).await.unwrap();
    index.sweep(Duration::from_secs(3600), WithoutDocuments::Keep).await.unwrap();
}

/// The chunks that a node has only a part of.
async fn partial_chunks(nodes: &Nodes, number: usize) -> Vec<Value> {
    let mut partial = Vec::new();
    for objects in objects_of_nodes(nodes, "RagChunks").await {
        let object = objects[number].clone();
        let is_whole = object["properties"]["terms"].is_string() && object["vector"].is_array();
        if !object.is_null() && !is_whole {
            partial.push(object);
        }
    }
    partial
}

/// The objects of the classes whose names begin so, as each node has them: null if it lacks one.
async fn objects_of_nodes(nodes: &Nodes, classes: &str) -> Vec<[Value; 3]> {
    let client = reqwest::Client::new();
    let get = async |path: String| -> Value {
        let request = client.get(format!("{}/v1/{path}", nodes.url(0))).bearer_auth(API_KEY);
        let reply = request.send().await.unwrap();
        if reply.status() == 404 { Value::Null } else { reply.json().await.unwrap() }
    };
    let schema = get("schema".to_owned()).await;
    let names = schema["classes"].as_array().unwrap().iter().map(|class| class["class"].as_str().unwrap());
    let mut objects = Vec::new();
    for class in names.filter(|class| class.starts_with(classes)) {
        for object in get(format!("objects?class={class}&limit=1000")).await["objects"].as_array().unwrap() {
            let id = object["id"].as_str().unwrap();
            let of_node = async |number: usize| {
                get(format!("objects/{class}/{id}?include=vector&node_name={}", name_of(number))).await
            };
            objects.push([of_node(0).await, of_node(1).await, of_node(2).await]);
        }
    }
    objects
}

/// A change of one property also makes an object new on a replica that missed the latest write. The replicas would
/// count as equal then.
#[tokio::test(flavor = "multi_thread")]
async fn a_revision_leaves_no_old_document_on_a_node_that_was_away() {
    let mut nodes = Nodes::start(3).await;
    let with_text = |text: &str| -> Vec<TestDocument> {
        let document = |number: usize| TestDocument::new(&format!("document {number}"), text).of_source("s", "1");
        (0..10).map(document).collect()
    };
    let mut writers = Vec::new();
    for name in NAMES {
        writers.push(Engine::external(nodes.client(0), name, 3).await);
    }
    for writer in &writers {
        writer.put(&with_text("the old text")).await;
    }
    nodes.kill(2);
    let documents = with_text("the new text");
    for writer in &writers {
        writer.put(&documents).await;
    }
    nodes.start_again(2).await;
    let until = Instant::now() + CATCHES_UP_WITHIN;
    while objects_of_nodes(&nodes, "RagDocuments").await.iter().any(|[_, _, returned]| returned["id"].is_null()) {
        assert!(Instant::now() < until, "the node does not join the others");
    }
    // The writers still take it for missing.
    let mut stored = 0;
    for writer in &writers {
        let Engine::External(index) = writer else { panic!("it is not FAISS") };
        for document in &documents {
            let revised = index.put_revision(&document.doc_id, &document.content_hash(), Some("s"), "2").await;
            stored += usize::from(revised.unwrap());
        }
    }
    assert!(stored > 0, "no revision was stored");
    for [first, _, returned] in objects_of_nodes(&nodes, "RagDocuments").await {
        let counts_as_equal = first["lastUpdateTimeUnix"] == returned["lastUpdateTimeUnix"];
        let is_equal = first["properties"] == returned["properties"];
        assert!(is_equal || !counts_as_equal, "an old document counts as new: {first} {returned}");
    }
}

/// A document that a node does not list, or does not find with a filter by its words and by its vector.
async fn missed(node: &Engine, documents: &[TestDocument]) -> Option<String> {
    let listed = listed(node).await;
    for document in documents {
        let (doc_id, chunk) = (&document.doc_id, &document.chunks[0]);
        if !listed.contains(doc_id) {
            return Some(format!("{doc_id} in the list"));
        }
        let filter = json!({"number": document.metadata["number"]});
        if !node.by_words(&chunk.text, 1000, &filter).await.contains(&(doc_id.clone(), 0)) {
            return Some(format!("{doc_id} by its words"));
        }
        let near = node.nearest(std::slice::from_ref(&chunk.vector), 1000, &filter).await;
        if !near.iter().any(|near| near.doc_id == *doc_id && near.ordinal == 0) {
            return Some(format!("{doc_id} by its vector"));
        }
    }
    None
}

/// A node that neither answers nor refuses costs one write 20 seconds, and reads 20 until Weaviate gives it up: not
/// each write.
#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_node_delays_few_requests() {
    let nodes = Nodes::start(3).await;
    let first = Engine::external(nodes.client(0), NAME, 3).await;
    let documents = some(23);
    first.put(&documents[..3]).await;
    nodes.freeze(2);
    let started = Instant::now();
    for document in &documents[3..] {
        first.put(std::slice::from_ref(document)).await;
    }
    let delay = started.elapsed();
    assert!(delay < Duration::from_secs(80), "{} writes took {delay:?}", documents.len() - 3);
    assert_eq!(engine(&nodes, 1).await.ids(&json!({})).await.len(), documents.len());
    nodes.thaw(2);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_majority_nothing_is_acknowledged() {
    let mut nodes = Nodes::start(3).await;
    let first = Engine::external(nodes.client(0), NAME, 3).await;
    first.put(&some(3)).await;
    let index = Index::open(nodes.impatient_client(0), engine::namespace(), NAME).await.unwrap();
    nodes.kill(1);
    nodes.kill(2);
    let document = engine::document(&some(4)[3]);
    let error = index.put(std::slice::from_ref(&document)).await.unwrap_err();
    assert!(error.is_temporary(), "{error:?}");
    let error = index.delete(&["document 000".to_owned()]).await.unwrap_err();
    assert!(error.is_temporary(), "{error:?}");
    let error = index.record("document 000").await.unwrap_err();
    assert!(error.is_temporary(), "{error:?}");
}
