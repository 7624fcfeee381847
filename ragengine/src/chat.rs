//! The driver of a chat: it reads from top to bottom as the algorithm does.

mod account;
mod answer;
mod context;
mod relay;
mod served;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use account::Account;
use answer::Answer;
pub use answer::ChatReply;
use axum::http::HeaderValue;
use bytes::Bytes;
use context::{Context, Question};
use ragengine_pipeline::budget::{Budget, Given, budget};
use ragengine_pipeline::finish::Finished;
use ragengine_pipeline::plan::{Plan, Turn, plan};
use ragengine_pipeline::request::{ChatRequest, lower_max_tokens};
use ragengine_pipeline::stream::Usage;
use relay::Errand;
use serde::Serialize;
use serde_json::Value;
use served::{Model, Served, model_of};

use crate::admission::{Permit, Work};
use crate::app::{App, Loaded};
use crate::error::ApiError;
use crate::index::Index;
use crate::llm::{LanguageModel, Upstream, extractive};
use crate::metrics::Stage;
use crate::question::{self, Asker};
use crate::retrieve::source_node;

/// A chat request: its bytes, and the id that goes along with it.
pub struct Chat {
    /// The body as it was sent.
    pub body: Bytes,
    /// The id of the request.
    pub request_id: HeaderValue,
    /// The right to work, which it has until the language model is asked.
    pub permit: Option<Permit>,
}

/// What is left to do when everything has been decided.
enum Next {
    /// The language model is to be asked.
    Ask(Box<Errand>),
    /// The built-in model has answered.
    Reply(ChatReply),
}

/// Answers a chat request.
///
/// # Errors
///
/// [`ApiError`]: what the algorithm refuses, an unknown index, or a part that fails.
pub async fn chat(app: &App, mut chat: Chat) -> Result<ChatReply, ApiError> {
    let mut account = Account::begin(&app.metrics, &chat.request_id);
    let permit = chat.permit.take();
    let prepared = prepare_in_time(app, &chat, &mut account).await;
    // Nobody waits for a language model that another asks, and what waits for it holds no more than what it sends.
    drop((permit, chat));
    match prepared {
        Ok(Next::Ask(errand)) => relay::run(*errand, account).await,
        Ok(Next::Reply(reply)) => {
            account.succeeded();
            Ok(reply)
        }
        Err(error) => {
            account.failed(&error);
            Err(error)
        }
    }
}

async fn prepare_in_time(app: &App, chat: &Chat, account: &mut Account) -> Result<Next, ApiError> {
    let prepared = app.admission.in_time(Work::Chat, prepare(app, chat, account)).await;
    prepared.inspect_err(|late| app.admission.refused(Work::Chat, late))?
}

/// Everything before the language model is asked.
async fn prepare(app: &App, chat: &Chat, account: &mut Account) -> Result<Next, ApiError> {
    let request = ChatRequest::parse(&chat.body)?;
    account.was_read(&request, |model| app.language_model.knows(model));
    require_explainable(app, &request)?;
    app.language_model.require_allowed(served::asked_models(&request))?;
    let index = match &request.index_name {
        Some(name) => Some(app.loaded()?.catalog.get(name)?),
        None => None,
    };
    index.iter().for_each(|index| account.is_about(index));
    match (plan(&request)?, index) {
        // Boxed, so that a chat that is passed through does not carry the room for this one around.
        (Plan::Retrieve(turn), Some(index)) => {
            Box::pin(answer_from_index(app, chat, account, Arc::new(request), turn, index)).await
        }
        (Plan::PassThrough(bypass), _) => {
            account.passes_through(bypass.reason());
            account.stage_ends(Stage::Plan);
            pass_through(app, chat, account, request).await
        }
        (Plan::Retrieve(_), None) => {
            Err(ApiError::Internal("a request without an index was planned to use one".to_owned()))
        }
    }
}

