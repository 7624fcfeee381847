//! `POST /chat`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use ragengine_client::wire::{ChatReply, ChatRequest, ErrorDetail};

use super::chat_reply::{arrive, respond};
use super::extract::{self, out_of_bounds};
use crate::access::Caller;
use crate::app::App;
use crate::converse::{self, Question};
use crate::error::{ApiError, PlainError};
use crate::retrieval::stages::Endpoint;
use crate::telemetry::Logged;

/// The most chunks of one question.
const MAX_TOP_K: usize = 300;

/// Answers a question from an index only, and cites the passages.
///
/// Numbers of passages that do not exist are removed from the answer, and the others are renumbered in the order in which
/// they appear. An answer that cites nothing is replaced by the setting `citations.fallbackMessage`. If nothing is found,
/// the language model is not asked.
#[utoipa::path(post, path = "/chat", tag = "conversations", request_body = ChatRequest, responses(
    (status = 200, description = "The answer, or a stream of the events `token`, and `done` or `error`.",
        body = ChatReply),
    (status = 400, description = "The question, the session id, the model, the index or the filter is invalid.",
        body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
    (status = 422, description = "The body does not match the schema.", body = ErrorDetail),
    (status = 429, description = "Too many chats are waiting, for this server or for the language model.",
        body = ErrorDetail),
    (status = 502, description = "The language model cannot be reached, or its reply is invalid.", body = ErrorDetail),
    (status = 503, description = "No language model is set, the server is still loading, or the conversation cannot be \
        read and `sessions.whenDown` is `refuse`.", body = ErrorDetail),
    (status = 504, description = "The language model did not reply in time.", body = ErrorDetail),
))]
pub async fn chat(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, PlainError> {
    let (arrival, body) = arrive(&app, Endpoint::Chat, request).await?;
    let replied = async {
        let parsing = ragengine_compute::run(body.len(), move |_| extract::parse_json::<ChatRequest>(&body));
        let (arrival, request) = arrival.read(&app, async { question(parsing.await?) }).await?;
        converse::answer(&app, &caller, request, arrival).await
    };
    let mut response = match replied.await {
        Ok(reply) => respond(reply),
        Err(error) => PlainError(error).into_response(),
    };
    response.extensions_mut().insert(Logged);
    Ok(response)
}

fn question(request: ChatRequest) -> Result<Question, ApiError> {
    if request.top_k.is_some_and(|top_k| !(1..=MAX_TOP_K).contains(&top_k)) {
        return Err(out_of_bounds(["body", "top_k"], "between 1 and 300"));
    }
    Ok(Question {
        endpoint: Endpoint::Chat,
        query: request.query,
        session_id: request.session_id,
        index_name: request.index_name,
        top_k: request.top_k,
        model: request.model_id,
        metadata_filter: request.metadata_filter,
        pipeline: request.pipeline,
        explain: request.explain,
        stream: request.stream,
    })
}
