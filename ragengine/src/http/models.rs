//! OpenAI's list of models.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use ragengine_client::wire::OpenAiError as ErrorBody;
use serde_json::{Value, json};

use crate::app::App;
use crate::error::{ApiError, OpenAiError};
use crate::llm::{LanguageModel, extractive};

/// Lists the language models: the upstream's own list, or the built-in one.
#[utoipa::path(get, path = "/v1/models", tag = "openai", responses(
    (status = 200, description = "OpenAI's list of models.", body = Object),
    (status = 502, description = "The upstream cannot be reached.", body = ErrorBody),
))]
pub async fn list(State(app): State<Arc<App>>) -> Result<Json<Value>, OpenAiError> {
    Ok(Json(models(&app).await?))
}

/// One of the models that [`list`] lists. Its id may have slashes.
#[utoipa::path(get, path = "/v1/models/{id}", tag = "openai", params(("id" = String, Path, description = "The model's id.")), responses(
    (status = 200, description = "OpenAI's model.", body = Object),
    (status = 404, description = "No such model.", body = ErrorBody),
    (status = 502, description = "The upstream cannot be reached.", body = ErrorBody),
))]
pub async fn describe(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Json<Value>, OpenAiError> {
    let mut models = models(&app).await?;
    let known = models["data"].as_array_mut().and_then(|models| models.iter_mut().find(|model| model["id"] == id));
    match known {
        Some(model) => Ok(Json(model.take())),
        None => {
            Err(ApiError::NotFound(format!("there is no model '{id}': GET /v1/models lists those that there are"))
                .into())
        }
    }
}

async fn models(app: &App) -> Result<Value, ApiError> {
    Ok(match &app.language_model {
        LanguageModel::Upstream(upstream) => upstream.list_models().await?,
        LanguageModel::Extractive => json!({
            "object": "list",
            "data": [{"id": extractive::MODEL, "object": "model", "created": 0, "owned_by": "ragengine",
                      "max_model_len": extractive::WINDOW_TOKENS}],
        }),
        LanguageModel::None => json!({"object": "list", "data": []}),
    })
}
