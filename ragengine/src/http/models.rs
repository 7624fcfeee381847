//! `GET /v1/models`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use ragengine_client::wire::OpenAiError as ErrorBody;
use serde_json::json;

use crate::access::{Action, Caller, may};
use crate::app::App;
use crate::error::{ApiError, OpenAiError};
use crate::language_model::{LanguageModel, ModelList, extractive};

/// Lists the available language models: the upstream's list, at most a minute old, or the built-in model.
#[utoipa::path(get, path = "/v1/models", tag = "openai", responses(
    (status = 200, description = "OpenAI's list of models.", body = Object),
    (status = 429, description = "Too many requests are waiting for the language model.", body = ErrorBody),
    (status = 502, description = "The language model cannot be reached. Its refusals are passed on.",
        body = ErrorBody),
    (status = 504, description = "The language model did not reply in time.", body = ErrorBody),
))]
pub async fn list(State(app): State<Arc<App>>, Extension(caller): Extension<Caller>) -> Result<Response, OpenAiError> {
    Ok(reply(models(&app, &caller).await?.whole.clone()))
}

/// Describes a language model. Its id may contain slashes.
#[utoipa::path(get, path = "/v1/models/{id}", tag = "openai",
    params(("id" = String, Path, description = "The model's id.")), responses(
    (status = 200, description = "OpenAI's model.", body = Object),
    (status = 404, description = "No such model.", body = ErrorBody),
    (status = 429, description = "Too many requests are waiting for the language model.", body = ErrorBody),
    (status = 502, description = "The language model cannot be reached. Its refusals are passed on.",
        body = ErrorBody),
    (status = 504, description = "The language model did not reply in time.", body = ErrorBody),
))]
pub async fn describe(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, OpenAiError> {
    match models(&app, &caller).await?.get(&id) {
        Some(model) => Ok(reply(model)),
        None => {
            Err(ApiError::NotFound(format!("there is no model '{id}': GET /v1/models lists the available models"))
                .into())
        }
    }
}

async fn models(app: &App, caller: &Caller) -> Result<Arc<ModelList>, ApiError> {
    may(caller, Action::Read, None)?;
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
