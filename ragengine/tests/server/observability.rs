use axum::response::IntoResponse as _;
use serde_json::json;

use crate::support::upstream::Upstream;
use crate::support::{FACTS, Server, ask, settings};

#[tokio::test]
async fn metrics_say_what_happened() {
    let server = Server::start("retrieval: {maxDistance: 1.1}").await;
    server.add("counted", &FACTS).await;
    server.found("counted", "tax", 1).await;
    server.found("counted", "moon", 1).await;
    server.get("/indexes/nowhere").await;
    server.get("/made-up-path").await;
    let text = server.get("/metrics").await.text;
    for line in [
        "ragengine_build_info{version=\"0.1.0\"} 1",
        "ragengine_http_requests_total{method=\"POST\",route=\"/index\",status=\"200\"} 1",
        "ragengine_http_requests_total{method=\"POST\",route=\"/retrieve\",status=\"200\"} 2",
        "ragengine_http_requests_total{method=\"GET\",route=\"/indexes/{index_name}\",status=\"404\"} 1",
        "ragengine_http_requests_total{method=\"GET\",route=\"unmatched\",status=\"404\"} 1",
        "ragengine_http_requests_in_flight 1",
        "ragengine_embedding_texts_total{purpose=\"passage\"} 5",
        "ragengine_embedding_texts_total{purpose=\"query\"} 2",
        "ragengine_search_duration_seconds_count 2",
        "ragengine_index_documents{index=\"counted\"} 5",
        "ragengine_index_chunks{index=\"counted\"} 5",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    server.delete("/indexes/counted").await.ok();
    assert!(!server.get("/metrics").await.text.contains("index=\"counted\""));
}

#[tokio::test]
async fn probes_name_what_is_missing() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_unloaded(settings(&data, "{}")).await;
    assert_eq!(server.get("/livez").await.status, 200);
    let ready = server.get("/readyz").await;
    assert_eq!((ready.status, &ready.json()["checks"]["model"]["ready"]), (503, &json!(false)));
    let health = server.get("/health").await;
    assert_eq!((health.status, health.json()["status"].as_str().unwrap().to_owned()), (503, "Unhealthy".to_owned()));
    assert!(health.json()["detail"].as_str().unwrap().contains("model"));
    let refused = server.post("/retrieve", &json!({"index_name": "a", "query": "b"})).await;
    assert!(refused.error(503).contains("not ready"));
    assert_eq!(refused.headers["retry-after"], "5");
    ragengine::app::start(&server.app).await.unwrap();
    assert_eq!(server.get("/readyz").await.ok()["ready"], true);
    assert_eq!(server.get("/health").await.ok(), json!({"status": "Healthy", "detail": null}));
}

#[tokio::test]
async fn a_server_that_cannot_download_its_model_is_not_ready() {
    let data = tempfile::tempdir().unwrap();
    let mut settings = settings(&data, "{}");
    let local = settings.embedding.local.as_mut().unwrap();
    local.model_id = "missing/model".into();
    local.hub_url = "http://127.0.0.1:9".into();
    let server = Server::start_unloaded(settings).await;
    let app = std::sync::Arc::clone(&server.app);
    let loading = tokio::spawn(async move { ragengine::app::start(&app).await });
    let mut detail = String::new();
    for _ in 0..1000 {
        detail = server.get("/readyz").await.json()["checks"]["model"]["detail"].as_str().unwrap().to_owned();
        if detail.contains("cannot") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(detail.contains("missing/model"), "{detail}");
    assert_eq!(server.get("/livez").await.status, 200);
    loading.abort();
}

#[tokio::test]
async fn a_client_that_leaves_is_counted() {
    let upstream = Upstream::scripted(|_| {
        let nothing = futures_util::stream::pending::<Result<String, std::io::Error>>();
        axum::body::Body::from_stream(nothing).into_response()
    })
    .await;
    let server = Server::start(&upstream.settings()).await;
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
    let request = server.request("/v1/chat/completions").body(body.to_string());
    let leaving = tokio::time::timeout(std::time::Duration::from_millis(300), request.send()).await;
    assert!(leaving.is_err(), "the upstream never answers");
    let line = "ragengine_http_requests_total{method=\"POST\",route=\"/v1/chat/completions\",status=\"499\"} 1";
    for _ in 0..500 {
        if server.get("/metrics").await.text.contains(line) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the request was not counted: {}", server.get("/metrics").await.text);
}

#[tokio::test]
async fn every_route_is_in_the_openapi_document() {
    let server = Server::shared();
    let document = server.get("/openapi.json").await.ok();
    let paths: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    for path in [
        "/v1/chat/completions",
        "/v1/embeddings",
        "/v1/models",
        "/retrieve",
        "/index",
        "/indexes",
        "/indexes/{index_name}",
        "/indexes/{index_name}/documents",
        "/indexes/{index_name}/documents/delete",
        "/livez",
        "/readyz",
        "/health",
        "/metrics",
    ] {
        assert!(paths.iter().any(|known| *known == path), "{path} is not in {paths:?}");
    }
    assert_eq!(document["components"]["schemas"]["Retrieve"]["properties"]["max_node_count"]["default"], 5);
}

#[tokio::test]
async fn a_pass_through_needs_nothing_loaded() {
    let upstream = Upstream::friendly().await;
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_unloaded(settings(&data, &upstream.settings())).await;
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
    server.post("/v1/chat/completions", &body).await.ok();
    assert!(server.post("/v1/chat/completions", &ask("docs", "x")).await.error(503).contains("not ready"));
}
