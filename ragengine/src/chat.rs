//! The driver of a chat: it reads from top to bottom as the algorithm does.

mod answer;
mod context;
mod relay;
mod tokens;

use std::sync::Arc;

pub use answer::ChatReply;
use axum::http::HeaderValue;
use bytes::Bytes;
use context::Context;
use ragengine_pipeline::Rejection;
use ragengine_pipeline::budget::{Budget, Given, answer_tokens, budget};
use ragengine_pipeline::plan::{Plan, Turn, plan};
use ragengine_pipeline::prompt;
use ragengine_pipeline::request::{ChatRequest, lower_max_tokens};
use serde_json::Value;
use tokens::TokenCounter;
use tracing::{debug, info, warn};

use crate::app::{App, Loaded};
use crate::error::ApiError;
use crate::index::Index;
use crate::llm::{LanguageModel, Upstream, extractive};

/// No text has more bytes in a token than this, but for one that nobody wrote.
const MAX_BYTES_PER_TOKEN: u64 = 64;

/// A chat request: its bytes, and the id that goes along with it.
pub struct Chat {
    /// The body as it was sent.
    pub body: Bytes,
    /// The id of the request.
    pub request_id: HeaderValue,
}

/// Answers a chat request.
///
/// # Errors
///
/// [`ApiError`]: what the algorithm refuses, an unknown index, or a part that fails.
pub async fn chat(app: &App, chat: Chat) -> Result<ChatReply, ApiError> {
    let request = ChatRequest::parse(&chat.body)?;
    let index = match &request.index_name {
        Some(name) => Some(app.loaded()?.catalog.get(name)?),
        None => None,
    };
    match (plan(&request)?, index) {
        // Boxed, so that a chat that is passed through does not carry the room for this one around.
        (Plan::Retrieve(turn), Some(index)) => Box::pin(answer_from_index(app, &chat, request, turn, index)).await,
        (Plan::PassThrough(bypass), _) => {
            debug!(reason = bypass.reason(), "chat passed through");
            pass_through(app, &chat, request).await
        }
        (Plan::Retrieve(_), None) => {
            Err(ApiError::Internal("a request without an index was planned to use one".to_owned()))
        }
    }
}

/// Sends a request to the language model as it is: the caller's own bytes, unless one of our fields has to go.
async fn pass_through(app: &App, chat: &Chat, request: ChatRequest) -> Result<ChatReply, ApiError> {
    let upstream = match &app.language_model {
        LanguageModel::Upstream(upstream) => upstream,
        LanguageModel::Extractive => {
            return Err(ApiError::NoModel(
                "this request is for a language model, and none is set: the built-in model only answers from an index \
                 (index_name), without tools or pictures. Set inferenceService.url to have one."
                    .to_owned(),
            ));
        }
        LanguageModel::None => return Err(no_model()),
    };
    let body = match request.is_forwardable_as_sent() {
        true => chat.body.clone(),
        false => to_bytes(&Value::Object(request.forwardable_body(model_of(upstream, &request).await.as_deref())))?,
    };
    let reply = upstream.send(body, &chat.request_id).await?;
    relay::unmarked(reply, request.stream).await
}

/// Answers from an index: budget, search, selection, prompt, language model.
async fn answer_from_index(
    app: &App,
    chat: &Chat,
    request: ChatRequest,
    turn: Turn,
    index: Arc<Index>,
) -> Result<ChatReply, ApiError> {
    let loaded = app.loaded()?;
    index.require_model(&loaded.embedding)?;
    let served = Served::of(app, loaded, &request).await?;
    let sent = request.body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let conversation_tokens = conversation_tokens(loaded, &served, sent).await?;
    let retrieval = &app.settings.retrieval;
    let budget = budget(&Given {
        window: served.window_tokens,
        conversation: conversation_tokens,
        max_tokens: request.max_tokens,
        context_token_ratio: request.context_token_ratio.unwrap_or(retrieval.context_token_ratio),
        min_top_k: retrieval.min_top_k as usize,
        tokens_per_chunk: u64::from(retrieval.tokens_per_chunk),
    })?;
    warn_when_lowered(&budget);
    let context = context::find(app, loaded, &index, &turn, &budget, &served.counter).await?;
    log_selection(&index, &context, retrieval.max_distance);
    if context.blocks.is_empty() {
        return without_context(app, chat, request, served, &budget, &context).await;
    }
    let finished = finish(&request, &turn, context, &served, &budget, conversation_tokens)?;
    match served.model {
        Model::Extractive => answer::extract(loaded, &index, &request, finished).await,
        Model::Upstream(upstream) => {
            let sources = serde_json::to_string(&finished.source_nodes(&index))
                .map_err(|error| ApiError::Internal(error.to_string()))?;
            let mut body = request.forwardable_body(served.name.as_deref());
            body.insert("messages".to_owned(), Value::from(finished.messages));
            if let Some(tokens) = finished.max_tokens {
                lower_max_tokens(&mut body, tokens);
            }
            let reply = upstream.send(to_bytes(&Value::Object(body))?, &chat.request_id).await?;
            relay::marked(reply, request.stream, sources).await
        }
    }
}

