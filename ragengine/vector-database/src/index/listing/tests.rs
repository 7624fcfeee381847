use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::database::Database;
use crate::weaviate::tests::{client, reply, server};

fn index(url: &str) -> Index {
    Index::named(Database::Weaviate(client(url)), "n", "i").unwrap()
}

/// The properties of a document at a place.
fn document(place: u128) -> Value {
    json!({"doc_id": format!("d{place}"), "generation": "g", "place": place, "metadata": "{}", "content_hash": "h",
           "chunk_count": 1, "text_bytes": 1})
}

/// What a search finds: documents at their places, some without their properties.
fn found(documents: &[(u128, Value)]) -> String {
    let class = index("http://c").collections.documents;
    let object = |(place, properties): &(u128, Value)| {
        let mut object = properties.clone();
        object["_additional"] = json!({"id": Uuid::from_u128(*place)});
        object
    };
    let objects: Vec<Value> = documents.iter().map(object).collect();
    reply(200, &json!({"data": {"Get": {class.as_str(): objects}}}).to_string())
}

/// The object of a document, as a majority has it.
fn object(place: u128) -> String {
    reply(200, &json!({"id": Uuid::from_u128(place), "properties": document(place)}).to_string())
}

/// The places of a page, and where the next one begins.
async fn listed(after: Option<u64>, limit: usize, replies: &[String]) -> (Vec<u64>, Option<u64>) {
    let (url, server) = server(replies.to_vec());
    let page = index(&url).list(Selection::Source("s"), after, limit).await.unwrap();
    server.join().unwrap();
    (page.documents.iter().map(|record| record.place_us).collect(), page.next)
}

#[tokio::test]
async fn a_document_without_properties_is_read_from_a_majority() {
    let empty = json!({"doc_id": null, "place": null});
    let page = |first: Value, third: Value| found(&[(1, first), (2, document(2)), (3, third)]);
    // In its place, found first and found last.
    let replies = [found(&[(1, document(1)), (2, empty.clone()), (3, document(3))]), object(2)];
    assert_eq!(listed(None, 9, &replies).await, (vec![1, 2, 3], None));
    let replies = [page(json!({}), document(3)), object(1)];
    assert_eq!(listed(None, 9, &replies).await, (vec![1, 2, 3], None));
    let replies = [page(document(1), empty), object(3)];
    assert_eq!(listed(None, 9, &replies).await, (vec![1, 2, 3], None));
}

#[tokio::test]
async fn a_document_that_no_majority_has_is_left_out() {
    let replies = [found(&[(1, document(1)), (2, json!({})), (3, document(3))]), reply(404, "")];
    assert_eq!(listed(None, 9, &replies).await, (vec![1, 3], None));
}

#[tokio::test]
async fn a_page_ends_at_a_known_place() {
    // There may be others before the document that was found without its properties.
    let replies = [found(&[(7, json!({})), (1, document(1)), (2, document(2))]), object(7)];
    assert_eq!(listed(None, 2, &replies).await, (vec![1], Some(1)));
    // One that belongs to an earlier page was shown there.
    let replies = [found(&[(1, json!({})), (6, document(6)), (7, document(7))]), object(1)];
    assert_eq!(listed(Some(5), 2, &replies).await, (vec![6], Some(6)));
    // More are asked for when no place is left.
    let short = [found(&[(1, document(1)), (9, json!({}))]), reply(404, "")];
    let long = [found(&[(1, document(1)), (9, json!({})), (2, document(2))]), reply(404, "")];
    assert_eq!(listed(None, 1, &[short, long].concat()).await, (vec![1], Some(1)));
}
