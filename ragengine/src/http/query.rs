//! `POST /query`, `GET /chat/history/{session_id}` and `POST /chat/clear`.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use ragengine_client::wire::{ChatHistory, ClearChat, ClearedChat, ErrorDetail, QueryReply, QueryRequest};
use ragengine_stores::Turn;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::chat_reply::{arrive, respond};
use super::extract::{self, JsonBody, PathParameters};
use super::reply;
use crate::access::{Action, Caller, may, sees};
use crate::app::App;
use crate::converse::{self, Question, SessionId};
use crate::error::{ApiError, PlainError};
use crate::retrieval::stages::Endpoint;
use crate::telemetry::Logged;

/// Initial size of the buffer for a history.
const ABOUT_BYTES: usize = 16 << 10;

/// Answers a question of a conversation, from an index and from the conversation's history.
///
/// The question and the history become a question that needs no history, which is searched for. The language model gets
/// both, so it also answers questions about the conversation. The reply has the answer and its sources.
#[utoipa::path(post, path = "/query", tag = "conversations", request_body = QueryRequest, responses(
    (status = 200, description = "The answer, or a stream of the events `token`, and `done` or `error`.",
        body = QueryReply),
    (status = 400, description = "The question, the session id, the index or the filter is invalid.",
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
pub async fn query(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, PlainError> {
    let (arrival, body) = arrive(&app, Endpoint::Query, request).await?;
    let replied = async {
        let parsing = ragengine_compute::run(body.len(), move |_| extract::parse_json::<QueryRequest>(&body));
        let (arrival, question) = arrival.read(&app, parsing).await?;
        converse::answer(&app, &caller, of_query(question), arrival).await
    };
    let mut response = match replied.await {
        Ok(reply) => respond(reply),
        Err(error) => PlainError(error).into_response(),
    };
    response.extensions_mut().insert(Logged);
    Ok(response)
}

fn of_query(request: QueryRequest) -> Question {
    Question {
        endpoint: Endpoint::Query,
        query: request.query,
        session_id: request.session_id,
        index_name: request.index_name,
        top_k: None,
        model: None,
        metadata_filter: request.metadata_filter,
        pipeline: request.pipeline,
        explain: request.explain,
        stream: request.stream,
    }
}

/// Lists the messages of a conversation.
#[utoipa::path(get, path = "/chat/history/{session_id}", tag = "conversations",
    params(("session_id" = String, Path, description = "The conversation.")), responses(
    (status = 200, description = "The messages, in order. An unknown conversation has none.", body = ChatHistory),
    (status = 400, description = "The session id is invalid.", body = ErrorDetail),
    (status = 429, description = "Other conversations are being listed. Try again later.", body = ErrorDetail),
    (status = 503, description = "The store cannot be used now.", body = ErrorDetail),
))]
pub async fn history(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters(session_id): PathParameters<String>,
) -> Result<Response, PlainError> {
    let id = SessionId::of(Some(&session_id))?;
    may(&caller, Action::Read, None).map_err(ApiError::from)?;
    let turns = converse::shown(&app, &caller, &id).await?;
    let bytes = turns.iter().map(|turn| turn.question.len() + turn.answer.len() + turn.sources.len()).sum();
    let write = move |_: &_| {
        // The caller may have lost the right to read an index since.
        let sees = |index: &str| sees(&caller, index);
        let messages = turns.iter().flat_map(|turn| messages(turn, sees)).collect();
        reply::written(&WrittenHistory { session_id: id, messages }, ABOUT_BYTES)
    };
    Ok(reply::of_bytes(ragengine_compute::run(bytes, write).await?))
}

/// Clears a conversation. Its later questions begin a new one.
#[utoipa::path(post, path = "/chat/clear", tag = "conversations", request_body = ClearChat, responses(
    (status = 200, description = "The conversation is cleared, or was unknown.", body = ClearedChat),
    (status = 400, description = "The session id is invalid.", body = ErrorDetail),
    (status = 422, description = "The body does not match the schema.", body = ErrorDetail),
    (status = 503, description = "The store cannot be used now.", body = ErrorDetail),
))]
pub async fn clear(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    JsonBody(request): JsonBody<ClearChat>,
) -> Result<Json<ClearedChat>, PlainError> {
    let id = SessionId::of(Some(&request.session_id))?;
    may(&caller, Action::Read, None).map_err(ApiError::from)?;
    converse::clear(&app, &caller, &id).await?;
    let message = format!("Chat history cleared for session {id}");
    Ok(Json(ClearedChat { status: "success".to_owned(), message }))
}

/// [`ChatHistory`], whose sources are written as they are stored.
#[derive(Serialize)]
struct WrittenHistory<'a> {
    session_id: SessionId,
    messages: Vec<WrittenMessage<'a>>,
}

/// [`HistoryMessage`].
#[derive(Default, Serialize)]
struct WrittenMessage<'a> {
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<Vec<&'a RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    complete: Option<bool>,
}

/// The index of a source.
#[derive(Deserialize)]
struct OfIndex<'a> {
    #[serde(borrow)]
    index_name: Cow<'a, str>,
}

/// The question and the answer of a turn, with the sources of the indexes that the caller `sees`.
fn messages(turn: &Turn, sees: impl Fn(&str) -> bool) -> [WrittenMessage<'_>; 2] {
    let is_seen =
        |source: &&RawValue| serde_json::from_str(source.get()).is_ok_and(|OfIndex { index_name }| sees(&index_name));
    let sources: Option<Vec<&RawValue>> = serde_json::from_str(&turn.sources).ok();
    let question = WrittenMessage { role: "user", content: &turn.question, ..WrittenMessage::default() };
    let answer = WrittenMessage {
        role: "assistant",
        content: &turn.answer,
        sources: sources.map(|sources| sources.into_iter().filter(is_seen).collect()),
        answer_id: turn.answer_id.as_deref(),
        complete: (!turn.complete).then_some(false),
    };
    [question, answer]
}

#[cfg(test)]
mod tests {
    use ragengine_client::wire::{HistoryMessage, QuerySource};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_turn_is_two_messages() {
        let turn = Turn {
            question: "Why?".to_owned(),
            answer: "So.".to_owned(),
            sources:
                r#"[{"number":1,"index_name":"i","doc_id":"a","node_id":"n","text":"t","score":0.5,"metadata":{}}]"#
                    .to_owned(),
            answer_id: Some("6f1e".to_owned()),
            complete: true,
            ..Turn::default()
        };
        let written = json!(messages(&turn, |index| index == "i"));
        let read: Vec<HistoryMessage> = serde_json::from_value(written).unwrap();
        let source = QuerySource {
            number: 1,
            index_name: "i".into(),
            doc_id: "a".into(),
            node_id: "n".into(),
            text: "t".into(),
            score: 0.5,
            ..QuerySource::default()
        };
        assert_eq!(
            read[0],
            HistoryMessage { role: "user".into(), content: "Why?".into(), ..HistoryMessage::default() }
        );
        let answer = HistoryMessage {
            role: "assistant".into(),
            content: "So.".into(),
            sources: Some(vec![source]),
            answer_id: Some("6f1e".into()),
            complete: None,
        };
        assert_eq!(read[1], answer);
        assert_eq!(json!(messages(&turn, |_| false)[1])["sources"], json!([]));
        let cut = Turn { complete: false, sources: "[]".into(), ..Turn::default() };
        assert_eq!(json!(messages(&cut, |_| true)[1])["complete"], json!(false));
    }
}
