//! OpenAI's chat completions.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use ragengine_client::wire::{ChatCompletion, ChatCompletionRequest, OpenAiError as ErrorBody};
use ragengine_pipeline::openai;

use super::extract;
use crate::access::Caller;
use crate::admission::{Held, Permit};
use crate::app::App;
use crate::chat::{Chat, ChatReply, chat};
use crate::error::OpenAiError;
use crate::telemetry::{Logged, REQUEST_ID};

/// Answers a conversation, from an index when the body has an `index_name`, else by the language model alone.
///
/// The body is OpenAI's, with three more fields: `index_name`, `context_token_ratio` (0.2 to 0.8) and `explain`. Every other field
/// goes to the language model as it is. The reply is the language model's, with `source_nodes`: null when no documents went into it;
/// in a stream it is on the chunk that carries `finish_reason`. With `explain: true` it has an `explanation`, too: what was decided about
/// every chunk, and why.
#[utoipa::path(post, path = "/v1/chat/completions", tag = "openai", request_body = ChatCompletionRequest, responses(
    (status = 200, description = "OpenAI's chat completion with `source_nodes`, or a stream of its chunks.", body = ChatCompletion),
    (status = 400, description = "The request cannot be served as it is.", body = ErrorBody),
    (status = 404, description = "No such index.", body = ErrorBody),
    (status = 429, description = "Too many chats wait already, here or for the language model.", body = ErrorBody),
    (status = 502, description = "The language model is out of reach, or its answer is none.", body = ErrorBody),
    (status = 503, description = "No language model is set, or the server is still loading.", body = ErrorBody),
    (status = 504, description = "The language model takes too long.", body = ErrorBody),
))]
pub async fn chat_completions(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    mut request: Request,
) -> Result<Response, OpenAiError> {
    let request_id = request.headers().get(REQUEST_ID).cloned().unwrap_or(HeaderValue::from_static("none"));
    let permit = request.extensions_mut().remove::<Permit>();
    let room = request.extensions_mut().remove::<Arc<Held>>();
    let body = extract::body(request).await?;
    let asked = Chat { body, read: openai::read, request_id, permit, room };
    let mut response = match chat(&app, &caller, asked).await {
        Ok(reply) => respond(reply),
        Err(error) => OpenAiError(error).into_response(),
    };
    response.extensions_mut().insert(Logged);
    Ok(response)
}

fn respond(reply: ChatReply) -> Response {
    match reply {
        ChatReply::Whole { content_type, body } => ([(header::CONTENT_TYPE, content_type)], body).into_response(),
        ChatReply::Events(events) => {
            let headers = [
                (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
                (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            ];
            (headers, Body::from_stream(events)).into_response()
        }
    }
}
