use ragengine_weaviate::{Client, Index, index_names};
use serde_json::json;

use crate::contract;
use crate::corpus::{TestDocument, some};
use crate::engine::Engine;
use crate::nodes::Nodes;

/// An empty index for each part of the contract.
enum Maker {
    Faiss,
    Weaviate(Client),
}

impl Maker {
    async fn make(&self, name: &str) -> Engine {
        match self {
            Self::Faiss => Engine::faiss(name),
            Self::Weaviate(client) => Engine::weaviate(client.clone(), name, 1).await,
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

#[tokio::test(flavor = "multi_thread")]
async fn the_contract_with_weaviate() {
    let nodes = Nodes::start(1).await;
    Maker::Weaviate(nodes.client(0)).run_contract().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn indexes_are_made_opened_listed_and_deleted() {
    let nodes = Nodes::start(1).await;
    let client = nodes.client(0);
    for name in ["b", "B", "a.b", "a-b", "a_b"] {
        drop(Engine::weaviate(client.clone(), name, 1).await);
    }
    assert_eq!(index_names(&client, "tests").await.unwrap(), ["B", "a-b", "a.b", "a_b", "b"]);
    assert_eq!(index_names(&client, "others").await.unwrap(), Vec::<String>::new());
    let error = Index::open(client.clone(), "others", "b").await.unwrap_err();
    assert_eq!(error.to_string(), "index 'b' is not in Weaviate");
    // Made again, it is the same.
    drop(Engine::weaviate(client.clone(), "b", 1).await);
    let index = Index::open(client.clone(), "tests", "b").await.unwrap();
    index.delete_index().await.unwrap();
    index.delete_index().await.unwrap();
    assert_eq!(index_names(&client, "tests").await.unwrap(), ["B", "a-b", "a.b", "a_b"]);
    assert!(Index::open(client.clone(), "tests", "b").await.is_err());
    let Engine::Weaviate(again) = Engine::weaviate(client, "b", 1).await else { panic!("it is Weaviate") };
    assert_eq!(again.name(), "b");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_sigkill() {
    let mut nodes = Nodes::start(1).await;
    let engine = Engine::weaviate(nodes.client(0), "killed", 1).await;
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
        for written in [&written[7], &last] {
            let near = engine.nearest(&[written.chunks[0].vector.clone()], 1000, &json!({})).await;
            assert_eq!((near.len(), &near[0].doc_id), (chunks, &written.doc_id));
        }
    }
}
