use serde_json::{Value, json};

use crate::corpus::{TestDocument, vector};
use crate::engine::Engine;

/// The metadata of documents 1, 2, 3…
fn metadata() -> Vec<Value> {
    let long = "x".repeat(40);
    vec![
        json!({"priority": 7, "category": "abo_policies", "date": "2026-01-31", "team": "a", "tags": ["x", "y"]}),
        json!({"priority": 6.5, "category": ["a", "b"], "date": "2026-02-01T01:00:00+02:00", "team": "b"}),
        json!({"priority": "9", "open": false, "date": "2026-02-01T00:00:00Z", "team": "a"}),
        json!({"priority": null, "date": "soon", "nested": {"k": 1, "l": [2.0]}}),
        json!({}),
        json!({"priority": [1, 8], "date": 2026, "id": 1_234_567_890_123_456_789_u64}),
        json!({"id": 1_234_567_890_123_456_788_u64, "text": long, "negative": -0.5}),
        json!({"text": "", "negative": [-3, 2], "big": 1e300, "team": "A", "empty": []}),
    ]
}

fn table() -> Vec<(Value, Vec<usize>)> {
    vec![
        (json!({"team": "a"}), vec![1, 3]),
        (json!({"team": "a", "priority": 7}), vec![1]),
        (json!({"team": ["a", "b"]}), vec![1, 2, 3]),
        (json!({"team": []}), vec![]),
        (json!({"tags": "y"}), vec![1]),
        (json!({"open": false}), vec![3]),
        (json!({"open": "false"}), vec![]),
        (json!({"nested": {"l": [2], "k": 1}}), vec![4]),
        (json!({"nested": {"k": 1}}), vec![]),
        (json!({"id": 1_234_567_890_123_456_789_u64}), vec![6]),
        (json!({"id": {"$gt": 1_234_567_890_123_456_788_u64}}), vec![6]),
        (json!({"id": {"$lte": 1_234_567_890_123_456_788_u64}}), vec![7]),
        (json!({"priority": {"$gte": 7}}), vec![1, 6]),
        (json!({"priority": {"$gt": 7}}), vec![6]),
        (json!({"priority": {"$gt": 6.5, "$lt": 7.5}}), vec![1, 6]),
        (json!({"priority": {"$lt": 7}}), vec![2, 6]),
        (json!({"priority": {"$lte": "9"}}), vec![3]),
        (json!({"priority": {"$eq": 7.0}}), vec![1]),
        (json!({"priority": {"$ne": 7}}), vec![2, 3, 4, 5, 6, 7, 8]),
        (json!({"priority": {"$in": [7, "9", null]}}), vec![1, 3, 4]),
        (json!({"priority": {"$nin": [7, 8]}}), vec![2, 3, 4, 5, 7, 8]),
        (json!({"priority": {"$exists": true}}), vec![1, 2, 3, 4, 6]),
        (json!({"priority": {"$exists": false}}), vec![5, 7, 8]),
        (json!({"empty": {"$exists": true}}), vec![8]),
        (json!({"empty": []}), vec![]),
        (json!({"empty": {"$eq": []}}), vec![8]),
        (json!({"category": {"$in": ["b", "c"]}}), vec![2]),
        (json!({"category": {"$gt": "a"}}), vec![1, 2]),
        (json!({"category": {"$gte": "a", "$lt": "abo"}}), vec![2]),
        (json!({"date": {"$lt": "2026-02-01"}}), vec![1, 2]),
        (json!({"date": {"$gte": "2026-01-31T23:00:00Z"}}), vec![2, 3]),
        (json!({"date": {"$eq": "2026-01-31T23:00:00Z"}}), vec![2]),
        (json!({"date": "2026-02-01"}), vec![]),
        (json!({"date": {"$gt": "a"}}), vec![4]),
        (json!({"date": {"$gt": 2025}}), vec![6]),
        (json!({"negative": {"$lt": 0}}), vec![7, 8]),
        (json!({"negative": {"$lt": -1}}), vec![8]),
        (json!({"negative": {"$gt": -0.75}}), vec![7, 8]),
        (json!({"big": {"$gt": 1e299}}), vec![8]),
        (json!({"text": {"$gt": "x".repeat(32)}}), vec![7]),
        (json!({"text": {"$lte": ""}}), vec![8]),
        (json!({"text": {"$gte": ""}}), vec![7, 8]),
        (json!({"text": "x".repeat(40)}), vec![7]),
        (json!({"text": "x".repeat(39)}), vec![]),
        (json!({"$or": [{"priority": 7}, {"open": false}]}), vec![1, 3]),
        (json!({"$and": [{"priority": {"$exists": true}}, {"open": {"$exists": false}}], "category": "a"}), vec![2]),
        (json!({"$not": {"$or": [{"team": "a"}, {"priority": {"$lt": 100}}]}}), vec![4, 5, 7, 8]),
        (json!({"$not": {"$not": {"team": "a"}}}), vec![1, 3]),
        (json!({"$not": {}}), vec![]),
        (json!({}), vec![1, 2, 3, 4, 5, 6, 7, 8]),
        (json!({"absent": {"$ne": 1}}), vec![1, 2, 3, 4, 5, 6, 7, 8]),
        (json!({"absent": 1}), vec![]),
        (json!({"category": {"$in": ["abo_policies"]}, "priority": {"$gte": 7}}), vec![1]),
    ]
}

/// Filters mean the same in lists, in searches by vectors and in searches by words.
pub async fn filters_are_exact(engine: &Engine) {
    let name = |number: usize| format!("document {number}");
    let document =
        |(number, metadata): (usize, &Value)| TestDocument::new(&name(number), "a common word").with_metadata(metadata);
    engine.put(&(1..).zip(&metadata()).map(document).collect::<Vec<_>>()).await;
    for (filter, expected) in table() {
        let expected: Vec<String> = expected.into_iter().map(name).collect();
        let listed: Vec<String> = engine.list(&filter).await.into_iter().map(|document| document.doc_id).collect();
        assert_eq!(listed, expected, "{filter}");
        let near = engine.nearest(&[vector(5)], 100, &filter).await;
        let mut found: Vec<String> = near.into_iter().map(|near| near.doc_id).collect();
        found.sort();
        assert_eq!(found, expected, "{filter}");
        let by_words = engine.by_words("common", 100, &filter).await;
        let mut found: Vec<String> = by_words.into_iter().map(|(doc_id, _)| doc_id).collect();
        found.sort();
        assert_eq!(found, expected, "{filter}");
    }
}
