//! What is left to do when everything has been decided: what the language model is asked, and what its answer gets.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ragengine_client::wire::SourceNode;
use ragengine_embedding::Windows;
use ragengine_index::search::Found;
use ragengine_pipeline::chat_body::Changes;
use ragengine_pipeline::request::Request;
use serde::Serialize;

use super::Chat;
use super::context::Context;
use super::ongoing::Ongoing;
use super::question::Asked;
use super::relay::Begun;
use super::served::{self, model_of};
use crate::app::App;
use crate::error::ApiError;
use crate::language_model::extractive::{NOTHING_FITS, NOTHING_RELEVANT, Quotable};
use crate::language_model::{Ask, LanguageModel};

/// What the language model is asked, and what its answer gets.
pub(super) struct Errand {
    /// The language model.
    pub model: Arc<LanguageModel>,
    /// What it is asked.
    pub ask: Ask,
    /// Whether the answer is wanted as a stream.
    pub wants_stream: bool,
    /// How the answer goes on to the client.
    pub passing: Passing,
    /// The documents that went into the prompt: a JSON list. None when there are none.
    pub sources: Option<String>,
    /// What was decided: a JSON object, when the request asks for it.
    pub explanation: Option<String>,
    /// The pause after which a stream gets a comment.
    pub keep_alive: Duration,
}

/// How a streamed answer goes on to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passing {
    /// Untouched but for our fields: nobody looks into it.
    AsItComes,
    /// Read as deltas and written as deltas.
    Deltas,
}

impl Errand {
    /// Whether another server computes the answer.
    pub fn is_for_upstream(&self) -> bool {
        matches!(*self.model, LanguageModel::Upstream(_))
    }

    /// Asks the language model.
    pub async fn begin(self) -> Begun {
        Begun::of(self).await
    }
}

/// A request as it is: the caller's own bytes, unless one of our fields has to go.
pub(super) async fn pass_through(
    app: &App,
    chat: Chat,
    request: Arc<Request>,
    report: &Ongoing,
) -> Result<Errand, ApiError> {
    let upstream = match &*app.language_model {
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
    let body = match request.body.is_forwardable_as_sent() {
        true => chat.body.clone(),
        false => forwarded(&request, model_of(upstream, &request).await, Changes::default()).await?,
    };
    let ask = Ask { body, quotable: None, room: chat.room, request_id: chat.request_id };
    Ok(Errand { passing: Passing::AsItComes, ..errand(app, ask, &request, report)? })
}

/// What was found for a question.
pub(super) struct Findings<'a> {
    /// The question, as it was decided.
    pub asked: &'a Asked,
    /// Its vectors.
    pub vectors: Windows,
    /// What goes into the prompt.
    pub context: Context,
}

/// An answer from an index.
pub(super) async fn answer(
    app: &App,
    chat: Chat,
    findings: Findings<'_>,
    report: &mut Ongoing,
) -> Result<Errand, ApiError> {
    let Findings { asked, vectors, context } = findings;
    let (changes, prompt_tokens) = match &context.finished {
        Some(finished) => {
            let messages = Some(json_text(&finished.messages)?);
            (Changes { default_model: None, messages, max_tokens: finished.max_tokens }, finished.prompt_tokens)
        }
        None => {
            let max_tokens = asked.budget.max_tokens;
            let reason = without_context(report, &context);
            report.passes_through(reason);
            (Changes { max_tokens, ..Changes::default() }, asked.conversation_tokens)
        }
    };
    let (body, quotable) = match *app.language_model {
        LanguageModel::Extractive => {
            let loaded = app.loaded()?;
            let passages = context.selected.iter().map(|found| found.chunk.text.clone()).collect();
            let quotable = Quotable {
                embedding: asked.embedding.clone(),
                counter: loaded.embedding.clone(),
                question: vectors,
                passages,
                otherwise: if context.relevant() == 0 { NOTHING_RELEVANT } else { NOTHING_FITS },
                prompt_tokens,
                include_usage: asked.request.include_usage,
            };
            (Bytes::new(), Some(quotable))
        }
        LanguageModel::Upstream(_) | LanguageModel::None => {
            (forwarded(&asked.request, asked.served.name.clone(), changes).await?, None)
        }
    };
    let has_sources = context.finished.is_some() || quotable.is_some();
    let sources = if has_sources { Some(sources(context.selected).await?) } else { None };
    let ask = Ask { body, quotable, room: chat.room, request_id: chat.request_id };
    Ok(Errand { passing: Passing::Deltas, sources, ..errand(app, ask, &asked.request, report)? })
}

fn errand(app: &App, ask: Ask, request: &Request, report: &Ongoing) -> Result<Errand, ApiError> {
    Ok(Errand {
        model: Arc::clone(&app.language_model),
        ask,
        wants_stream: request.stream,
        passing: Passing::AsItComes,
        sources: None,
        explanation: request.explain.then(|| json_text(&report.explanation())).transpose()?,
        keep_alive: Duration::from_secs(app.settings.chat.keep_alive_seconds),
    })
}

/// Why no context was found. What would help is said where a person looks for it.
fn without_context(report: &Ongoing, context: &Context) -> &'static str {
    match context.relevant() {
        0 => "nothing_relevant",
        relevant => {
            tracing::warn!(
                request_id = report.request_id,
                relevant,
                "no relevant chunk fits into the context budget: raise max_tokens (or context_token_ratio) in the request"
            );
            "over_budget"
        }
    }
}

/// The chunks that are in the prompt, as a JSON list.
async fn sources(selected: Vec<Found>) -> Result<String, ApiError> {
    let bytes = selected.iter().map(|found| found.chunk.text.len() + found.document.metadata.len()).sum();
    let write = move |_: &_| json_text(&selected.into_iter().map(source_node).collect::<Vec<_>>());
    ragengine_compute::run(bytes, write).await
}

/// A chunk as chat replies show it.
fn source_node(found: Found) -> SourceNode {
    SourceNode {
        doc_id: found.document.doc_id.clone(),
        node_id: found.node_id,
        text: found.chunk.text,
        score: found.distance,
        metadata: (*found.metadata).clone(),
    }
}

/// The body for the language model. `model`: the one that serves, if it is known.
async fn forwarded(
    request: &Arc<Request>,
    model: Option<String>,
    changes: Changes<'static>,
) -> Result<Bytes, ApiError> {
    let bytes = request.body.bytes().len() + changes.messages.as_ref().map_or(0, String::len);
    let request = Arc::clone(request);
    let write = move |_: &_| {
        let changes = Changes { default_model: model.as_deref(), ..changes };
        Ok(Bytes::from(request.body.forwardable(&changes)))
    };
    ragengine_compute::run(bytes, write).await
}

fn json_text(value: &impl Serialize) -> Result<String, ApiError> {
    serde_json::to_string(value).map_err(|error| ApiError::Internal(error.to_string()))
}
