//! Questions of a conversation: the session is joined, its history becomes a part of the chat, and the chat keeps the
//! turn.

mod history;
pub(crate) mod index_name;
mod model;
mod session;
mod window_log;

use std::sync::Arc;
use std::time::Instant;

use ragengine_client::wire::{ExplainedStage, Metadata, PipelineStages};
use ragengine_pipeline::Rejection;
use ragengine_pipeline::request::{Request, Reranking, StageChoices};
use ragengine_settings::WhenDown;
use ragengine_stores::{SessionKey, SessionStore};
use tracing::info;

use self::history::History;
pub use self::session::{SessionId, clear, shown};
pub use self::window_log::{WindowLog, at_start};
use crate::access::{Action, Caller};
use crate::app::App;
use crate::chat::answered_event::question_submitted;
use crate::chat::question::{check, default_top_k};
use crate::chat::served::Served;
use crate::chat::{Arrival, ChatReply, OpenTurns, chat};
use crate::error::ApiError;
use crate::retrieval::stages::{self, Endpoint, passed};

/// A conversation, as a question found it.
pub struct Conversation {
    /// The id of the session.
    pub session_id: SessionId,
    /// Where the turn is kept. None: the store cannot be used now.
    pub place: Option<Place>,
    /// What joining the session did.
    pub stage: ExplainedStage,
}

/// The place of a turn in its session.
#[derive(Clone)]
pub struct Place {
    /// The store of the sessions.
    pub store: Arc<SessionStore>,
    /// The session.
    pub key: SessionKey,
    /// The number of the turn.
    pub seq: u64,
    /// Where the turn is until its answer is finished.
    pub open_turns: Arc<OpenTurns>,
}

/// A question to `/query` or `/chat`.
#[derive(Debug, Clone)]
pub struct Question {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The question.
    pub query: String,
    /// The session that the request names.
    pub session_id: Option<String>,
    /// The index that the request names.
    pub index_name: Option<String>,
    /// The number of chunks that the request asks for.
    pub top_k: Option<usize>,
    /// The model that the request names.
    pub model: Option<String>,
    /// The documents that may be used.
    pub metadata_filter: Option<Metadata>,
    /// Stages of the pipeline to turn on or off.
    pub pipeline: Option<PipelineStages>,
    /// Whether the reply explains the decision about every chunk.
    pub explain: bool,
    /// Whether the answer is streamed.
    pub stream: bool,
}

/// Answers a question.
///
/// # Errors
///
/// [`ApiError`] when the question, the session id, the model or the index is invalid, the store is down and the settings
/// say to refuse then, or as for [`chat`].
pub async fn answer(app: &App, caller: &Caller, question: Question, arrival: Arrival) -> Result<ChatReply, ApiError> {
    let top_k = question.top_k;
    let preparing = Box::pin(prepare(app, caller, question));
    let (arrival, (request, conversation)) = arrival.read(app, preparing).await?;
    chat(app, caller, request, arrival.looking_for(top_k).in_conversation(conversation)).await
}

/// Joins the session if there is one, and makes the chat request with its history.
async fn prepare(
    app: &App,
    caller: &Caller,
    mut question: Question,
) -> Result<(Arc<Request>, Option<Conversation>), ApiError> {
    if question.query.trim().is_empty() {
        return Err(ApiError::InvalidRequest("Query string cannot be empty.".to_owned()));
    }
    // `/query` begins a session for a question without one. `/chat` answers it without a history.
    let has_session = question.endpoint == Endpoint::Query || question.session_id.is_some();
    let session_id = has_session.then(|| SessionId::of(question.session_id.as_deref())).transpose()?;
    let loaded = app.loaded()?;
    let index = index_name::chosen(app, caller, question.index_name.as_deref()).await?;
    loaded.index(caller, Action::Read, &index).await?;
    question.model = model::chosen(app, caller, question.endpoint, question.model.take()).await?;
    let served = Served::of(app, loaded, question.model.as_deref()).await?;
    let question_tokens = checked(app, caller, &question, &index, &served).await?;
    publish(app, caller, &question, session_id.as_ref(), served.name.as_deref());
    if question.model.is_none() {
        app.window_log.note(&app.settings, served.name.as_deref(), served.window_tokens);
    }
    let Some(session_id) = session_id else {
        stages::count(&app.metrics, question.endpoint, "session", &[]);
        let request = History::default().request(app, question, index).await?;
        return Ok((request, None));
    };
    let started = Instant::now();
    let joined = session::join(app, caller, &session_id, served.window_tokens).await;
    let outcome = joined.as_ref().err().map_or("done", |down| down.outcome());
    let (place, turns) = match joined {
        Ok(joined) => (Some(joined.place), joined.turns),
        Err(down) if app.settings.sessions.when_down == WhenDown::Refuse => {
            stages::count(&app.metrics, question.endpoint, "session", &[passed("session", outcome, started.elapsed())]);
            return Err(down.refused());
        }
        Err(down) => {
            down.log();
            (None, Vec::new())
        }
    };
    let history = History::fitting(app, &served, (&question, question_tokens), turns).await?;
    let stage = ExplainedStage {
        turns: Some(history.turns.len()),
        tokens: Some(history.tokens),
        ..passed("session", outcome, started.elapsed())
    };
    stages::count(&app.metrics, question.endpoint, "session", std::slice::from_ref(&stage));
    let (endpoint, top_k) = (question.endpoint, question.top_k);
    let request = history.request(app, question, index).await?;
    log_request(app, endpoint, top_k, &request.stages, &session_id);
    Ok((request, Some(Conversation { session_id, place, stage })))
}

/// Publishes the event about a question, unless the request or the settings turn it off. It names the session and the
/// model of the answer, also those that the request leaves to the server.
fn publish(app: &App, caller: &Caller, question: &Question, session_id: Option<&SessionId>, model: Option<&str>) {
    let endpoints = &app.settings.endpoints;
    let by_default = if question.endpoint == Endpoint::Chat { endpoints.chat.events } else { endpoints.query.events };
    let chosen = question.pipeline.as_ref().and_then(|pipeline| pipeline.events);
    if chosen.unwrap_or(by_default) {
        question_submitted(app, caller, &question.query, session_id.map(SessionId::as_str), model);
    }
}

/// Checks a question without its history, and counts its tokens. A question that is refused must not make a session,
/// which would push out another.
async fn checked(
    app: &App,
    caller: &Caller,
    question: &Question,
    index: &str,
    served: &Served,
) -> Result<u64, ApiError> {
    let alone = History::default().request(app, question.clone(), index.to_owned()).await?;
    check(app, caller, &alone)?;
    let tokens = served.conversation(&alone).await?.tokens;
    if tokens >= served.window_tokens {
        return Err(Rejection::ContextWindow.into());
    }
    Ok(tokens)
}

/// Logs how many chunks a question looks for, whether they are reranked, and the beginning of its session's id.
fn log_request(app: &App, endpoint: Endpoint, top_k: Option<usize>, choices: &StageChoices, session_id: &SessionId) {
    let is_reranked = endpoint.stages(&app.settings, choices).rerank != Reranking::Never;
    let enabled = if is_reranked { "True" } else { "False" };
    let top_k = top_k.unwrap_or_else(|| default_top_k(&app.settings, endpoint));
    info!("[RAG] Using retrieval_top_k={top_k}, reranker_enabled={enabled}, session_id={}...", session_id.beginning());
}
