use serde_json::{Value, json};

use super::*;
use crate::database::Database;
use crate::weaviate::tests::{client, reply, server};

const CHUNK: Uuid = Uuid::from_u128(1);
const DOCUMENT: Uuid = Uuid::from_u128(2);

/// A write of long ago.
fn old() -> String {
    Generation::at(1).as_str().to_owned()
}

fn index(url: &str) -> Index {
    Index::named(Database::Weaviate(client(url)), "n", "i").unwrap()
}

/// A page of chunks with these properties.
fn page(chunks: &[Value]) -> String {
    let class = index("http://c").collections.chunks;
    let chunk = |properties: &Value| {
        let mut chunk = properties.clone();
        chunk["_additional"] = json!({"id": CHUNK});
        chunk
    };
    let chunks: Vec<Value> = chunks.iter().map(chunk).collect();
    reply(200, &json!({"data": {"Get": {class.as_str(): chunks}}}).to_string())
}

fn chunk(generation: &str) -> Value {
    json!({"document": DOCUMENT, "generation": generation})
}

fn class() -> String {
    reply(200, r#"{"replicationConfig":{"factor":3},"shardingConfig":{"desiredCount":1}}"#)
}

/// How many documents there are.
fn documents(count: u64) -> String {
    let class = index("http://c").collections.documents;
    reply(200, &json!({"data": {"Aggregate": {class.as_str(): [{"meta": {"count": count}}]}}}).to_string())
}

fn deleted() -> String {
    reply(200, r#"{"results":{"limit":9,"matches":1,"successful":1,"failed":0}}"#)
}

/// What a sweep does with these replies, and how many deletions it asked for.
async fn swept(without: WithoutDocuments, replies: &[String]) -> (Result<u64, VectorDatabaseError>, usize) {
    let (url, server) = server(replies.to_vec());
    let swept = index(&url).sweep(Duration::from_secs(3600), without).await;
    let requests = server.join().unwrap();
    (swept, requests.iter().filter(|request| request.starts_with("DELETE ")).count())
}

#[tokio::test]
async fn what_no_document_has_is_deleted() {
    let (none, found, missing) = (page(&[]), page(&[chunk(&old())]), reply(404, ""));
    let replies = [found, missing, class(), documents(1), deleted(), none.clone(), none];
    assert_eq!(swept(WithoutDocuments::Keep, &replies).await, (Ok(1), 1));
}

#[tokio::test]
async fn nothing_is_deleted_when_the_collection_of_the_documents_is_gone() {
    for without in [WithoutDocuments::Keep, WithoutDocuments::Delete] {
        let replies = [page(&[chunk(&old())]), reply(404, ""), reply(404, "")];
        let expected = Err(VectorDatabaseError::Unowned("no collection of documents"));
        assert_eq!(swept(without, &replies).await, (expected, 0));
    }
}

#[tokio::test]
async fn an_index_without_documents_is_swept_only_on_request() {
    let (found, missing) = (page(&[chunk(&old())]), reply(404, ""));
    let replies = [found.clone(), missing.clone(), class(), documents(0)];
    let expected = Err(VectorDatabaseError::Unowned("no document"));
    assert_eq!(swept(WithoutDocuments::Keep, &replies).await, (expected, 0));
    let replies = [found, missing, class(), deleted(), page(&[]), page(&[])];
    assert_eq!(swept(WithoutDocuments::Delete, &replies).await, (Ok(1), 1));
}

#[tokio::test]
async fn records_are_read_from_all_replicas() {
    let (url, server) = server(vec![page(&[chunk(&old())]), reply(500, "2 of 3")]);
    let error = index(&url).sweep(Duration::ZERO, WithoutDocuments::Keep).await.unwrap_err();
    assert!(error.is_temporary(), "{error:?}");
    assert!(server.join().unwrap()[1].contains("consistency_level=ALL"));
}

#[tokio::test]
async fn partial_objects_and_new_ones_are_passed_over() {
    let new = Generation::new();
    let empty = json!({"document": null, "generation": null});
    let replies = [page(&[empty, json!({}), json!({"document": DOCUMENT}), chunk(new.as_str())]), page(&[]), page(&[])];
    assert_eq!(swept(WithoutDocuments::Keep, &replies).await, (Ok(0), 0));
}
