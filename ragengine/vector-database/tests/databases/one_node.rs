use std::collections::BTreeSet;
use std::time::Duration;

use ragengine_vector_database::{
    Database, Index, IndexShape, VectorDatabaseError, VectorIndex, WithoutDocuments, index_names,
};
use serde_json::json;

use crate::contract;
use crate::corpus::{TestDocument, WIDTH, some};
use crate::engine::{Engine, document, namespace};
use crate::nodes::{API_KEY, Nodes};
use crate::servers::{Running, with_each_database};

with_each_database!(
    the_contract_holds,
    indexes_are_made_opened_listed_and_deleted,
    each_kind_of_vector_index_finds_the_nearest,
);

/// An empty index for each part of the contract.
enum Maker {
    Faiss,
    External(Box<Database>),
}

impl Maker {
    async fn make(&self, name: &str) -> Engine {
        match self {
            Self::Faiss => Engine::faiss(name),
            Self::External(database) => Engine::external(Database::clone(database), name, 1).await,
        }
    }

    async fn run_contract(&self) {
        contract::lists_are_exact(&self.make("lists").await).await;
        contract::a_write_replaces_a_document(&self.make("writes").await).await;
        contract::deleted_documents_are_gone(&self.make("deletions").await).await;
        contract::filters_are_exact(&self.make("filters").await).await;
        contract::distances_are_squared_l2(&self.make("distances").await).await;
        contract::words_are_found(&self.make("words").await).await;
        contract::sources_are_kept(&self.make("sources").await).await;
        contract::any_name_is_possible(&self.make("odd.name-1_x").await).await;
        contract::large_texts_are_kept(&self.make("large").await).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_contract_with_faiss() {
    Maker::Faiss.run_contract().await;
}

async fn the_contract_holds(running: Running) {
    Maker::External(Box::new(running.database.clone())).run_contract().await;
}

async fn each_kind_of_vector_index_finds_the_nearest(running: Running) {
    let documents = some(200);
    let graph = VectorIndex::Hnsw { max_connections: 8, ef_construction: 32, ef: Some(64) };
    for (name, vector_index) in [("flat", VectorIndex::Flat), ("graph", graph)] {
        let shape = IndexShape { vector_index, dimensions: WIDTH, replicas: 1, shards: 1 };
        let index = Index::create(running.database.clone(), namespace(), name, &shape).await.unwrap();
        let engine = Engine::External(Box::new(index));
        engine.put(&documents).await;
        for document in documents.iter().step_by(17) {
            let near = engine.nearest(&[document.chunks[1].vector.clone()], 3, &json!({})).await;
            assert_eq!((near.len(), &near[0].doc_id, near[0].ordinal), (3, &document.doc_id, 1), "{name}");
        }
    }
}

async fn indexes_are_made_opened_listed_and_deleted(running: Running) {
    let database = running.database.clone();
    for name in ["b", "B", "a.b", "a-b", "a_b"] {
        drop(Engine::external(database.clone(), name, 1).await);
    }
    assert_eq!(index_names(&database, namespace()).await.unwrap(), ["B", "a-b", "a.b", "a_b", "b"]);
    assert_eq!(index_names(&database, "others").await.unwrap(), Vec::<String>::new());
    let error = Index::open(database.clone(), "others", "b").await.unwrap_err();
    assert_eq!(error.to_string(), "index 'b' is not in the vector database");
    // Made again, it is the same.
    drop(Engine::external(database.clone(), "b", 1).await);
    let index = Index::open(database.clone(), namespace(), "b").await.unwrap();
    index.delete_index().await.unwrap();
    index.delete_index().await.unwrap();
    assert_eq!(index_names(&database, namespace()).await.unwrap(), ["B", "a-b", "a.b", "a_b"]);
    assert!(Index::open(database.clone(), namespace(), "b").await.is_err());
    let Engine::External(again) = Engine::external(database, "b", 1).await else { panic!("it is not FAISS") };
    assert_eq!(again.name(), "b");
}

/// Weaviate answers as if there were no such objects.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_swept_when_the_collection_of_the_documents_is_gone() {
    let nodes = Nodes::start(1).await;
    let Engine::External(index) = Engine::external(nodes.client(0), "lost", 1).await else { panic!("it is not FAISS") };
    index.put(&some(3).iter().map(document).collect::<Vec<_>>()).await.unwrap();
    let names = nodes.client(0).collections().await.unwrap();
    let documents = names.iter().find(|name| name.starts_with("RagDocuments")).expect("their collection");
    let delete = reqwest::Client::new().delete(format!("{}/v1/schema/{documents}", nodes.url(0)));
    assert!(delete.bearer_auth(API_KEY).send().await.unwrap().status().is_success());
    assert_eq!(index.record("document 000").await.unwrap(), None);
    tokio::time::sleep(Duration::from_millis(50)).await;
    for without in [WithoutDocuments::Keep, WithoutDocuments::Delete] {
        let error = index.sweep(Duration::ZERO, without).await.unwrap_err();
        assert_eq!(error, VectorDatabaseError::Unowned("no collection of documents"));
    }
    let line = BTreeSet::from(["line".to_owned()]);
    assert_eq!(index.frequencies(&line).await.unwrap()["line"], 6, "the chunks are there");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_sigkill() {
    let mut nodes = Nodes::start(1).await;
    let engine = Engine::external(nodes.client(0), "killed", 1).await;
    engine.put(&[TestDocument::new("early", "first line\nsecond line")]).await;
    let documents = some(60);
    for round in 0..3 {
        let written = &documents[round * 20..][..20];
        engine.put(written).await;
        assert_eq!(engine.delete(&["early"]).await, [round == 0]);
        let last = TestDocument::new(&format!("last {round}"), "one line");
        engine.put(std::slice::from_ref(&last)).await;
        nodes.kill(0);
        nodes.start_again(0).await;
        let (documents, chunks) = ((round + 1) * 21, (round + 1) * 41);
        assert_eq!(engine.ids(&json!({})).await.len(), documents);
        assert_eq!(engine.by_words("line", 1000, &json!({})).await.len(), chunks);
        // With a filter, Weaviate compares all vectors. Its graph, which it restores from a log, may miss some.
        let all = json!({"none": {"$exists": false}});
        for written in [&written[7], &last] {
            let near = engine.nearest(&[written.chunks[0].vector.clone()], 1000, &all).await;
            assert_eq!((near.len(), &near[0].doc_id), (chunks, &written.doc_id));
        }
    }
}
