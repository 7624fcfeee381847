//! The next generation of an index.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use ragengine_client::wire::{ErrorDetail, IndexDescription};

use super::extract::PathParameters;
use super::indexes::described;
use crate::access::Caller;
use crate::app::App;
use crate::error::PlainError;

/// Builds an abandoned generation again. Changes nothing if one is being built, or if none is needed.
#[utoipa::path(put, path = "/indexes/{index_name}/generation", tag = "indexes",
    params(("index_name" = String, Path, description = "The index.")), responses(
    (status = 200, description = "The index.", body = IndexDescription),
    (status = 401, description = "The write token is missing or wrong.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
))]
pub async fn put(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters(index_name): PathParameters<String>,
) -> Result<Json<IndexDescription>, PlainError> {
    let loaded = app.loaded()?;
    loaded.generations.begin(&caller, &index_name).await?;
    Ok(Json(described(loaded, &caller, &index_name).await?))
}

/// Abandons the next generation.
///
/// The index keeps serving its current generation. The next one is not built until other settings are requested.
#[utoipa::path(delete, path = "/indexes/{index_name}/generation", tag = "indexes",
    params(("index_name" = String, Path, description = "The index.")), responses(
    (status = 200, description = "The index.", body = IndexDescription),
    (status = 401, description = "The write token is missing or wrong.", body = ErrorDetail),
    (status = 404, description = "No such index, or no generation is being built.", body = ErrorDetail),
))]
pub async fn delete(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters(index_name): PathParameters<String>,
) -> Result<Json<IndexDescription>, PlainError> {
    let loaded = app.loaded()?;
    loaded.generations.abandon(&caller, &index_name).await?;
    Ok(Json(described(loaded, &caller, &index_name).await?))
}
