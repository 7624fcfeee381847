//! What a chat asks: whether it is answered from an index, by which model, with how many tokens of context, and its vectors.

use std::sync::Arc;

use ragengine_embedding::{Embedding, Windows};
use ragengine_index::Index;
use ragengine_index::filter::Filter;
use ragengine_index::search::Query;
use ragengine_pipeline::budget::{Budget, Given, budget};
use ragengine_pipeline::plan::{Plan, Turn, plan as decide};
use ragengine_pipeline::request::Request;
use serde_json::Value;

use super::Chat;
use super::ongoing::Ongoing;
use super::served::{self, Served};
use crate::access::{Action, Caller, may};
use crate::app::App;
use crate::error::ApiError;
use crate::report::Stage;
use crate::retrieval::question::{self, Asker};

/// What happens to a request.
pub(super) enum Planned {
    /// It goes to the language model as it is.
    PassThrough,
    /// It is answered from an index.
    Answer(ChatTurn),
}

/// A request that is answered from an index.
pub(super) struct ChatTurn {
    request: Arc<Request>,
    turn: Turn,
    index: Arc<Index>,
}

/// A question, and everything that its answer depends on.
pub(super) struct Asked {
    /// The request.
    pub request: Arc<Request>,
    /// Its messages as they were sent.
    pub sent: Vec<Value>,
    /// Its question and history.
    pub turn: Turn,
    /// Where the answer is looked for.
    pub index: Arc<Index>,
    /// The model of the index's vectors.
    pub embedding: Embedding,
    /// The language model that answers.
    pub served: Served,
    /// The conversation without context.
    pub conversation_tokens: u64,
    /// The division of the window.
    pub budget: Budget,
    /// The threshold.
    pub max_distance: f32,
}

impl Asked {
    /// What is looked for in the index.
    pub fn query(&self, vectors: &Windows) -> Query {
        Query { vectors: vectors.clone(), top_k: self.budget.top_k, filter: Filter::default() }
    }
}

/// Reads the request. A long one is read apart from the threads that serve.
pub(super) async fn read(chat: &Chat) -> Result<Arc<Request>, ApiError> {
    let (body, read) = (chat.body.clone(), chat.read);
    ragengine_compute::run(chat.body.len(), move |_| Ok(Arc::new(read(body)?))).await
}

/// Whether the request may be served, and how.
pub(super) async fn plan(
    app: &App,
    caller: &Caller,
    request: &Arc<Request>,
    report: &mut Ongoing,
) -> Result<Planned, ApiError> {
    report.was_read(request, |model| app.language_model.knows(model));
    require_explainable(app, request)?;
    app.language_model.require_allowed(served::asked_models(request))?;
    let index = match &request.index_name {
        Some(name) => Some(app.loaded()?.catalog.get(name)?),
        None => None,
    };
    if let Some(index) = &index {
        may(caller, Action::Read, Some(index.name()))?;
        report.is_about(index);
    }
    match (decided(request).await?, index) {
        (Plan::Retrieve(turn), Some(index)) => {
            Ok(Planned::Answer(ChatTurn { request: Arc::clone(request), turn, index }))
        }
        (Plan::PassThrough(bypass), _) => {
            report.passes_through(bypass.reason());
            report.stage_ends(Stage::Plan);
            Ok(Planned::PassThrough)
        }
        (Plan::Retrieve(_), None) => {
            Err(ApiError::Internal("a request without an index was planned to use one".to_owned()))
        }
    }
}

/// What happens to a request. Of a long one it is decided apart from the threads that serve, because the question is put together for it.
async fn decided(request: &Arc<Request>) -> Result<Plan, ApiError> {
    let (bytes, request) = (request.body.bytes().len(), Arc::clone(request));
    ragengine_compute::run(bytes, move |_| Ok(decide(&request)?)).await
}

/// The model that answers, and how its window is divided.
pub(super) async fn divide(app: &App, turn: ChatTurn, report: &mut Ongoing) -> Result<Arc<Asked>, ApiError> {
    let ChatTurn { request, turn, index } = turn;
    let loaded = app.loaded()?;
    let embedding = loaded.generations.embedding_of(&index)?;
    let served = Served::of(app, loaded, &request).await?;
    let (sent, conversation_tokens) = served.conversation(&request).await?;
    let model = served.name.as_deref().filter(|model| app.language_model.knows(model));
    report.was_counted(served.counter.kind(), model, served.window_tokens, conversation_tokens);
    let retrieval = &app.settings.retrieval;
    let budget = budget(&Given {
        window: served.window_tokens,
        conversation: conversation_tokens,
        max_tokens: request.max_tokens,
        context_token_ratio: request.context_token_ratio.unwrap_or(retrieval.context_token_ratio),
        min_top_k: retrieval.min_top_k as usize,
        tokens_per_chunk: u64::from(retrieval.tokens_per_chunk),
    })?;
    let max_distance = retrieval.max_distance;
    report.was_divided(&budget, max_distance);
    report.stage_ends(Stage::Plan);
    Ok(Arc::new(Asked { request, sent, turn, index, embedding, served, conversation_tokens, budget, max_distance }))
}

/// The question's vectors.
pub(super) async fn embed(app: &App, asked: &Asked, report: &mut Ongoing) -> Result<Windows, ApiError> {
    let vectors = question::embed(app, &asked.embedding, &asked.turn.user_prompt, Asker::Chat).await?;
    report.was_embedded(vectors.count());
    report.stage_ends(Stage::Embed);
    Ok(vectors)
}

fn require_explainable(app: &App, request: &Request) -> Result<(), ApiError> {
    match request.explain && !app.settings.chat.explain {
        true => {
            Err(ApiError::Meaning("explain is switched off on this server (chat.explain in its settings)".to_owned()))
        }
        false => Ok(()),
    }
}
