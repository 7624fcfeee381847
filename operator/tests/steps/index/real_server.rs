//! A real HTTP server for the engine `docs`, with its pod.

use std::time::Duration;

use axum::Router;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::api_server::ApiServer;

/// Serves on a separate loopback address per test, because the port is always 5000.
pub async fn serve(server: &ApiServer, address: &'static str, router: Router) -> JoinHandle<()> {
    drop(rustls::crypto::ring::default_provider().install_default());
    let listener = tokio::net::TcpListener::bind((address, 5000)).await.unwrap();
    let answering = tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
    let labels = json!({
        "app.kubernetes.io/name": "ragengine", "app.kubernetes.io/instance": "docs",
        "app.kubernetes.io/managed-by": "ragengine-operator",
    });
    server.put(
        "pods",
        json!({
            "metadata": {"name": "docs-1", "labels": labels},
            "status": {"phase": "Running", "podIP": address, "containerStatuses": [{
                "name": "ragengine", "image": "i", "imageID": "", "ready": true, "restartCount": 0,
                "state": {"running": {"startedAt": "2026-11-22T09:00:01Z"}},
            }]},
        }),
    );
    answering
}

/// Waits until a condition holds, in real time. Panics after 60 s.
pub async fn until(what: &str, server: &ApiServer, holds: impl Fn() -> bool) {
    let holds = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let outcome = tokio::time::timeout(Duration::from_secs(60), holds).await;
    outcome.unwrap_or_else(|_| panic!("{what} never holds; the last calls: {:#?}", server.calls()));
}
