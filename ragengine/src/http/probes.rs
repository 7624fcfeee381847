//! Whether the server lives, and whether it can answer.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ragengine_client::wire::{Health, Readiness};

use crate::app::App;

/// Whether the process answers at all. It does not look at anything else.
#[utoipa::path(get, path = "/livez", tag = "operation", responses((status = 200, description = "It lives.", body = String)))]
pub async fn livez() -> &'static str {
    "ok\n"
}

/// Whether the indexes and the model are loaded and the volume can be written; else what is missing.
#[utoipa::path(get, path = "/readyz", tag = "operation", responses(
    (status = 200, description = "It can answer.", body = Readiness),
    (status = 503, description = "It cannot answer yet, or any more.", body = Readiness),
))]
pub async fn readyz(State(app): State<Arc<App>>) -> (StatusCode, Json<Readiness>) {
    let readiness = app.readiness().await;
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(readiness))
}

/// The same in one sentence.
#[utoipa::path(get, path = "/health", tag = "operation", responses(
    (status = 200, description = "It can answer.", body = Health),
    (status = 503, description = "It cannot answer yet, or any more.", body = Health),
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
