//! Liveness and readiness probes.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ragengine_client::wire::{Health, Readiness};

use crate::app::App;

/// Liveness: returns 200 whenever the process can answer. It checks nothing else.
#[utoipa::path(get, path = "/livez", tag = "operation",
    responses((status = 200, description = "The process is running.", body = String)))]
pub async fn livez() -> &'static str {
    "ok\n"
}

/// Readiness: whether the indexes and the model are loaded and the volume is writable.
#[utoipa::path(get, path = "/readyz", tag = "operation", responses(
    (status = 200, description = "The server is ready.", body = Readiness),
    (status = 503, description = "The server is not ready.", body = Readiness),
))]
pub async fn readyz(State(app): State<Arc<App>>) -> (StatusCode, Json<Readiness>) {
    let readiness = app.readiness().await;
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(readiness))
}

/// Readiness, as one sentence.
#[utoipa::path(get, path = "/health", tag = "operation", responses(
    (status = 200, description = "The server is ready.", body = Health),
    (status = 503, description = "The server is not ready.", body = Health),
))]
pub async fn health(State(app): State<Arc<App>>) -> (StatusCode, Json<Health>) {
    let readiness = app.readiness().await;
    if readiness.ready {
        return (StatusCode::OK, Json(Health { status: "Healthy".to_owned(), detail: None }));
    }
    let missing = readiness.checks.iter().filter(|(_, check)| !check.ready);
    let detail = missing.map(|(name, check)| format!("{name}: {}", check.detail)).collect::<Vec<_>>().join("; ");
    (StatusCode::SERVICE_UNAVAILABLE, Json(Health { status: "Unhealthy".to_owned(), detail: Some(detail) }))
}
