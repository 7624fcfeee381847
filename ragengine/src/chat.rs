//! The steps of a chat, in the order of the algorithm. Later steps never call earlier ones.

mod answer;
pub(crate) mod answer_id;
mod answer_stages;
pub(crate) mod answered_event;
mod arrival;
mod begun;
pub(crate) mod cached;
mod citations;
mod closing;
mod context;
mod conversed;
mod conversing;
mod hearing;
mod interactions;
mod kept;
mod no_policy;
mod ongoing;
mod open_turn;
mod passage;
pub(crate) mod question;
mod relay;
mod rewrite;
mod search;
pub(crate) mod served;
mod staged;
mod tokens;
mod upstream_request;

use std::sync::Arc;

pub use answer::{ChatReply, ChatReplyBody};
use arrival::Incoming;
pub use arrival::{Arrival, Way};
use begun::Begun;
use cached::Cached;
pub use cached::Entry;
use ongoing::Ongoing;
pub use open_turn::OpenTurns;
use question::Planned;
use ragengine_pipeline::request::Request;
use upstream_request::{Findings, Known, UpstreamRequest};

use crate::access::Caller;
use crate::admission::Permit;
use crate::app::App;
use crate::error::ApiError;
use crate::language_model::{Origin, SideTasks};

/// Answers a chat.
///
/// # Errors
///
/// [`ApiError`] when the algorithm refuses the request, the index is unknown, or a step fails.
pub async fn chat(app: &App, caller: &Caller, request: Arc<Request>, arrival: Arrival) -> Result<ChatReply, ApiError> {
    let Arrival { mut report, deadline, origin, mut permit, way } = arrival;
    // Boxed here and below, because a large future that is passed by value is copied at each call.
    let preparing = Box::pin(prepare(app, caller, Incoming { request, way }, origin, (&mut report, &mut permit)));
    let mut request = match deadline.keep(app, preparing).await {
        Ok(request) => request,
        Err(error) => return Err(report.failed(error)),
    };
    let (kept, cache) = (request.kept.take(), request.cache);
    let answering = request.span();
    report.asks_in(answering.clone());
    let begun = if request.is_for_endpoint() {
        // The endpoint does the work, so the chat frees its permit while it waits.
        drop(permit);
        Ok(answering.follow(Begun::of(request)).await)
    } else {
        // The built-in model works in this process, so the permit and the deadline apply.
        deadline.keep(app, Box::pin(async { Ok(answering.follow(Begun::of(request)).await) })).await
    };
    match begun {
        Ok(begun) => answer::send(begun, kept, cache, report).await,
        Err(error) => {
            kept.into_iter().for_each(|kept| kept.failed());
            Err(report.failed(error))
        }
    }
}

/// Prepares the request to the language model.
async fn prepare(
    app: &App,
    caller: &Caller,
    incoming: Incoming,
    origin: Origin,
    (report, permit): (&mut Ongoing, &mut Option<Permit>),
) -> Result<UpstreamRequest, ApiError> {
    match question::plan(app, caller, &incoming, report).await? {
        Planned::PassThrough => upstream_request::pass_through(app, incoming.request, origin, report).await,
        // Boxed, to keep the future of a passed-through chat small.
        Planned::Answer(turn) => Box::pin(answer_from_index(app, caller, turn, origin, (report, permit))).await,
    }
}

/// Prepares an answer from an index: budget, cache, search, selection, prompt.
async fn answer_from_index(
    app: &App,
    caller: &Caller,
    turn: question::ChatTurn,
    origin: Origin,
    (report, permit): (&mut Ongoing, &mut Option<Permit>),
) -> Result<UpstreamRequest, ApiError> {
    let asked = question::divide(app, turn, report).await?;
    let side_tasks = SideTasks::new(&app.language_model, asked.served.name.as_deref(), &origin.request_id);
    let (cached, rewritten) = cached::cached_or_rewritten(app, &asked, &side_tasks, permit).await?;
    let label = cached.label();
    asked.count_cache(app, label);
    let ticket = match cached {
        Cached::Hit(entry, keys) => {
            let known = Known { entry, keys, condensed_question: rewritten.condensed };
            return Ok(UpstreamRequest {
                cache: label,
                ..upstream_request::known(app, (&asked, caller), known, report)?
            });
        }
        Cached::Miss(ticket) => Some(ticket),
        Cached::Off | Cached::Bypass => None,
    };
    let found = search::search(app, caller, &asked, (rewritten, side_tasks), report).await?;
    let (vectors, condensed_question) = (found.vectors.clone(), found.condensed_question.clone());
    let context = context::build(app, &asked, found, report).await?;
    let findings = Findings { asked: &asked, caller, vectors, condensed_question, context, ticket };
    Ok(UpstreamRequest { cache: label, ..upstream_request::answer(app, findings, origin, report).await? })
}
