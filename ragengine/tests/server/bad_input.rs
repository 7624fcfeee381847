use serde_json::{Value, json};

use crate::support::{FACTS, Server};

fn document(document: Value) -> Value {
    json!({"index_name": "bad", "documents": [document]})
}

#[tokio::test]
async fn empty_fields_equal_missing_fields() {
    let server = Server::shared();
    let sent =
        json!({"index_name": "written-out", "documents": [{"text": "Written out.", "doc_id": "", "metadata": null}]});
    let stored = server.post("/index", &sent).await.ok();
    let left_out = server
        .post("/index", &json!({"index_name": "written-out", "documents": [{"text": "Written out."}]}))
        .await
        .ok();
    assert_eq!(stored, left_out);
    assert_eq!((stored[0]["doc_id"].as_str().unwrap().len(), &stored[0]["metadata"]), (64, &json!({})));
    let update = json!({"documents": [{"text": "x", "doc_id": ""}]});
    assert!(server.post("/indexes/written-out/documents", &update).await.error(400).contains("doc_id"));
}

#[tokio::test]
async fn an_invalid_document_is_refused_with_its_reason() {
    let server = Server::shared();
    for (body, status, words) in [
        (document(json!({"text": ""})), 400, "text is empty"),
        (document(json!({"text": " \n\t"})), 400, "text is empty"),
        (document(json!({"text": 1})), 422, "documents"),
        (document(json!({})), 422, "text"),
        (document(json!({"text": "x", "metadata": []})), 422, "metadata"),
        (document(json!({"text": "x", "source": ""})), 400, "source is empty"),
        (document(json!({"text": "x", "doc_id": "a\u{0}b"})), 400, "control characters"),
        (document(json!({"text": "x", "doc_id": "x".repeat(513)})), 400, "512"),
        (document(json!({"text": "x", "doc_id": 7})), 422, "doc_id"),
        (document(json!({"text": "x", "revision": ""})), 400, "revision is empty"),
        (document(json!({"text": "x", "revision": "x".repeat(257)})), 400, "256"),
        (document(json!({"text": "x", "revision": "a\u{0}b"})), 400, "control characters"),
        (document(json!({"text": "x", "revision": 7})), 422, "revision"),
        (document(json!({"text": "\u{c} \u{c}", "metadata": {"split_type": "pages"}})), 400, "text is empty"),
        (document(json!({"text": "x", "metadata": {"k": "v".repeat(20_000)}})), 400, "16384"),
        (document(json!({"text": "x", "metadata": {"split_type": "sheets"}})), 400, "markdown"),
        (document(json!({"text": "x", "metadata": {"split_type": "code"}})), 400, "language"),
        (document(json!({"text": "x", "metadata": {"split_type": "code", "language": "cobol"}})), 400, "cobol"),
        (document(json!({"text": "word ".repeat(30_000)})), 400, "limits.maxDocumentBytes"),
        (json!({"index_name": "bad", "documents": []}), 400, "empty"),
        (json!({"index_name": "bad", "documents": "x"}), 422, "documents"),
        (json!({"documents": [{"text": "x"}]}), 422, "index_name"),
        (json!({"index_name": "bad", "documents": vec![json!({"text": "x"}); 501]}), 400, "500"),
        (json!([]), 422, "body"),
        (json!(["bad", [["x", "text"]]]), 422, "must be an object"),
    ] {
        let message = server.post("/index", &body).await.error(status);
        assert!(message.contains(words), "{}: {message}", &body.to_string()[..body.to_string().len().min(80)]);
    }
    server.get("/indexes/bad").await.error(404);
}

#[tokio::test]
async fn an_invalid_name_is_refused_with_the_rule() {
    let server = Server::shared();
    for name in ["", "-a", "a/b", "../../etc", "a b", "ä", "a\u{0}", &"x".repeat(64)] {
        let body = json!({"index_name": name, "documents": [{"text": "x"}]});
        let message = server.post("/index", &body).await.error(400);
        assert!(message.contains("1 to 63 letters, digits"), "{message}");
    }
    assert!(server.put("/indexes/-a", &json!({})).await.error(400).contains("1 to 63"));
    server.get("/indexes/..%2f..%2fetc").await.error(404);
    assert!(server.get("/indexes/%ff").await.error(400).contains("UTF-8"));
}

