//! The question of a chat: whether an index is used, which language model answers, and the token budget.

use std::sync::Arc;
use std::time::Duration;

use ragengine_embedding::Embedding;
use ragengine_engine::Index;
use ragengine_guardrails::Policy;
use ragengine_pipeline::budget::{Budget, BudgetInput, Limit, Shares, budget, shares};
use ragengine_pipeline::plan::{Plan, Turn, plan as decide};
use ragengine_pipeline::request::{ChatMode, Condensing, ContextFormat, HistoryFormat, Request};
use ragengine_settings::Settings;
use serde_json::Value;

use super::arrival::{Incoming, Way};
use super::no_policy;
use super::ongoing::Ongoing;
use super::served::{self, CountedConversation, Served};
use crate::access::{Action, Caller};
use crate::app::App;
use crate::error::ApiError;
use crate::report::Stage;
use crate::retrieval::stages::{self, Endpoint, StagesOn, explained};

/// How a request is answered.
pub(super) enum Planned {
    /// By the language model, with the unchanged request.
    PassThrough,
    /// From an index.
    Answer(ChatTurn),
}

/// A request that is answered from an index.
pub(super) struct ChatTurn {
    /// The owner of what the chat leaves behind.
    owner: String,
    /// Whether the caller's name is known.
    is_caller_known: bool,
    /// Whether the caller may use and leave interactions.
    has_interactions: bool,
    way: Way,
    request: Arc<Request>,
    turn: Turn,
    index: Index,
}

/// A question, with everything that its answer depends on.
pub(super) struct Asked {
    /// The owner of what the chat leaves behind, see [`Caller::owner`].
    pub owner: String,
    /// Whether the caller's name is known.
    pub is_caller_known: bool,
    /// The way in which it was asked.
    pub way: Way,
    /// The stages that are on.
    pub on: StagesOn,
    /// Whether the question and its answer are kept as an interaction.
    pub keeps_interaction: bool,
    /// The request.
    pub request: Arc<Request>,
    /// The messages, unchanged.
    pub sent: Vec<Value>,
    /// The question and the history.
    pub turn: Turn,
    /// The index to search.
    pub index: Index,
    /// The embedding model of the index.
    pub embedding: Embedding,
    /// The language model that answers.
    pub served: Served,
    /// Tokens of the conversation without context, with those of its tools.
    pub conversation_tokens: u64,
    /// Tokens of the tools, which the language model gets beside the prompt.
    pub tools_tokens: u64,
    /// The budget for context and answer.
    pub budget: Budget,
    /// The threshold for the distance of chunks.
    pub max_distance: f32,
    /// The policy that the answer must hold. None if answers are not checked.
    pub policy: Option<Arc<Policy>>,
}