/// Nothing relevant, or nothing that fits: the conversation alone goes to the language model.
async fn without_context(
    app: &App,
    chat: &Chat,
    request: ChatRequest,
    served: Served<'_>,
    budget: &Budget,
    context: &Context,
) -> Result<ChatReply, ApiError> {
    if context.relevant > 0 {
        warn!(
            relevant = context.relevant,
            context_tokens = budget.context_tokens,
            "no relevant chunk fits into the context budget: raise max_tokens (or context_token_ratio) in the request"
        );
    }
    match served.model {
        Model::Extractive => {
            let sentence = if context.relevant > 0 { extractive::NOTHING_FITS } else { extractive::NOTHING_RELEVANT };
            Ok(answer::without_passages(&request, &app.loaded()?.embedding, sentence))
        }
        Model::Upstream(upstream) => {
            let mut body = request.forwardable_body(served.name.as_deref());
            if let Some(tokens) = budget.max_tokens {
                lower_max_tokens(&mut body, tokens);
            }
            let reply = upstream.send(to_bytes(&Value::Object(body))?, &chat.request_id).await?;
            relay::unmarked(reply, request.stream).await
        }
    }
}

/// The model that answers, its window and its tokenizer.
struct Served<'a> {
    model: Model<'a>,
    /// The name to send when the caller gave none.
    name: Option<String>,
    window_tokens: u64,
    counter: TokenCounter,
}

enum Model<'a> {
    Upstream(&'a Upstream),
    Extractive,
}

impl<'a> Served<'a> {
    async fn of(app: &'a App, loaded: &Loaded, request: &ChatRequest) -> Result<Self, ApiError> {
        match &app.language_model {
            LanguageModel::None => Err(no_model()),
            LanguageModel::Extractive => Ok(Self {
                model: Model::Extractive,
                name: None,
                window_tokens: extractive::WINDOW_TOKENS,
                counter: TokenCounter::Embedding(loaded.embedding.clone()),
            }),
            LanguageModel::Upstream(upstream) => {
                let name = model_of(upstream, request).await;
                let window_tokens = upstream.window_tokens(name.as_deref().unwrap_or_default()).await;
                Ok(Self { model: Model::Upstream(upstream), name, window_tokens, counter: TokenCounter::Estimate })
            }
        }
    }
}

/// The tokens of the conversation. One that cannot fit is refused before it is counted, and counting is kept from the threads
/// that serve requests.
async fn conversation_tokens(loaded: &Loaded, served: &Served<'_>, messages: &[Value]) -> Result<u64, ApiError> {
    let bytes: usize = messages.iter().map(|message| message["content"].as_str().map_or(0, str::len)).sum();
    if bytes as u64 > served.window_tokens.saturating_mul(MAX_BYTES_PER_TOKEN) {
        return Err(Rejection::ContextWindow.into());
    }
    let (counter, messages) = (served.counter.clone(), messages.to_vec());
    Ok(loaded.search_pool.run(move || Ok(counter.conversation(&messages))).await?)
}

/// A prompt that fits, and what it was made from.
pub(crate) struct Finished {
    messages: Vec<Value>,
    max_tokens: Option<u64>,
    prompt_tokens: u64,
    context: Context,
}

impl Finished {
    fn source_nodes(&self, index: &Index) -> Vec<ragengine_client::wire::SourceNode> {
        self.context.selected.iter().map(|found| crate::retrieve::source_node(index, found)).collect()
    }
}

/// Writes the prompt and counts it once more. While it is over what it may take, its last chunk goes.
fn finish(
    request: &ChatRequest,
    turn: &Turn,
    mut context: Context,
    served: &Served<'_>,
    budget: &Budget,
    conversation_tokens: u64,
) -> Result<Finished, ApiError> {
    let limit = conversation_tokens + ragengine_pipeline::budget::INSTRUCTION_TOKENS + budget.context_tokens;
    loop {
        let messages = prompt::messages(request, turn, &prompt::context(&context.blocks));
        let prompt_tokens = served.counter.conversation(&messages);
        if prompt_tokens <= limit || context.blocks.is_empty() {
            let max_tokens = answer_tokens(served.window_tokens, prompt_tokens, budget.max_tokens)?;
            return Ok(Finished { messages, max_tokens, prompt_tokens, context });
        }
        context.drop_last();
    }
}

async fn model_of(upstream: &Upstream, request: &ChatRequest) -> Option<String> {
    match &request.model {
        Some(model) => Some(model.clone()),
        None => upstream.default_model().await,
    }
}

fn warn_when_lowered(budget: &Budget) {
    if let (Some(from), Some(to)) = (budget.lowered_from, budget.max_tokens) {
        warn!("max_tokens ({from}) is greater than available context after prompt consideration. Setting to {to}.");
    }
}

fn log_selection(index: &Index, context: &Context, max_distance: f32) {
    if context.relevant == 0 {
        info!(
            index = index.name(),
            nearest_distance = context.nearest_distance,
            max_distance,
            "nothing relevant found; retrieval.maxDistance is the threshold"
        );
    }
}

fn no_model() -> ApiError {
    ApiError::NoModel(
        "no language model is set: set inferenceService.url, or extractive: true for the built-in one. /retrieve works without.".to_owned(),
    )
}

fn to_bytes(body: &Value) -> Result<Bytes, ApiError> {
    serde_json::to_vec(body).map(Bytes::from).map_err(|error| ApiError::Internal(error.to_string()))
}
