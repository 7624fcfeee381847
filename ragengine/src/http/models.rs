//! OpenAI's list of models.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::app::App;
use crate::error::OpenAiError;
use crate::llm::{LanguageModel, extractive};

/// Lists the language models: the upstream's own list, or the built-in one.
#[utoipa::path(get, path = "/v1/models", tag = "openai", responses(
    (status = 200, description = "OpenAI's list of models.", body = Object),
    (status = 502, description = "The upstream cannot be reached.", body = Object),
))]
pub async fn list(State(app): State<Arc<App>>) -> Result<Json<Value>, OpenAiError> {
    Ok(Json(match &app.language_model {
        LanguageModel::Upstream(upstream) => upstream.list_models().await?,
        LanguageModel::Extractive => json!({
            "object": "list",
            "data": [{"id": extractive::MODEL, "object": "model", "created": 0, "owned_by": "ragengine",
                      "max_model_len": extractive::WINDOW_TOKENS}],
        }),
        LanguageModel::None => json!({"object": "list", "data": []}),
    }))
}
