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
use ragengine_pipeline::budget::{Given, budget};
use ragengine_pipeline::finish::Finished;
use ragengine_pipeline::plan::{Plan, Turn, plan};
use ragengine_pipeline::request::{Changes, ChatRequest};
use ragengine_pipeline::stream::Usage;
use relay::Errand;
use serde::Serialize;
use served::{Model, Served, model_of};

use crate::admission::{Held, Permit, Work};
use crate::app::{App, Loaded};
use crate::compute;
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
    /// The room that its body takes, until the language model has it.
    pub room: Option<Arc<Held>>,
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
    let body = chat.body.clone();
    let read = move |_: &_| Ok::<_, ApiError>(Arc::new(ChatRequest::parse(body)?));
    let request = compute::run(chat.body.len(), read).await?;
    account.was_read(&request, |model| app.language_model.knows(model));
    require_explainable(app, &request)?;
    app.language_model.require_allowed(served::asked_models(&request))?;
    let index = match &request.index_name {
        Some(name) => Some(app.loaded()?.catalog.get(name)?),
        None => None,
    };
    index.iter().for_each(|index| account.is_about(index));
    match (planned(&request).await?, index) {
        // Boxed, so that a chat that is passed through does not carry the room for this one around.
        (Plan::Retrieve(turn), Some(index)) => {
            Box::pin(answer_from_index(app, chat, account, request, turn, index)).await
        }
        (Plan::PassThrough(bypass), _) => {
            account.passes_through(bypass.reason());
            account.stage_ends(Stage::Plan);
            pass_through(app, chat, account, &request).await
        }
        (Plan::Retrieve(_), None) => {
            Err(ApiError::Internal("a request without an index was planned to use one".to_owned()))
        }
    }
}

/// What happens to a request. Of a long one it is decided apart from the threads that serve, because the question is put together for it.
async fn planned(request: &Arc<ChatRequest>) -> Result<Plan, ApiError> {
    let (bytes, request) = (request.body().len(), Arc::clone(request));
    compute::run(bytes, move |_| Ok(plan(&request)?)).await
}

/// A request as it is: the caller's own bytes, unless one of our fields has to go.
async fn pass_through(app: &App, chat: &Chat, account: &Account, request: &Arc<ChatRequest>) -> Result<Next, ApiError> {
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
    let body = match request.is_forwardable_as_sent() {
        true => chat.body.clone(),
        false => forwarded(request, model_of(upstream, request).await, Changes::default()).await?,
    };
    errand(app, chat, account, request, upstream, body, None)
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
    let (sent, conversation_tokens) = served.conversation(&request).await?;
    let model = served.name.as_deref().filter(|model| app.language_model.knows(model));
    account.was_counted(served.counter.kind(), model, served.window_tokens, conversation_tokens);
    let budget = budget(&given(app, &served, conversation_tokens, &request))?;
    let max_distance = app.settings.retrieval.max_distance;
    account.was_divided(&budget, max_distance);
    account.stage_ends(Stage::Plan);

    let vectors = question::embed(app, &embedding, &turn.user_prompt, Asker::Chat).await?;
    account.was_embedded(vectors.count());
    account.stage_ends(Stage::Embed);

    let question = Question {
        request: Arc::clone(&request),
        sent,
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

    match (context.finished.take(), served.model) {
        (Some(finished), Model::Upstream(upstream)) => {
            let sources = sources(index, context).await?;
            let body = forwarded(&request, served.name, with_context(finished)?).await?;
            errand(app, chat, account, &request, &upstream, body, Some(sources))
        }
        (Some(finished), Model::Extractive) => {
            let sentences = answer::sentences(&embedding, &vectors, &context).await?;
            let sources = sources(index, context).await?;
            quote(account, &request, loaded, sentences, finished.prompt_tokens, sources).await
        }
        (None, Model::Upstream(upstream)) => {
            let reason = without_context(account, &context);
            account.passes_through(reason);
            let changes = Changes { max_tokens: budget.max_tokens, ..Changes::default() };
            let body = forwarded(&request, served.name, changes).await?;
            errand(app, chat, account, &request, &upstream, body, None)
        }
        (None, Model::Extractive) => {
            let reason = without_context(account, &context);
            account.passes_through(reason);
            let sentence =
                if reason == "over_budget" { extractive::NOTHING_FITS } else { extractive::NOTHING_RELEVANT };
            quote(account, &request, loaded, vec![sentence.to_owned()], conversation_tokens, "[]".to_owned()).await
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

/// What the language model gets when context was found.
fn with_context(finished: Finished) -> Result<Changes<'static>, ApiError> {
    let messages = Some(json_text(&finished.messages)?);
    Ok(Changes { default_model: None, messages, max_tokens: finished.max_tokens })
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

/// The chunks that are in the prompt, as a JSON list.
async fn sources(index: Arc<Index>, context: Context) -> Result<String, ApiError> {
    let bytes = context.selected.iter().map(|found| found.chunk.text.len() + found.document.metadata.len()).sum();
    let write =
        move |_: &_| json_text(&context.selected.iter().map(|found| source_node(&index, found)).collect::<Vec<_>>());
    compute::run(bytes, write).await
}

/// The body for the language model. `model`: the one that serves, if it is known.
async fn forwarded(
    request: &Arc<ChatRequest>,
    model: Option<String>,
    changes: Changes<'static>,
) -> Result<Bytes, ApiError> {
    let bytes = request.body().len() + changes.messages.as_ref().map_or(0, String::len);
    let request = Arc::clone(request);
    let write = move |_: &_| {
        let changes = Changes { default_model: model.as_deref(), ..changes };
        Ok(Bytes::from(request.forwardable_body(&changes)))
    };
    compute::run(bytes, write).await
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
        room: chat.room.clone(),
        request_id: chat.request_id.clone(),
        wants_stream: request.stream,
        sources,
        explanation: explanation(account, request)?,
        keep_alive: Duration::from_secs(app.settings.chat.keep_alive_seconds),
    })))
}

/// The built-in model's reply.
async fn quote(
    account: &mut Account,
    request: &ChatRequest,
    loaded: &Loaded,
    sentences: Vec<String>,
    prompt_tokens: u64,
    sources: String,
) -> Result<Next, ApiError> {
    let embedding = loaded.embedding.clone();
    let count = move || {
        let tokens = sentences.iter().map(|sentence| embedding.count_tokens(sentence) as u64).sum();
        Ok((sentences, tokens))
    };
    let (sentences, completion_tokens) = loaded.search_pool.run(count).await?;
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
