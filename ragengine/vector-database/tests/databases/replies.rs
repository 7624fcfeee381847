//! Replies of Qdrant that are longer than they may be. Those of Weaviate are tested with a server of the client's tests.

use ragengine_vector_database::{
    ApiKey, ClientOptions, Database, Index, IndexShape, VectorDatabaseError, VectorIndex, qdrant,
};

use crate::corpus::{TestDocument, WIDTH};
use crate::engine::document;
use crate::qdrant::{API_KEY, Qdrant};

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_of_qdrant_is_bounded() {
    let server = Qdrant::start().await;
    let shape = IndexShape { vector_index: VectorIndex::Flat, dimensions: WIDTH, replicas: 1, shards: 1 };
    let index = Index::create(server.database(), "tests", "bounded", &shape).await.unwrap();
    let long = TestDocument { text: "x".repeat(20_000), ..TestDocument::new("long", "one line") };
    index.put(&[document(&long), document(&TestDocument::new("short", "one line"))]).await.unwrap();

    let options = ClientOptions {
        api_key: Some(ApiKey::new(API_KEY)),
        max_reply_bytes: 10_000,
        ..ClientOptions::new(server.url())
    };
    let bounded = Database::Qdrant(qdrant::Client::new(options).unwrap());
    let bounded = Index::open(bounded, "tests", "bounded").await.unwrap();
    let error = bounded.whole_document("long").await.unwrap_err();
    assert_eq!(error, VectorDatabaseError::LongReply { max_bytes: 10_000 });
    assert_eq!(bounded.whole_document("short").await.unwrap().unwrap().text, "one line");
    assert_eq!(index.whole_document("long").await.unwrap().unwrap().text, long.text);
}
