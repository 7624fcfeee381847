//! `POST /cache/purge`.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use ragengine_client::wire::{ErrorDetail, PurgeCache, Success};

use super::extract::JsonBody;
use crate::access::{Action, Caller};
use crate::app::App;
use crate::error::{ApiError, PlainError};

/// Forgets all answers from an index that are kept for equal questions.
#[utoipa::path(post, path = "/cache/purge", tag = "conversations", request_body = PurgeCache, responses(
    (status = 200, description = "No earlier answer is given again.", body = Success),
    (status = 400, description = "Answers are not kept on this server.", body = ErrorDetail),
    (status = 401, description = "The write token is missing or wrong.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
    (status = 422, description = "The body does not match the schema.", body = ErrorDetail),
    (status = 503, description = "The store cannot be used now.", body = ErrorDetail),
))]
pub async fn purge(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    JsonBody(request): JsonBody<PurgeCache>,
) -> Result<Json<Success>, PlainError> {
    let loaded = app.loaded()?;
    loaded.index(&caller, Action::Write, &request.index_name).await?;
    let off = || ApiError::InvalidRequest("answers are not kept on this server (setting cache.enabled)".to_owned());
    let cache = loaded.stores.cache().ok_or_else(off)?;
    cache.answers.purge(&request.index_name).await.map_err(ApiError::from)?;
    Ok(Json(Success::default()))
}