#[tokio::test]
async fn a_validation_error_names_the_field() {
    let server = Server::shared();
    let reply = server.post("/index", &json!({"index_name": "bad", "documents": [{"text": "a"}, {"text": 5}]})).await;
    assert_eq!(reply.status, 422);
    assert_eq!(reply.json()["detail"][0]["loc"], json!(["body", "documents", 1, "text"]));
    let reply = server.post("/index", &json!({"index_name": "bad", "documents": [{"doc_id": "a"}]})).await;
    assert_eq!(reply.json()["detail"][0]["loc"], json!(["body", "documents", 0, "text"]));
    let reply = server.post_bytes("/index", "{\"index_name\": ").await;
    assert_eq!((reply.status, &reply.json()["detail"][0]["type"]), (422, &json!("json_invalid")));
}

#[tokio::test]
async fn parameters_are_checked() {
    let server = Server::shared();
    server.add("parameters", &FACTS[..1]).await;
    for (query, place) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=x", "limit"),
        ("offset=-1", "offset"),
        ("max_text_length=0", "max_text_length"),
    ] {
        let message = server.get(&format!("/indexes/parameters/documents?{query}")).await.error(422);
        assert!(message.contains(place), "{query}: {message}");
    }
    for settings in [
        json!({"vectorIndex": "IVF64"}),
        json!({"chunking": {"maxTokens": 1}}),
        json!({"chunking": {"maxTokens": 20, "overlapTokens": 20}}),
    ] {
        server.put("/indexes/parameters2", &settings).await.error(400);
    }
    assert!(
        server.put("/indexes/parameters2", &json!({"vectorindex": "Flat"})).await.error(422).contains("vectorindex")
    );
}

#[tokio::test]
async fn a_huge_body_is_refused() {
    let server = Server::shared();
    for path in ["/index", "/retrieve", "/v1/chat/completions", "/v1/embeddings"] {
        let message = server.post_bytes(path, "x".repeat(200_001)).await.error(413);
        assert!(message.contains("200000") && message.contains("limits.maxBodyBytes"), "{message}");
    }
}

#[tokio::test]
async fn a_body_that_never_arrives_times_out() {
    let server = Server::start("limits: {bodyTimeoutSeconds: 1}").await;
    let endless = reqwest::Body::wrap_stream(futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    assert!(server.post_bytes("/index", endless).await.error(408).contains("1 s"));
}

#[tokio::test]
async fn errors_of_the_openai_api_have_its_shape() {
    let server = Server::shared();
    let reply = server.post_bytes("/v1/chat/completions", "{").await;
    let error = &reply.json()["error"];
    assert_eq!(
        (reply.status, error["type"].as_str(), error["code"].as_str()),
        (400, Some("invalid_request_error"), Some("json"))
    );
    let reply = server.post("/v1/chat/completions", &json!({"messages": [{"role": 1}]})).await;
    assert_eq!((reply.status, &reply.json()["error"]["param"]), (400, &json!("messages[0].role")));
    let reply = server.get("/v1/nothing").await;
    assert!(reply.error(404).contains("/v1/nothing"));
    assert_eq!(reply.json()["error"]["type"], "not_found_error");
    assert!(server.get("/v1/chat/completions").await.error(405).contains("GET"));
    assert!(server.get("/nothing").await.json()["detail"].is_string());
    assert!(server.delete("/retrieve").await.error(405).contains("/openapi.json"));
}

#[tokio::test]
async fn an_error_message_is_short_for_long_input() {
    let server = Server::shared();
    let long = "x".repeat(150_000);
    for (path, body) in [
        ("/retrieve", json!({"index_name": long, "query": "x"})),
        ("/index", json!({"index_name": "bad", "documents": long})),
        ("/v1/embeddings", json!({"input": "x", "model": long})),
    ] {
        let reply = server.post(path, &body).await;
        assert!((400..500).contains(&reply.status) && reply.text.len() < 3000, "{path}: {} bytes", reply.text.len());
    }
}

#[tokio::test]
async fn unusual_texts_are_stored() {
    let server = Server::shared();
    let long_word = "x".repeat(5000);
    let texts = [
        "\u{1F600}",
        "a",
        "مرحبا بالعالم",
        "\u{FEFF}bom",
        long_word.as_str(),
        "{{context_str}} \\u0000 <script>",
        "...---...",
    ];
    for (number, text) in texts.iter().enumerate() {
        server.add("odd", &[(&format!("d{number}"), text)]).await;
    }
    assert_eq!(server.get("/indexes/odd").await.ok()["documents"], 7);
    assert_eq!(
        server
            .found("odd", "hello world in Arabic مرحبا", 300)
            .await
            .iter()
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        7
    );
}
