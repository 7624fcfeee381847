//! The operator reads the engine's record from a real HTTP server.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use axum::{Json, Router};
use parking_lot::Mutex;
use ragengine_client::wire::{EngineStatus, SourceDescription, SyncPhase};
use ragengine_operator::gateway::Gateways;
use ragengine_operator::server_token::ServerToken;
use serde_json::{Value, json};

use super::cases::source;
use super::fixture::{condition, finish, label, manifest, only_job, ready, server};
use super::real_server::{serve, until};
use crate::controller::Controller;
use crate::fixture::defaults;

/// A separate loopback address, because the port is always 5000.
const ADDRESS: &str = "127.83.12.7";

type Sources = Arc<Mutex<Vec<SourceDescription>>>;

async fn answer(State(sources): State<Sources>, Path(_): Path<String>) -> Json<Value> {
    Json(json!(*sources.lock()))
}

/// Only a server that must know its callers is sent the token, as it is now.
#[tokio::test]
async fn the_operator_says_who_it_is() {
    let file = std::env::temp_dir().join(format!("ragengine-token-of-tests-{}", std::process::id()));
    std::fs::write(&file, "first").unwrap();
    for (address, spec, expected) in [
        ("127.83.12.8", "{replicas: 0, auth: {modes: [jwt]}}", ["Bearer first", "Bearer second"].as_slice()),
        ("127.83.12.9", "{replicas: 0}", &[""]),
    ] {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let router = Router::new().route("/indexes/{name}/sources", get(remember)).with_state(Arc::clone(&seen));
        let server = server();
        server.edit("ragengines", "docs", |engine| engine["spec"] = serde_saphyr::from_str(spec).unwrap());
        let answering = serve(&server, address, router).await;
        server.put("indexes", manifest("handbook", "{}"));
        let token = Arc::new(ServerToken::new(Some(file.clone())));
        let controller = Controller::start_in(&server, defaults(), Gateways::Absent, token);
        for header in expected {
            until("asked with this header", &server, || seen.lock().iter().any(|found| found == header)).await;
            std::fs::write(&file, "second").unwrap();
        }
        assert!(seen.lock().iter().all(|found| expected.contains(&found.as_str())), "{:?}", seen.lock());
        std::fs::write(&file, "first").unwrap();
        answering.abort();
        controller.stop().await;
    }
    std::fs::remove_file(&file).unwrap();
}

async fn remember(State(seen): State<Arc<Mutex<Vec<String>>>>, headers: HeaderMap) -> Json<Value> {
    let header = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
    seen.lock().push(header.unwrap_or_default());
    Json(json!([]))
}

#[tokio::test]
async fn progress_and_result_come_from_the_engines_record() {
    let sources = Sources::default();
    let server = server();
    let router = Router::new().route("/indexes/{name}/sources", get(answer)).with_state(Arc::clone(&sources));
    let answering = serve(&server, ADDRESS, router).await;
    server.put("indexes", manifest("handbook", "{}"));
    let controller = Controller::start(&server);
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    let job = only_job(&server);
    let sync_id = label(&server, &job, "sync-id");
    let record = |phase, done| {
        let description = source(phase, |sync| {
            sync.sync_id = sync_id.clone();
            sync.done = done;
        });
        let others = SourceDescription { name: "other.notes".to_owned(), documents: 1000, ..description.clone() };
        *sources.lock() = vec![SourceDescription { name: "handbook.notes".to_owned(), ..description }, others];
    };
    let status = || server.get("indexes", "handbook").unwrap()["status"].clone();
    record(SyncPhase::Running, 4);
    until("progress", &server, || (status()["done"].clone(), status()["total"].clone()) == (json!(4), json!(10))).await;
    record(SyncPhase::Complete, 10);
    until("more progress", &server, || status()["done"] == 10).await;
    assert_eq!(status()["documents"], Value::Null, "the synchronisation has not finished");
    finish(&server, &job, "Complete");
    until("Synced", &server, || ready(&server, "handbook") == "True Synced").await;
    assert_eq!((status()["documents"].clone(), status()["revision"].clone()), (json!(9), json!("0123456789ab")));
    assert_eq!((status()["done"].clone(), status()["lastSync"]["id"].clone()), (Value::Null, json!(sync_id)));
    let text = controller.context.metrics.text();
    assert!(text.contains(r#"ragengine_operator_index_syncs_total{result="succeeded"} 1"#), "{text}");
    answering.abort();
    controller.stop().await;
}

/// A network policy may let the operator in at the port of the status only.
#[tokio::test]
async fn a_result_that_cannot_be_read_is_not_waited_for_silently() {
    let server = server();
    let status = EngineStatus { ready: true, data_id: Some("data-1".to_owned()), ..EngineStatus::default() };
    let router = Router::new()
        .route("/indexes/{name}/sources", get(async || StatusCode::BAD_GATEWAY))
        .route("/status", get(move || std::future::ready(Json(status.clone()))));
    let answering = serve(&server, "127.83.12.11", router).await;
    server.put("indexes", manifest("handbook", "{}"));
    let controller = Controller::start(&server);
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    until("Syncing", &server, || ready(&server, "handbook") == "False Syncing").await;
    finish(&server, &only_job(&server), "Complete");
    until("ServerUnreachable", &server, || ready(&server, "handbook") == "False ServerUnreachable").await;
    let (status, _, message) = condition(&server, "handbook", "Degraded");
    assert!(status == "True" && message.contains("port 5000"), "{message}");
    answering.abort();
    controller.stop().await;
}
