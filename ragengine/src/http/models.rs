//! OpenAI's list of models.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use ragengine_client::wire::OpenAiError as ErrorBody;
use serde_json::json;

use crate::app::App;
use crate::error::{ApiError, OpenAiError};
use crate::language_model::{LanguageModel, ModelList, extractive};

/// Lists the language models that may be asked for: the upstream's own list, at most a minute old, or the built-in one.
#[utoipa::path(get, path = "/v1/models", tag = "openai", responses(
    (status = 200, description = "OpenAI's list of models.", body = Object),
    (status = 429, description = "The upstream is slow, and enough wait for it already.", body = ErrorBody),
    (status = 502, description = "The upstream cannot be reached. What it refuses keeps its status and message.", body = ErrorBody),
    (status = 504, description = "The upstream takes too long.", body = ErrorBody),
))]
pub async fn list(State(app): State<Arc<App>>) -> Result<Response, OpenAiError> {
    Ok(reply(models(&app).await?.whole.clone()))
}

/// One of the models that [`list`] lists. Its id may have slashes.
#[utoipa::path(get, path = "/v1/models/{id}", tag = "openai", params(("id" = String, Path, description = "The model's id.")), responses(
    (status = 200, description = "OpenAI's model.", body = Object),
    (status = 404, description = "No such model, or none that may be asked for.", body = ErrorBody),
    (status = 429, description = "The upstream is slow, and enough wait for it already.", body = ErrorBody),
    (status = 502, description = "The upstream cannot be reached. What it refuses keeps its status and message.", body = ErrorBody),
    (status = 504, description = "The upstream takes too long.", body = ErrorBody),
))]
pub async fn describe(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, OpenAiError> {
    match models(&app).await?.get(&id) {
        Some(model) => Ok(reply(model)),
        None => {
            Err(ApiError::NotFound(format!("there is no model '{id}': GET /v1/models lists those that there are"))
                .into())
        }
    }
}

async fn models(app: &App) -> Result<Arc<ModelList>, ApiError> {
    Ok(match &*app.language_model {
        LanguageModel::Upstream(upstream) => upstream.models().await?,
        LanguageModel::Extractive => Arc::new(ModelList::of(json!({
            "object": "list",
            "data": [{"id": extractive::MODEL, "object": "model", "created": 0, "owned_by": "ragengine",
                      "max_model_len": extractive::WINDOW_TOKENS}],
        }))),
        LanguageModel::None => Arc::new(ModelList::of(json!({"object": "list", "data": []}))),
    })
}

fn reply(json: Bytes) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], json).into_response()
}
