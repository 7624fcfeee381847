//! The operator reads the engine's record from a real HTTP server.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::routing::get;
use axum::{Json, Router};
use parking_lot::Mutex;
use ragengine_client::wire::{SourceDescription, SyncPhase};
use serde_json::{Value, json};

use super::cases::source;
use super::fixture::{finish, label, manifest, only_job, ready, server};
use super::real_server::{serve, until};
use crate::controller::Controller;

/// A separate loopback address, because the port is always 5000.
const ADDRESS: &str = "127.83.12.7";

type Sources = Arc<Mutex<Vec<SourceDescription>>>;

async fn answer(State(sources): State<Sources>, Path(_): Path<String>) -> Json<Value> {
    Json(json!(*sources.lock()))
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
