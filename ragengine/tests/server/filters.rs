//! Metadata filters on `/retrieve`, on lists and on chats.

use serde_json::{Value, json};

use crate::support::upstream::Upstream;
use crate::support::{Server, ask};

fn policy(doc_id: &str, text: &str, metadata: Value) -> Value {
    json!({"doc_id": doc_id, "text": text, "metadata": metadata})
}

async fn add_policies(server: &Server, index: &str) {
    let documents = [
        policy("old", "The annual tax return is due in March.", json!({"category": "policy", "date": "2024-03-01"})),
        policy("new", "The annual tax return is due in May.", json!({"category": "policy", "date": "2026-05-01"})),
        policy("blog", "I filed my annual tax return late.", json!({"category": ["blog", "tax"], "stars": 3})),
    ];
    server.post("/index", &json!({"index_name": index, "documents": documents})).await.ok();
}

/// The ids of the documents that a search with this filter finds, sorted.
async fn found(server: &Server, index: &str, filter: &Value) -> Vec<String> {
    let body = json!({"index_name": index, "query": "When is the tax return due?", "metadata_filter": filter});
    let reply = server.post("/retrieve", &body).await.ok();
    let id = |node: &Value| node["doc_id"].as_str().unwrap().to_owned();
    let mut ids: Vec<String> = reply["results"].as_array().unwrap().iter().map(id).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn operators_restrict_a_search_and_a_list() {
    let server = Server::shared();
    add_policies(&server, "operators").await;
    for (filter, expected) in [
        (json!({"date": {"$gte": "2026-01-01"}}), vec!["new"]),
        (json!({"category": {"$in": ["blog", "policy"]}, "date": {"$exists": true}}), vec!["new", "old"]),
        (json!({"$or": [{"stars": {"$gt": 2.5}}, {"date": {"$lt": "2025-01-01T00:00:00Z"}}]}), vec!["blog", "old"]),
        (json!({"category": {"$ne": "policy"}}), vec!["blog"]),
        (json!({"$not": {"category": "tax"}}), vec!["new", "old"]),
        (json!({"stars": {"$gt": "2"}}), vec![]),
    ] {
        assert_eq!(found(&server, "operators", &filter).await, expected, "{filter}");
        let query = [("metadata_filter", filter.to_string())];
        let listed = server.get_with("/indexes/operators/documents", &query).await.ok();
        assert_eq!(listed["total_items"], expected.len(), "{filter}");
    }
}

#[tokio::test]
async fn a_repeated_filter_sees_every_change() {
    let server = Server::shared();
    add_policies(&server, "repeated").await;
    let filter = json!({"category": {"$eq": "policy"}});
    for _ in 0..2 {
        assert_eq!(found(&server, "repeated", &filter).await, ["new", "old"]);
    }
    let newest = policy("newest", "The annual tax return is due in June.", json!({"category": "policy"}));
    server.post("/index", &json!({"index_name": "repeated", "documents": [newest]})).await.ok();
    assert_eq!(found(&server, "repeated", &filter).await, ["new", "newest", "old"]);
    server.post("/indexes/repeated/documents/delete", &json!({"doc_ids": ["new"]})).await.ok();
    let moved = policy("old", "The annual tax return is due in March.", json!({"category": "archive"}));
    server.post("/index", &json!({"index_name": "repeated", "documents": [moved]})).await.ok();
    assert_eq!(found(&server, "repeated", &filter).await, ["newest"]);
}

#[tokio::test]
async fn a_chat_uses_only_matching_documents() {
    let upstream = Upstream::friendly().await;
    let server = Server::start(&upstream.settings()).await;
    add_policies(&server, "docs").await;
    let mut body = ask("docs", "When is the annual tax return due?");
    body["metadata_filter"] = json!({"date": {"$gte": "2025-01-01"}});
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    let sources: Vec<&Value> = reply["source_nodes"].as_array().unwrap().iter().map(|node| &node["doc_id"]).collect();
    assert_eq!(sources, ["new"]);
    assert_eq!(upstream.last().json().get("metadata_filter"), None);

    body["metadata_filter"] = json!({"category": "nothing"});
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    assert_eq!(reply["source_nodes"], Value::Null);
    assert_eq!(upstream.last().json(), json!({"model": "m", "messages": body["messages"]}));
}

#[tokio::test]
async fn a_malformed_filter_is_refused_with_its_place() {
    let upstream = Upstream::friendly().await;
    let server = Server::start(&upstream.settings()).await;
    add_policies(&server, "docs").await;
    let filter = json!({"$or": [{"date": {"$after": "2026"}}]});
    let expected = "metadata_filter.$or[0].date.$after: is not an operator: use $eq, $ne, $in, $nin, $gt, $gte, $lt, \
                    $lte or $exists";
    let retrieve = json!({"index_name": "docs", "query": "tax", "metadata_filter": filter});
    assert_eq!(server.post("/retrieve", &retrieve).await.error(400), expected);
    let query = [("metadata_filter", filter.to_string())];
    let listed = server.get_with("/indexes/docs/documents", &query).await;
    assert_eq!(listed.error(400), expected);
    let mut body = ask("docs", "When is the annual tax return due?");
    body["metadata_filter"] = filter;
    let refused = server.post("/v1/chat/completions", &body).await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"]["message"], expected);
    assert_eq!(refused.json()["error"]["param"], "metadata_filter");
    for filter in [json!("team"), json!([1])] {
        body["metadata_filter"] = filter;
        let refused = server.post("/v1/chat/completions", &body).await;
        assert_eq!(refused.json()["error"]["message"], "metadata_filter must be an object.");
    }
    let mut deep = json!({"a": 1});
    for _ in 0..30 {
        deep = json!({"$not": deep});
    }
    let retrieve = json!({"index_name": "docs", "query": "tax", "metadata_filter": deep});
    assert!(server.post("/retrieve", &retrieve).await.error(422).contains("metadata_filter"));
}