/// A request as it is: the caller's own bytes, unless one of our fields has to go.
async fn pass_through(app: &App, chat: &Chat, account: &Account, request: ChatRequest) -> Result<Next, ApiError> {
    let upstream = match &app.language_model {
        LanguageModel::Upstream(upstream) => upstream,
        LanguageModel::Extractive => {
            return Err(ApiError::NoModel(
                "this request is for a language model, and none is set: the built-in model only answers from an index \
                 (index_name), without tools or pictures. Set inferenceService.url to have one."
                    .to_owned(),
            ));
        }
        LanguageModel::None => return Err(served::no_model()),
    };
    // Where only some models may be asked for, no second field of that name goes along in the caller's own bytes.
    let body = match request.is_forwardable_as_sent() && !upstream.allowed_models().are_few() {
        true => chat.body.clone(),
        false => json_bytes(&request.forwardable_body(model_of(upstream, &request).await.as_deref()))?,
    };
    errand(app, chat, account, &request, upstream, body, None)
}

/// An answer from an index: budget, question, search, selection, prompt.
async fn answer_from_index(
    app: &App,
    chat: &Chat,
    account: &mut Account,
    request: Arc<ChatRequest>,
    turn: Turn,
    index: Arc<Index>,
) -> Result<Next, ApiError> {
    let loaded = app.loaded()?;
    let embedding = loaded.generations.embedding_of(&index)?;
    let served = Served::of(app, loaded, &request).await?;
    let conversation_tokens = served.conversation_tokens(loaded, &request).await?;
    let model = served.name.as_deref().filter(|model| app.language_model.knows(model));
    account.was_counted(served.counter.kind(), model, served.window_tokens, conversation_tokens);
    let budget = budget(&given(app, &served, conversation_tokens, &request))?;
    let max_distance = app.settings.retrieval.max_distance;
    account.was_divided(&budget, max_distance);
    account.stage_ends(Stage::Plan);

    let vectors = question::embed(app, loaded, &embedding, &turn.user_prompt, Asker::Chat).await?;
    account.was_embedded(vectors.count());
    account.stage_ends(Stage::Embed);

    let question = Question {
        request: Arc::clone(&request),
        turn,
        vectors: vectors.clone(),
        index: Arc::clone(&index),
        counter: served.counter.clone(),
        window_tokens: served.window_tokens,
        conversation_tokens,
        budget,
        max_distance,
        boundary: context::new_boundary()?,
    };
    let mut context = loaded.search_pool.run(move || context::find(&question)).await??;
    account.search_and_selection_end(context.selecting);
    account.was_selected(&context);

    match (context.finished.take(), &served.model) {
        (Some(finished), Model::Upstream(upstream)) => {
            let sources = json_text(&source_nodes(&index, &context))?;
            let body = json_bytes(&with_context(&request, &served, finished))?;
            errand(app, chat, account, &request, upstream, body, Some(sources))
        }
        (Some(finished), Model::Extractive) => {
            let sentences = answer::sentences(&embedding, &vectors, &context).await?;
            let sources = json_text(&source_nodes(&index, &context))?;
            quote(account, &request, loaded, sentences, finished.prompt_tokens, sources)
        }
        (None, Model::Upstream(upstream)) => {
            let reason = without_context(account, &context);
            account.passes_through(reason);
            let body = json_bytes(&conversation_alone(&request, &served, &budget))?;
            errand(app, chat, account, &request, upstream, body, None)
        }
        (None, Model::Extractive) => {
            let reason = without_context(account, &context);
            account.passes_through(reason);
            let sentence =
                if reason == "over_budget" { extractive::NOTHING_FITS } else { extractive::NOTHING_RELEVANT };
            quote(account, &request, loaded, vec![sentence.to_owned()], conversation_tokens, "[]".to_owned())
        }
    }
}

