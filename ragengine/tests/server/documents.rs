use serde_json::{Value, json};

use crate::support::{FACTS, Server};

#[tokio::test]
async fn documents_are_created_listed_and_described() {
    let server = Server::shared();
    let added = server.add("listing", &FACTS).await;
    assert_eq!(added[0], json!({"doc_id": "cats", "text": FACTS[0].1, "metadata": {}}));
    assert_eq!(added.as_array().unwrap().len(), 5);
    let page = server.get("/indexes/listing/documents?limit=2&offset=1&max_text_length=8").await.ok();
    assert_eq!(
        page,
        json!({
            "documents": [
                {"doc_id": "ships", "text": "The cont", "metadata": {}, "is_truncated": true},
                {"doc_id": "bread", "text": "Sourdoug", "metadata": {}, "is_truncated": true}
            ],
            "count": 2, "total_items": 5
        })
    );
    let whole = server.get("/indexes/listing/documents").await.ok();
    assert_eq!((whole["count"].as_u64(), whole["documents"][0]["is_truncated"].as_bool()), (Some(5), Some(false)));
    assert!(server.get("/indexes").await.ok().as_array().unwrap().contains(&json!("listing")));
    let index = server.get("/indexes/listing").await.ok();
    assert_eq!((index["documents"].as_u64(), index["chunks"].as_u64()), (Some(5), Some(5)));
    assert_eq!(index["bytes"].as_u64(), Some(FACTS.iter().map(|(_, text)| text.len() as u64).sum()));
    assert_eq!(index["settings"], json!({"chunking": {"maxTokens": 254, "overlapTokens": 25}, "vectorIndex": "auto"}));
    assert_eq!(index["model"], "all-MiniLM-L6-v2");
    assert!(!index["data_id"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn the_default_id_of_a_document_is_the_hash_of_its_text() {
    let server = Server::shared();
    let documents =
        json!([{"text": "abc", "metadata": {"v": 1}}, {"text": "other"}, {"text": "abc", "metadata": {"v": 2}}]);
    let added = server.post("/index", &json!({"index_name": "hashes", "documents": documents})).await.ok();
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let shown: Vec<(&str, &Value)> = added
        .as_array()
        .unwrap()
        .iter()
        .map(|document| (document["text"].as_str().unwrap(), &document["metadata"]))
        .collect();
    assert_eq!(shown, [("abc", &json!({"v": 2})), ("other", &json!({})), ("abc", &json!({"v": 2}))]);
    assert_eq!((added[0]["doc_id"].as_str(), added[2]["doc_id"].as_str()), (Some(hash), Some(hash)));
    let listed = server.get("/indexes/hashes/documents").await.ok();
    assert_eq!((listed["total_items"].as_u64(), &listed["documents"][0]["metadata"]), (Some(2), &json!({"v": 2})));
}

#[tokio::test]
async fn a_repeated_request_changes_nothing() {
    let server = Server::shared();
    server.add("again", &FACTS).await;
    let before = server.found("again", "When is the tax return due?", 3).await;
    server.add("again", &FACTS).await;
    assert_eq!(server.get("/indexes/again").await.ok()["chunks"], 5);
    assert_eq!(server.found("again", "When is the tax return due?", 3).await, before);
}

#[tokio::test]
async fn a_given_id_is_an_upsert_that_removes_the_old_text() {
    let server = Server::shared();
    server.add("upsert", &FACTS).await;
    server.add("upsert", &[("moon", "Bananas are rich in potassium.")]).await;
    let body = json!({"index_name": "upsert", "query": "moon orbits the earth", "max_node_count": 300});
    let reply = server.post("/retrieve", &body).await.ok();
    assert_eq!(reply["count"], 5);
    assert!(!reply.to_string().contains("orbits the earth in"), "{reply}");
    assert_eq!(server.found("upsert", "potassium in fruit", 1).await, ["moon"]);
    // With the old text under the same id and a new one, a search finds both.
    server.add("upsert", &[("moon", FACTS[4].1), ("moon2", FACTS[4].1)]).await;
    let mut found = server.found("upsert", "How long does the moon take around the earth?", 2).await;
    found.sort();
    assert_eq!(found, ["moon", "moon2"]);
}

#[tokio::test]
async fn a_deleted_document_is_gone_and_the_others_stay() {
    let server = Server::shared();
    server.add("deleting", &FACTS).await;
    let reply =
        server.post("/indexes/deleting/documents/delete", &json!({"doc_ids": ["tax", "missing", "ships"]})).await.ok();
    assert_eq!(reply, json!({"deleted_doc_ids": ["tax", "ships"], "not_found_doc_ids": ["missing"]}));
    server.add("deleting", &[("new", "A violin has four strings.")]).await;
    let mut found = server.found("deleting", "When is the annual tax return due?", 300).await;
    found.sort();
    assert_eq!(found, ["bread", "cats", "moon", "new"]);
    let body = json!({"index_name": "deleting", "query": "moon orbit", "max_node_count": 1});
    assert_eq!(
        server.post("/retrieve", &body).await.ok()["results"][0]["text"],
        FACTS[4].1,
        "a surviving document keeps its text"
    );
}

#[tokio::test]
async fn an_index_outlives_its_last_document() {
    let server = Server::shared();
    server.add("last", &FACTS[..1]).await;
    server.post("/indexes/last/documents/delete", &json!({"doc_ids": ["cats"]})).await.ok();
    assert_eq!(server.found("last", "cats", 5).await, Vec::<String>::new());
    let index = server.get("/indexes/last").await.ok();
    assert_eq!(
        (index["documents"].as_u64(), index["chunks"].as_u64(), index["bytes"].as_u64()),
        (Some(0), Some(0), Some(0))
    );
    server.add("last", &FACTS[..1]).await;
    assert_eq!(server.found("last", "cats", 5).await, ["cats"]);
}

#[tokio::test]
async fn a_recreated_index_is_empty() {
    let server = Server::shared();
    server.add("reborn", &FACTS).await;
    assert_eq!(server.delete("/indexes/reborn").await.ok(), json!({"message": "Successfully deleted index reborn."}));
    assert_eq!(server.delete("/indexes/reborn").await.error(404), "No such index: 'reborn' exists.");
    assert_eq!(server.get("/indexes/reborn/documents").await.error(404), "No such index: 'reborn' exists.");
    server.add("reborn", &FACTS[..1]).await;
    assert_eq!(server.found("reborn", "tax return", 10).await, ["cats"]);
}

#[tokio::test]
async fn an_update_reports_each_document() {
    let server = Server::shared();
    server.add("updating", &FACTS).await;
    let documents = json!([
        {"doc_id": "cats", "text": "Cats have whiskers."},
        {"doc_id": "tax", "text": FACTS[3].1},
        {"doc_id": "missing", "text": "x"}
    ]);
    let reply = server.post("/indexes/updating/documents", &json!({"documents": documents})).await.ok();
    let ids = |field: &str| {
        reply[field].as_array().unwrap().iter().map(|document| document["doc_id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids("updated_documents"), ["cats"]);
    assert_eq!(ids("unchanged_documents"), ["tax"]);
    assert_eq!(ids("not_found_documents"), ["missing"]);
    assert_eq!(server.get("/indexes/updating").await.ok()["documents"], 5);
    let without_id = json!({"documents": [{"text": "x"}]});
    assert!(server.post("/indexes/updating/documents", &without_id).await.error(400).contains("doc_id"));
}

#[tokio::test]
async fn metadata_alone_can_change() {
    let server = Server::shared();
    let with = |team: &str| {
        let document = json!({"doc_id": "d", "text": "Some text.", "metadata": {"team": team}});
        json!({"index_name": "meta", "documents": [document]})
    };
    server.post("/index", &with("a")).await.ok();
    server.post("/index", &with("b")).await.ok();
    let listed = |filter: &str| format!("/indexes/meta/documents?metadata_filter={filter}");
    assert_eq!(server.get(&listed("%7B%22team%22%3A%22a%22%7D")).await.ok()["total_items"], 0);
    assert_eq!(server.get(&listed("%7B%22team%22%3A%22b%22%7D")).await.ok()["total_items"], 1);
    assert_eq!(
        server.get(&listed("nonsense")).await.error(400),
        "Invalid metadata filter format. Must be a valid JSON string."
    );
}

#[tokio::test]
async fn the_documents_of_a_source_are_listed_with_their_hashes() {
    let server = Server::shared();
    let document = |doc_id: &str, source: Value| json!({"doc_id": doc_id, "text": doc_id, "source": source});
    let documents = [
        document("s/a", json!("s")),
        document("s/b", json!("s")),
        document("t/a", json!("t")),
        document("free", Value::Null),
    ];
    server.post("/index", &json!({"index_name": "sources", "documents": documents})).await.ok();
    let page = server.get("/indexes/sources/sources/s/documents?limit=1&offset=1").await.ok();
    let hash = ragengine_client::content_hash("s/b", &serde_json::Map::new());
    assert_eq!(page, json!({"documents": [{"doc_id": "s/b", "content_hash": hash}], "total_items": 2}));
    assert_eq!(server.get("/indexes/sources/sources/unknown/documents").await.ok()["total_items"], 0);
    assert!(server.get("/indexes/nowhere/sources/s/documents").await.error(404).contains("nowhere"));
}

#[tokio::test]
async fn an_index_keeps_the_settings_it_was_created_with() {
    let server = Server::shared();
    let settings = json!({"chunking": {"maxTokens": 40, "overlapTokens": 5}, "vectorIndex": "Flat"});
    let made = server.put("/indexes/made", &settings).await.ok();
    assert_eq!((made["settings"].clone(), made["documents"].as_u64()), (settings.clone(), Some(0)));
    assert_eq!(server.put("/indexes/made", &settings).await.ok()["fingerprint"], made["fingerprint"]);
    assert_eq!(server.put("/indexes/made", &json!({})).await.ok()["settings"], settings);
    let long = "This sentence has about ten tokens in it, more or less. ".repeat(30);
    server.add("made", &[("long", &long)]).await;
    assert!(server.get("/indexes/made").await.ok()["chunks"].as_u64().unwrap() > 8);
}

#[tokio::test]
async fn code_and_markdown_are_split_by_their_structure() {
    let server = Server::shared();
    server.put("/indexes/cut", &json!({"chunking": {"maxTokens": 28, "overlapTokens": 0}})).await.ok();
    let code = "fn first() -> u32 {\n    let number = 1;\n    number + 1\n}\n\n\
                fn second() -> u32 {\n    let number = 2;\n    number + 2\n}\n";
    let markdown = "# Handbook\n\n\
                    ## Leave\n\nTell the office three days before you take a day off, please.\n\n\
                    ## Pay\n\nThe money comes on the last working day of each month.\n";
    let documents = json!([
        {"doc_id": "code", "text": code, "metadata": {"split_type": "code", "language": "rust"}},
        {"doc_id": "book", "text": markdown, "metadata": {"split_type": "markdown"}}
    ]);
    server.post("/index", &json!({"index_name": "cut", "documents": documents})).await.ok();
    let body = json!({"index_name": "cut", "query": "second function", "max_node_count": 10});
    let texts: Vec<String> = server.post("/retrieve", &body).await.ok()["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["text"].as_str().unwrap().to_owned())
        .collect();
    assert!(texts.iter().any(|text| text.starts_with("fn second")), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("three days") && !text.contains("money")), "{texts:?}");
}

#[tokio::test]
async fn concurrent_writers_and_readers_agree() {
    let server = Server::shared();
    let writers = (0..8).map(|writer| {
        let server = Server::shared();
        async move {
            for round in 0..5 {
                let text = format!("Writer {writer} wrote this in round {round}.");
                server.add("busy", &[(&format!("w{writer}"), &text)]).await;
                assert!(server.found("busy", &text, 40).await.contains(&format!("w{writer}")));
            }
        }
    });
    futures_util::future::join_all(writers).await;
    let listed = server.get("/indexes/busy/documents?limit=100").await.ok();
    assert_eq!(
        (listed["total_items"].as_u64(), server.get("/indexes/busy").await.ok()["chunks"].as_u64()),
        (Some(8), Some(8))
    );
    assert!(
        listed["documents"]
            .as_array()
            .unwrap()
            .iter()
            .all(|document| document["text"].as_str().unwrap().ends_with("round 4."))
    );
}
