//! The next generation of an index.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use ragengine_client::wire::{ErrorDetail, IndexDescription};

use super::extract::PathParameters;
use super::indexes::described;
use crate::app::App;
use crate::error::PlainError;

/// Begins the next generation again that was given up. It changes nothing when one is being built, or none is needed.
#[utoipa::path(put, path = "/indexes/{index_name}/generation", tag = "indexes",
    params(("index_name" = String, Path, description = "The index.")), responses(
    (status = 200, description = "The index.", body = IndexDescription),
    (status = 401, description = "The server wants its write token.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
))]
pub async fn put(
    State(app): State<Arc<App>>,
    PathParameters(index_name): PathParameters<String>,
) -> Result<Json<IndexDescription>, PlainError> {
    let loaded = app.loaded()?;
    loaded.generations.begin(&index_name).await?;
    Ok(Json(described(loaded, &index_name)?))
}

/// Gives the next generation up. The index stays as it is, and so does what is wanted of it, until somebody asks for something else.
#[utoipa::path(delete, path = "/indexes/{index_name}/generation", tag = "indexes",
    params(("index_name" = String, Path, description = "The index.")), responses(
    (status = 200, description = "The index.", body = IndexDescription),
    (status = 401, description = "The server wants its write token.", body = ErrorDetail),
    (status = 404, description = "No such index, or nothing is being built.", body = ErrorDetail),
))]
pub async fn delete(
    State(app): State<Arc<App>>,
    PathParameters(index_name): PathParameters<String>,
) -> Result<Json<IndexDescription>, PlainError> {
    let loaded = app.loaded()?;
    loaded.generations.abandon(&index_name).await?;
    Ok(Json(described(loaded, &index_name)?))
}
