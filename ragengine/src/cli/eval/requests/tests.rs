use axum::Json;
use axum::http::StatusCode;
use axum::routing::post;
use serde_json::{Value, json};

use super::*;

fn requests(base: &str) -> Requests {
    drop(rustls::crypto::ring::default_provider().install_default());
    Requests::new(base, "docs", 10, Duration::from_secs(5)).unwrap()
}

#[test]
fn a_body_has_only_the_fields_of_its_configuration() {
    let requests = requests("http://127.0.0.1:1/base/");
    assert_eq!(requests.url.as_str(), "http://127.0.0.1:1/base/retrieve");
    let plain = json!({"index_name": "docs", "query": "q", "max_node_count": 10});
    let with = |fields: Value| {
        let mut body = plain.clone();
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        body
    };
    for (retrieval, threshold, expected) in [
        (EvalRetrieval::Server, None, plain.clone()),
        (EvalRetrieval::Rrf, None, with(json!({"pipeline": {"retrieval": "rrf"}}))),
        (
            EvalRetrieval::Dense,
            Some(EvalThreshold::Calibrated),
            with(json!({"pipeline": {"retrieval": "dense", "threshold": "calibrated"}, "explain": true})),
        ),
        (
            EvalRetrieval::Server,
            Some(EvalThreshold::Fixed),
            with(json!({"pipeline": {"threshold": "fixed"}, "explain": true})),
        ),
    ] {
        assert_eq!(serde_json::to_value(requests.body("q", retrieval, threshold)).unwrap(), expected);
    }
}

/// A server that knows the retrieval `dense` and the threshold `fixed`.
async fn answer(Json(body): Json<Value>) -> (StatusCode, Json<Value>) {
    let pipeline = &body["pipeline"];
    if pipeline["retrieval"] == "rrf" || pipeline["threshold"] == "calibrated" {
        return (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({"detail": "pipeline: unknown variant"})));
    }
    let results = json!([{"doc_id": "a", "score": 1}, {"doc_id": "a"}, {"doc_id": "b"}]);
    let mut reply = json!({"query": body["query"], "results": results, "count": 3});
    if body["explain"] == true {
        reply["explanation"] = json!({"context": true, "other": 1});
    }
    (StatusCode::OK, Json(reply))
}

#[tokio::test]
async fn replies_and_refusals_are_understood() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        axum::serve(listener, axum::Router::new().route("/retrieve", post(answer))).await.unwrap();
    });
    let requests = requests(&base);
    let ranking = vec!["a".to_owned(), "b".to_owned()];
    let plain = requests.ask("q", EvalRetrieval::Dense, None).await.unwrap();
    assert_eq!(plain, Reply { ranking: ranking.clone(), context: None });
    let explained = requests.ask("q", EvalRetrieval::Dense, Some(EvalThreshold::Fixed)).await.unwrap();
    assert_eq!(explained, Reply { ranking, context: Some(true) });
    for (retrieval, threshold) in [(EvalRetrieval::Rrf, None), (EvalRetrieval::Dense, Some(EvalThreshold::Calibrated))]
    {
        let refused = requests.ask("q", retrieval, threshold).await.unwrap_err();
        assert!(refused.is_document_error(), "{refused}");
        assert!(refused.to_string().contains("pipeline: unknown variant"), "{refused}");
    }
    server.abort();
}
