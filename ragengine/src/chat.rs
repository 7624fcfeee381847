//! The driver of a chat: it reads from top to bottom as the algorithm does. Nothing later calls anything earlier.

mod answer;
mod context;
mod errand;
mod ongoing;
mod question;
mod relay;
mod served;
mod tokens;

use std::sync::Arc;

pub use answer::ChatReply;
use axum::http::HeaderValue;
use bytes::Bytes;
use errand::{Errand, Findings};
use ongoing::Ongoing;
use question::Planned;
use ragengine_pipeline::Rejection;
use ragengine_pipeline::request::Request;

use crate::access::Caller;
use crate::admission::{Held, Permit, Work};
use crate::app::App;
use crate::error::ApiError;
use crate::report::Stage;
use crate::retrieval;

/// A chat as it was sent.
pub struct Chat {
    /// The body.
    pub body: Bytes,
    /// How its protocol reads it.
    pub read: fn(Bytes) -> Result<Request, Rejection>,
    /// The id of the request.
    pub request_id: HeaderValue,
    /// The right to work, which it has until the language model is asked.
    pub permit: Option<Permit>,
    /// The room that its body takes, until the language model has it.
    pub room: Option<Arc<Held>>,
}

/// Answers a chat.
///
/// # Errors
///
/// [`ApiError`]: what the algorithm refuses, an unknown index, or a part that fails.
pub async fn chat(app: &App, caller: &Caller, mut chat: Chat) -> Result<ChatReply, ApiError> {
    let mut report = Ongoing::begin(&app.metrics, &chat.request_id);
    let permit = chat.permit.take();
    let prepared = in_time(app, prepare(app, caller, chat, &mut report)).await;
    let begun = match prepared {
        // Nobody waits for a language model that another asks, and what waits for it holds no more than what it sends.
        Ok(errand) if errand.is_for_upstream() => {
            drop(permit);
            Ok(errand.begin().await)
        }
        Ok(errand) => in_time(app, async { Ok(errand.begin().await) }).await,
        Err(error) => Err(error),
    };
    match begun {
        Ok(begun) => answer::send(begun, report).await,
        Err(error) => Err(report.failed(error)),
    }
}

/// Everything before the language model is asked.
async fn prepare(app: &App, caller: &Caller, chat: Chat, report: &mut Ongoing) -> Result<Errand, ApiError> {
    let request = question::read(&chat).await?;
    match question::plan(app, caller, &request, report).await? {
        Planned::PassThrough => errand::pass_through(app, chat, request, report).await,
        // Boxed, so that a chat that is passed through does not carry the room for this one around.
        Planned::Answer(turn) => Box::pin(answer_from_index(app, caller, chat, turn, report)).await,
    }
}

/// An answer from an index: budget, question, search, selection, prompt.
async fn answer_from_index(
    app: &App,
    caller: &Caller,
    chat: Chat,
    turn: question::ChatTurn,
    report: &mut Ongoing,
) -> Result<Errand, ApiError> {
    let asked = question::divide(app, turn, report).await?;
    let vectors = question::embed(app, &asked, report).await?;
    let candidates = retrieval::retrieve(app.loaded()?, caller, &asked.index, asked.query(&vectors)).await?;
    report.stage_ends(Stage::Search);
    let context = context::build(app.loaded()?, &asked, candidates, report).await?;
    errand::answer(app, chat, Findings { asked: &asked, vectors, context }, report).await
}

async fn in_time<T>(app: &App, work: impl Future<Output = Result<T, ApiError>>) -> Result<T, ApiError> {
    let done = app.admission.in_time(Work::Chat, work).await;
    done.inspect_err(|late| app.admission.refused(Work::Chat, late))?
}
