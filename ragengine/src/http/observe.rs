//! Status and metrics.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use ragengine_client::wire::{EngineStatus, GenerationPhase};

use crate::app::App;
use crate::error::{ApiError, PlainError};

/// Returns the status of the server: readiness, index sizes and problems. Cheap enough to poll.
#[utoipa::path(get, path = "/status", tag = "operation", responses(
    (status = 200, description = "The status, also if there are problems.", body = EngineStatus),
))]
pub async fn status(State(app): State<Arc<App>>) -> Json<EngineStatus> {
    Json(app.status().await)
}

/// Returns the metrics in Prometheus's text format.
#[utoipa::path(get, path = "/metrics", tag = "operation", responses(
    (status = 200, description = "Prometheus's text format.", body = String, content_type = "text/plain"),
))]
pub async fn metrics(State(app): State<Arc<App>>) -> Result<impl IntoResponse, PlainError> {
    if let Ok(loaded) = app.loaded() {
        app.metrics.keep_indexes(|name| loaded.catalog.has(name));
    }
    let indexes = app.loaded().map(|loaded| loaded.catalog.all()).unwrap_or_default();
    let sizes: Vec<_> = indexes.iter().map(|index| (index.name().to_owned(), index.size())).collect();
    app.metrics.source_syncs_run(indexes.iter().map(|index| index.running_syncs(Instant::now())).sum());
    let grows = |name: String| {
        let generation = app.loaded().ok()?.catalog.next_generation(&name)?;
        let is_building = generation.phase == GenerationPhase::Building;
        is_building.then_some((name, generation.documents, generation.total))
    };
    let names = indexes.iter().map(|index| index.name().to_owned());
    app.metrics.index.generations_grow(&names.filter_map(grows).collect::<Vec<_>>());
    app.metrics.language_model_is(app.language_model.is_up());
    let text = app.metrics.render(&sizes).map_err(|error| ApiError::Internal(error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text))
}
