//! OpenAI's embeddings, by the model that the indexes use.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use ragengine_client::wire::{FieldError, OpenAiError as ErrorBody};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::extract::{self, parse_json};
use crate::app::App;
use crate::embedding::Embedding;
use crate::error::{ApiError, OpenAiError};

/// Texts in one request, as OpenAI has it.
const MAX_INPUTS: usize = 2048;

/// A longer text in proportion to the model's limit is refused before its tokens are counted.
const MAX_BYTES_PER_TOKEN: usize = 64;

/// Texts to embed.
#[derive(Debug, Deserialize, ToSchema)]
pub struct EmbeddingsRequest {
    /// The model's id, or `default`.
    #[serde(default)]
    model: Option<String>,
    /// A text, or up to 2048 of them.
    #[schema(value_type = Object)]
    input: Input,
    /// `float` (the default) or `base64`: 32-bit floats, little endian.
    #[serde(default)]
    encoding_format: Option<Encoding>,
    /// The model's own width, which is the only one that it has.
    #[serde(default)]
    dimensions: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "input must be a string or a list of strings")]
enum Input {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    Float,
    Base64,
}

/// Turns texts into vectors of length 1.
#[utoipa::path(post, path = "/v1/embeddings", tag = "openai", request_body = EmbeddingsRequest, responses(
    (status = 200, description = "OpenAI's list of embeddings.", body = Object),
    (status = 400, description = "The request cannot be served as it is.", body = ErrorBody),
    (status = 404, description = "Another model than the one that the indexes use.", body = ErrorBody),
))]
pub async fn embeddings(State(app): State<Arc<App>>, request: Request) -> Result<Json<Value>, OpenAiError> {
    let body = extract::body(request).await?;
    let request: EmbeddingsRequest = parse_json(&body)?;
    let embedding = &app.loaded()?.embedding;
    let texts = checked(request.input)?;
    let asked = request.model.as_deref().unwrap_or("default");
    if asked != "default" && asked != embedding.model_id() {
        let message = format!("The model '{asked}' does not exist: use '{}' or 'default'.", embedding.model_id());
        return Err(ApiError::NotFound(message).into());
    }
    if let Some(asked) = request.dimensions.filter(|asked| *asked != embedding.dimensions()) {
        return Err(ApiError::Meaning(format!("dimensions must be {}, not {asked}", embedding.dimensions())).into());
    }
    let max_bytes = embedding.max_passage_tokens().saturating_mul(MAX_BYTES_PER_TOKEN);
    if let Some(long) = texts.iter().find(|text| text.len() > max_bytes) {
        return Err(ApiError::Meaning(format!(
            "an input has {} bytes, which no {asked} model reads at once",
            long.len()
        ))
        .into());
    }
    let tokens: usize = texts.iter().map(|text| embedding.count_tokens(text)).sum();
    let vectors = embedding.embed_passages(texts).await?;
    let encode =
        if request.encoding_format == Some(Encoding::Base64) { base64_floats } else { |vector: &[f32]| json!(vector) };
    let data: Vec<Value> = vectors
        .iter()
        .enumerate()
        .map(|(position, vector)| json!({"object": "embedding", "index": position, "embedding": encode(vector)}))
        .collect();
    Ok(Json(reply(embedding, data, tokens)))
}

fn reply(embedding: &Embedding, data: Vec<Value>, tokens: usize) -> Value {
    json!({
        "object": "list",
        "data": data,
        "model": embedding.model_id(),
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    })
}

fn checked(input: Input) -> Result<Vec<String>, ApiError> {
    let texts = match input {
        Input::One(text) => vec![text],
        Input::Many(texts) => texts,
    };
    let wrong = |msg: String| {
        ApiError::Schema(vec![FieldError {
            loc: vec![Value::from("body"), Value::from("input")],
            msg,
            kind: "bounds".to_owned(),
        }])
    };
    match texts.len() {
        0 => Err(wrong("must hold at least one text".to_owned())),
        count if count > MAX_INPUTS => Err(wrong(format!("holds {count} texts, which is more than {MAX_INPUTS}"))),
        _ if texts.iter().any(|text| text.trim().is_empty()) => Err(wrong("holds an empty text".to_owned())),
        _ => Ok(texts),
    }
}

/// What OpenAI's own client asks for.
fn base64_floats(vector: &[f32]) -> Value {
    use base64::Engine as _;
    let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
    Value::from(base64::engine::general_purpose::STANDARD.encode(bytes))
}