/// Checks the request, and decides how it is answered.
pub(super) async fn plan(
    app: &App,
    caller: &Caller,
    Incoming { request, way }: &Incoming,
    report: &mut Ongoing,
) -> Result<Planned, ApiError> {
    report.is_asked_by(caller);
    report.was_read(request, |model| app.language_model.knows(model));
    check(app, caller, request)?;
    let has_interactions = may_have_interactions(app, caller);
    let index = match &request.index_name {
        Some(name) => Some(app.loaded()?.index(caller, Action::Read, name).await?),
        None => None,
    };
    index.iter().for_each(|index| report.is_about(index));
    match (decided(request).await?, index) {
        (Plan::Retrieve(turn), Some(index)) => Ok(Planned::Answer(ChatTurn {
            owner: caller.owner().to_owned(),
            is_caller_known: caller.is_known(),
            has_interactions,
            way: way.clone(),
            request: Arc::clone(request),
            turn,
            index,
        })),
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

/// Checks what a request asks for against the settings.
///
/// # Errors
///
/// [`ApiError`] when the settings do not allow something.
pub(crate) fn check(app: &App, caller: &Caller, request: &Request) -> Result<(), ApiError> {
    require_explainable(app, request)?;
    require_stores(app, request, may_have_interactions(app, caller))?;
    Ok(app.language_model.require_allowed(served::asked_models(request))?)
}

fn may_have_interactions(app: &App, caller: &Caller) -> bool {
    app.settings.interactions.enabled
        && (caller.is_known() || app.settings.interactions.anonymous)
        && app.language_model.is_endpoint()
}

/// Decides how a request is answered. For a long one on a compute thread, because this joins the texts of the question.
async fn decided(request: &Arc<Request>) -> Result<Plan, ApiError> {
    let (bytes, request) = (request.body.bytes().len(), Arc::clone(request));
    ragengine_compute::run(bytes, move |_| Ok(decide(&request)?)).await
}

/// Finds the language model, and computes the token budget.
pub(super) async fn divide(app: &App, turn: ChatTurn, report: &mut Ongoing) -> Result<Arc<Asked>, ApiError> {
    let ChatTurn { owner, is_caller_known, has_interactions, way, request, turn, index } = turn;
    let loaded = app.loaded()?;
    let embedding = loaded.generations.embedding_of(&index)?;
    let served = Served::of(app, loaded, request.model.as_deref()).await?;
    let CountedConversation { messages, tokens: conversation_tokens, tools_tokens } =
        served.conversation(&request).await?;
    let model = served.name.as_deref().filter(|model| app.language_model.knows(model));
    report.was_counted(served.counter.kind(), model, served.window_tokens, conversation_tokens);
    let budget = match way.endpoint {
        Endpoint::Query | Endpoint::Chat => {
            let top_k = way.top_k.unwrap_or_else(|| default_top_k(&app.settings, way.endpoint));
            shares(&window_shares(&app.settings, way.endpoint, served.window_tokens), conversation_tokens, top_k)?
        }
        Endpoint::Completions | Endpoint::Retrieve => {
            budget(&budget_input(app, &request, served.window_tokens, conversation_tokens))?
        }
    };
    let max_distance = app.settings.retrieval.max_distance;
    report.was_divided(&budget, max_distance);
    report.stage_ends(Stage::Plan);
    let on = way.endpoint.stages(&app.settings, &request.stages);
    if on.citations && on.context_format == ContextFormat::Source {
        let message = "pipeline.context_format: passages with sources have no numbers to cite: use numbered, or turn \
                       citations off";
        return Err(ApiError::InvalidRequest(message.to_owned()));
    }
    let condense = match request.chat_mode {
        ChatMode::CondensePlusContext => Condensing::Always,
        ChatMode::Context => on.condense,
    };
    Ok(Arc::new(Asked {
        policy: no_policy::policy(app)?,
        owner,
        is_caller_known,
        way,
        on: StagesOn { condense, interactions: on.interactions && has_interactions, ..on },
        keeps_interaction: has_interactions,
        request,
        sent: messages,
        turn,
        index,
        embedding,
        served,
        conversation_tokens,
        tools_tokens,
        budget,
        max_distance,
    }))
}

fn budget_input(app: &App, request: &Request, window: u64, conversation: u64) -> BudgetInput {
    let retrieval = &app.settings.retrieval;
    BudgetInput {
        window,
        conversation,
        max_tokens: request.max_tokens,
        context_token_ratio: request.context_token_ratio.unwrap_or(retrieval.context_token_ratio),
        min_top_k: retrieval.min_top_k as usize,
        tokens_per_chunk: u64::from(retrieval.tokens_per_chunk),
    }
}

/// The number of chunks that `/query` or `/chat` looks for, for requests that name none.
pub(crate) fn default_top_k(settings: &Settings, endpoint: Endpoint) -> usize {
    let (query, chat) = (&settings.endpoints.query, &settings.endpoints.chat);
    let top_k = if endpoint == Endpoint::Chat { chat.top_k } else { query.top_k };
    top_k as usize
}

/// How `/query` and `/chat` divide a context window.
pub(crate) fn window_shares(settings: &Settings, endpoint: Endpoint, window: u64) -> Shares {
    let (query, chat) = (&settings.endpoints.query, &settings.endpoints.chat);
    let history_ratio = settings.sessions.history_ratio;
    if endpoint == Endpoint::Chat {
        let max_tokens = u64::from(chat.max_tokens);
        return Shares {
            window,
            history_ratio,
            context: Limit::Tokens(u64::from(chat.max_context_tokens)),
            answer: Limit::Tokens(max_tokens),
            max_tokens: Some(max_tokens),
        };
    }
    Shares {
        window,
        history_ratio,
        context: Limit::Ratio(query.context_ratio),
        answer: Limit::Ratio(query.answer_ratio),
        max_tokens: None,
    }
}

impl Asked {
    /// Whether the language model gets the question that needs no history, in addition to the conversation.
    pub fn is_condensed_for_model(&self) -> bool {
        self.way.endpoint.is_conversational() || self.request.chat_mode == ChatMode::CondensePlusContext
    }

    /// Whether an earlier answer may be given, and this one be kept. An explanation is of one answer only.
    pub fn uses_cache(&self, app: &App) -> bool {
        app.settings.cache.enabled && self.on.cache && !self.on.interactions && !self.request.explain
    }

    /// Whether the question is the first of its conversation.
    pub fn has_no_history(&self) -> bool {
        self.turn.history.is_empty()
    }

    /// Counts what the cache did.
    pub fn count_cache(&self, app: &App, outcome: Option<&str>) {
        let stage = outcome.map(|outcome| explained("cache", outcome, Duration::ZERO));
        stages::count(&app.metrics, self.way.endpoint, "cache", stage.as_slice());
    }

    /// Whether a chunk that does not fit into the prompt is cut.
    pub fn cuts_chunks(&self) -> bool {
        self.way.endpoint == Endpoint::Chat
    }

    /// The form of the history in the prompt.
    pub fn history_format(&self, settings: &Settings) -> HistoryFormat {
        match self.way.endpoint {
            Endpoint::Query | Endpoint::Chat => settings.sessions.history_format,
            Endpoint::Completions | Endpoint::Retrieve => HistoryFormat::Messages,
        }
    }
}

/// Refuses a request that turns on a stage whose store is off.
fn require_stores(app: &App, request: &Request, has_interactions: bool) -> Result<(), ApiError> {
    let settings = &app.settings;
    let message = if request.stages.feedback == Some(true) && !settings.feedback.enabled {
        "pipeline.feedback: votes are not kept on this server (setting feedback.enabled)"
    } else if request.stages.interactions != Some(true) || has_interactions {
        return Ok(());
    } else if !settings.interactions.enabled {
        "pipeline.interactions: interactions are not kept on this server (setting interactions.enabled)"
    } else if !app.language_model.is_endpoint() {
        "pipeline.interactions: the built-in model does not use interactions; set inferenceService.url to have one that \
         does"
    } else {
        "pipeline.interactions: interactions of unknown callers are not kept on this server (setting \
         interactions.anonymous)"
    };
    Err(ApiError::InvalidRequest(message.to_owned()))
}

fn require_explainable(app: &App, request: &Request) -> Result<(), ApiError> {
    if request.explain && !app.settings.chat.explain {
        let message = "explain is disabled on this server (setting chat.explain)".to_owned();
        return Err(ApiError::InvalidRequest(message));
    }
    Ok(())
}
