use serde_json::{Value, json};

use super::*;
use crate::database::Database;
use crate::weaviate::tests::{client, reply, server};

const ID: Uuid = Uuid::from_u128(1);

fn index(url: &str) -> Index {
    let index = Index::named(Database::Weaviate(client(url)), "n", "i").unwrap();
    Index { is_replicated: true, ..index }
}

fn document() -> Value {
    json!({"doc_id": "d", "generation": "g", "place": 1, "metadata": "{}", "source": "s", "content_hash": "h",
           "chunk_count": 1, "text_bytes": 1})
}

/// What a search finds: the document, or nothing.
fn page(documents: &[Value]) -> String {
    let class = index("http://c").collections.documents;
    let object = |properties: &Value| {
        let mut object = properties.clone();
        object["_additional"] = json!({"id": ID});
        object
    };
    let objects: Vec<Value> = documents.iter().map(object).collect();
    reply(200, &json!({"data": {"Get": {class.as_str(): objects}}}).to_string())
}

fn object() -> String {
    reply(200, &json!({"id": ID, "properties": document()}).to_string())
}

fn deleted() -> String {
    reply(200, r#"{"results":{"limit":9,"matches":1,"successful":1,"failed":0}}"#)
}

#[tokio::test]
async fn a_source_is_listed_until_nothing_is_left() {
    let found = || [page(&[document()]), object(), reply(204, ""), deleted(), deleted()];
    let (url, server) = server([&found()[..], &found()[..], &[page(&[])]].concat());
    assert_eq!(index(&url).delete_source("s").await, Ok(2));
    server.join().unwrap();
}

#[tokio::test]
async fn while_a_replica_is_missing_a_source_is_not_deleted_for_good() {
    let missing = || reply(500, "2 of 3");
    let first = [page(&[document()]), object(), missing(), missing(), reply(204, ""), deleted(), deleted()];
    // Nothing is left, and the replica does not answer; then it answers; then it is not missing any more, but may be
    // behind.
    let (not_there, there) = ([page(&[]), missing()], [page(&[]), reply(404, "")]);
    let (url, server) = server([&first[..], &not_there[..], &there[..], &[page(&[])]].concat());
    let index = index(&url);
    for _ in 0..3 {
        assert_eq!(index.delete_source("s").await, Err(VectorDatabaseError::ReplicaMissing));
    }
    server.join().unwrap();
}
