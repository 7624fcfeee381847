//! `POST /v1/chat/completions`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use ragengine_client::wire::{ChatCompletion, ChatCompletionRequest, OpenAiError as ErrorBody};
use ragengine_pipeline::openai;
use ragengine_pipeline::request::Request as ChatRequest;

use super::chat_reply::{arrive, respond};
use crate::access::Caller;
use crate::app::App;
use crate::chat::chat;
use crate::error::{ApiError, OpenAiError};
use crate::retrieval::stages::Endpoint;
use crate::telemetry::Logged;

/// Answers a conversation: from an index if the body has an `index_name`, otherwise by the language model alone.
///
/// The body is OpenAI's, with eight more fields: `index_name`, `context_token_ratio` (0.2 to 0.8), `metadata_filter`,
/// `pipeline`, `chat_mode`, `citations`, `rag_with_tools` and `explain`. All other fields are passed to the language
/// model unchanged. The reply is the language model's, with `source_nodes`, which is null if no documents were used. In
/// a stream it is in the chunk with `finish_reason`. With `explain: true` the reply also has an `explanation`, which
/// says for each chunk whether it was used, and why.
#[utoipa::path(post, path = "/v1/chat/completions", tag = "openai", request_body = ChatCompletionRequest, responses(
    (status = 200, description = "OpenAI's chat completion with `source_nodes`, or a stream of its chunks.",
        body = ChatCompletion),
    (status = 400, description = "The request is invalid.", body = ErrorBody),
    (status = 404, description = "No such index.", body = ErrorBody),
    (status = 429, description = "Too many chats are waiting, for this server or for the language model.",
        body = ErrorBody),
    (status = 502, description = "The language model cannot be reached, or its reply is invalid.", body = ErrorBody),
    (status = 503, description = "No language model is set, or the server is still loading.", body = ErrorBody),
    (status = 504, description = "The language model did not reply in time.", body = ErrorBody),
))]
pub async fn chat_completions(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, OpenAiError> {
    let (arrival, body) = arrive(&app, Endpoint::Completions, request).await?;
    let replied = async {
        let (arrival, request) = arrival.read(&app, parsed(body)).await?;
        chat(&app, &caller, request, arrival).await
    };
    let mut response = match replied.await {
        Ok(reply) => respond(reply),
        Err(error) => OpenAiError(error).into_response(),
    };
    response.extensions_mut().insert(Logged);
    Ok(response)
}

/// Parses a body. A long one is parsed on a compute thread, so that it does not block other requests.
async fn parsed(body: Bytes) -> Result<Arc<ChatRequest>, ApiError> {
    ragengine_compute::run(body.len(), move |_| Ok(Arc::new(openai::read(body)?))).await
}