fn given(app: &App, served: &Served, conversation: u64, request: &ChatRequest) -> Given {
    let retrieval = &app.settings.retrieval;
    Given {
        window: served.window_tokens,
        conversation,
        max_tokens: request.max_tokens,
        context_token_ratio: request.context_token_ratio.unwrap_or(retrieval.context_token_ratio),
        min_top_k: retrieval.min_top_k as usize,
        tokens_per_chunk: u64::from(retrieval.tokens_per_chunk),
    }
}

/// The body for the language model when context was found.
fn with_context(request: &ChatRequest, served: &Served, finished: Finished) -> serde_json::Map<String, Value> {
    let mut body = request.forwardable_body(served.name.as_deref());
    body.insert("messages".to_owned(), Value::from(finished.messages));
    if let Some(tokens) = finished.max_tokens {
        lower_max_tokens(&mut body, tokens);
    }
    body
}

/// The body for the language model when none was: nothing relevant, or nothing that fits.
fn conversation_alone(request: &ChatRequest, served: &Served, budget: &Budget) -> serde_json::Map<String, Value> {
    let mut body = request.forwardable_body(served.name.as_deref());
    if let Some(tokens) = budget.max_tokens {
        lower_max_tokens(&mut body, tokens);
    }
    body
}

/// Why no context was found. What would help is said where a person looks for it.
fn without_context(account: &Account, context: &Context) -> &'static str {
    match context.relevant() {
        0 => "nothing_relevant",
        relevant => {
            tracing::warn!(
                request_id = account.request_id(),
                relevant,
                "no relevant chunk fits into the context budget: raise max_tokens (or context_token_ratio) in the request"
            );
            "over_budget"
        }
    }
}

fn source_nodes(index: &Index, context: &Context) -> Vec<ragengine_client::wire::SourceNode> {
    context.selected.iter().map(|found| source_node(index, found)).collect()
}

fn errand(
    app: &App,
    chat: &Chat,
    account: &Account,
    request: &ChatRequest,
    upstream: &Arc<Upstream>,
    body: Bytes,
    sources: Option<String>,
) -> Result<Next, ApiError> {
    Ok(Next::Ask(Box::new(Errand {
        upstream: Arc::clone(upstream),
        body,
        request_id: chat.request_id.clone(),
        wants_stream: request.stream,
        sources,
        explanation: explanation(account, request)?,
        keep_alive: Duration::from_secs(app.settings.chat.keep_alive_seconds),
    })))
}

/// The built-in model's reply.
fn quote(
    account: &mut Account,
    request: &ChatRequest,
    loaded: &Loaded,
    sentences: Vec<String>,
    prompt_tokens: u64,
    sources: String,
) -> Result<Next, ApiError> {
    let completion_tokens = sentences.iter().map(|sentence| loaded.embedding.count_tokens(sentence) as u64).sum();
    let usage = Usage { prompt_tokens, completion_tokens };
    account.was_reported(Some(usage));
    if request.stream {
        account.first_word_came();
    }
    let explanation = explanation(account, request)?.map(|explanation| ("explanation", explanation));
    let fields = [("source_nodes", sources)].into_iter().chain(explanation).collect();
    Ok(Next::Reply(Answer { sentences, usage, fields }.reply(request)))
}

fn explanation(account: &Account, request: &ChatRequest) -> Result<Option<String>, ApiError> {
    request.explain.then(|| json_text(account.explanation())).transpose()
}

fn require_explainable(app: &App, request: &ChatRequest) -> Result<(), ApiError> {
    match request.explain && !app.settings.chat.explain {
        true => {
            Err(ApiError::Meaning("explain is switched off on this server (chat.explain in its settings)".to_owned()))
        }
        false => Ok(()),
    }
}

fn json_text(value: &impl Serialize) -> Result<String, ApiError> {
    serde_json::to_string(value).map_err(|error| ApiError::Internal(error.to_string()))
}

fn json_bytes(value: &impl Serialize) -> Result<Bytes, ApiError> {
    serde_json::to_vec(value).map(Bytes::from).map_err(|error| ApiError::Internal(error.to_string()))
}
