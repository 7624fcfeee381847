//! `POST /v1/embeddings`, with the embedding model of the indexes.

mod input;

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use ragengine_client::wire::OpenAiError as ErrorBody;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use self::input::Input;
use super::{extract, reply};
use crate::access::{Action, Caller, may};
use crate::app::App;
use crate::embedding::in_embedding_span;
use crate::error::{ApiError, OpenAiError};
use ragengine_compute::{self as compute, Waiter};
use ragengine_index::IndexError;

/// Longer texts, in bytes per token of the model's limit, are refused without counting their tokens.
const MAX_BYTES_PER_TOKEN: usize = 64;

/// Texts to embed.
#[derive(Debug, Deserialize, ToSchema)]
pub struct EmbeddingsRequest {
    /// The model's id, or `default`.
    #[serde(default)]
    model: Option<String>,
    /// A text, or a list of up to 2048 texts.
    #[schema(value_type = Object)]
    input: Input,
    /// `float` (the default) or `base64`: 32-bit floats, little endian.
    #[serde(default)]
    encoding_format: Option<Encoding>,
    /// The dimensions of the model's vectors. No other value is supported.
    #[serde(default)]
    dimensions: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    Float,
    Base64,
}

impl Encoding {
    /// Approximate size of one value in the reply.
    fn bytes_per_value(self) -> usize {
        match self {
            Self::Float => 14,
            Self::Base64 => 6,
        }
    }
}

/// Turns texts into vectors of length 1.
#[utoipa::path(post, path = "/v1/embeddings", tag = "openai", request_body = EmbeddingsRequest, responses(
    (status = 200, description = "OpenAI's list of embeddings.", body = Object),
    (status = 400, description = "The request is invalid.", body = ErrorBody),
    (status = 404, description = "The model is not the embedding model of this server.", body = ErrorBody),
))]
pub async fn embeddings(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, OpenAiError> {
    may(&caller, Action::Read, None)?;
    let request: EmbeddingsRequest = extract::json(request).await?;
    let embedding = &app.loaded()?.embedding;
    let texts = request.input.texts()?;
    let asked = request.model.as_deref().unwrap_or("default");
    if asked != "default" && asked != embedding.model_id() {
        let message = format!("The model '{asked}' does not exist: use '{}' or 'default'.", embedding.model_id());
        return Err(ApiError::NotFound(message).into());
    }
    if let Some(asked) = request.dimensions.filter(|asked| *asked != embedding.dimensions()) {
        return Err(
            ApiError::InvalidRequest(format!("dimensions must be {}, not {asked}", embedding.dimensions())).into()
        );
    }
    let max_bytes = embedding.max_passage_tokens().saturating_mul(MAX_BYTES_PER_TOKEN);
    if let Some(long) = texts.iter().find(|text| text.len() > max_bytes) {
        return Err(ApiError::InvalidRequest(format!(
            "an input has {} bytes, which is too long for {asked}",
            long.len()
        ))
        .into());
    }
    let (counter, max_tokens) = (embedding.clone(), app.settings.limits.max_embedding_tokens as usize);
    let count = move |caller: &Waiter| {
        let tokens = count_within(&texts, max_tokens, caller, |text| counter.count_tokens(text))?;
        Ok::<_, ApiError>((texts, tokens))
    };
    let (texts, tokens) = compute::run_on_thread(count).await?;
    let vectors = in_embedding_span(embedding, async { Ok(embedding.embed_passages(texts).await?) }).await?;
    let encoding = request.encoding_format.unwrap_or(Encoding::Float);
    let model = embedding.model_id().to_owned();
    let about_bytes = vectors.iter().map(|vector| vector.len() * encoding.bytes_per_value()).sum();
    let write = move |_: &_| reply::written(&List::of(&vectors, encoding, &model, tokens), about_bytes);
    Ok(reply::of_bytes(compute::run(about_bytes, write).await?))
}

/// Counts the tokens of all texts. Stops early if they exceed the limit or the client has disconnected.
fn count_within(
    texts: &[String],
    max_tokens: usize,
    caller: &Waiter,
    count: impl Fn(&str) -> usize,
) -> Result<usize, ApiError> {
    let mut tokens = 0;
    for text in texts {
        if caller.has_left() {
            return Err(IndexError::ShuttingDown.into());
        }
        tokens += count(text);
        if tokens > max_tokens {
            return Err(ApiError::InvalidRequest(format!(
                "the texts have more than {max_tokens} tokens in total: send them in several requests, or raise \
                 limits.maxEmbeddingTokens"
            )));
        }
    }
    Ok(tokens)
}

/// OpenAI's list of embeddings.
#[derive(Serialize)]
struct List<'a> {
    object: &'static str,
    data: Vec<Item<'a>>,
    model: &'a str,
    usage: TokenUsage,
}

#[derive(Serialize)]
struct TokenUsage {
    prompt_tokens: usize,
    total_tokens: usize,
}

#[derive(Serialize)]
struct Item<'a> {
    object: &'static str,
    index: usize,
    embedding: Encoded<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Encoded<'a> {
    Floats(&'a [f32]),
    Base64(String),
}

impl<'a> List<'a> {
    fn of(vectors: &'a [Vec<f32>], encoding: Encoding, model: &'a str, tokens: usize) -> Self {
        let encode = |vector: &'a Vec<f32>| match encoding {
            Encoding::Float => Encoded::Floats(vector),
            Encoding::Base64 => Encoded::Base64(base64_floats(vector)),
        };
        let items = vectors.iter().enumerate();
        let data =
            items.map(|(index, vector)| Item { object: "embedding", index, embedding: encode(vector) }).collect();
        Self { object: "list", data, model, usage: TokenUsage { prompt_tokens: tokens, total_tokens: tokens } }
    }
}

/// Encodes 32-bit floats, little-endian, as base64. OpenAI's client requests this format.
fn base64_floats(vector: &[f32]) -> String {
    use base64::Engine as _;
    let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
