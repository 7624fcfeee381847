//! What is left to do when everything has been decided: what the language model is asked, and what its answer gets.

use std::sync::Arc;
use std::time::Duration;

use ragengine_client::wire::SourceNode;
use ragengine_embedding::Windows;
use ragengine_index::search::RetrievedChunk;
use ragengine_pipeline::chat_body::BodyChanges;
use ragengine_pipeline::request::Request;
use serde::Serialize;

use super::context::Context;
use super::ongoing::Ongoing;
use super::question::Asked;
use super::relay::Passing;
use super::served::{self, model_of};
use crate::app::App;
use crate::error::ApiError;
use crate::language_model::extractive::{NOTHING_FITS, NOTHING_RELEVANT, Quotable};
use crate::language_model::{LanguageModel, Origin, Question};

/// What the language model is asked, and what its answer gets.
pub(super) struct UpstreamRequest {
    /// The language model.
    pub model: Arc<LanguageModel>,
    /// The question.
    pub question: Question,
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

impl UpstreamRequest {
    /// Whether another server computes the answer.
    pub fn is_for_endpoint(&self) -> bool {
        self.model.is_endpoint()
    }
}

/// A request as it is: the caller's own bytes, unless one of our fields has to go.
pub(super) async fn pass_through(
    app: &App,
    request: Arc<Request>,
    origin: Origin,
    report: &Ongoing,
) -> Result<UpstreamRequest, ApiError> {
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
    let question = if request.body.is_forwardable_as_sent() {
        Question::as_sent(&request, origin)
    } else {
        let changes = BodyChanges { default_model: model_of(upstream, &request).await, ..BodyChanges::default() };
        Question::changed(&request, changes, origin).await?
    };
    Ok(UpstreamRequest { passing: Passing::AsItComes, ..to_ask(app, question, &request, report)? })
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
    findings: Findings<'_>,
    origin: Origin,
    report: &mut Ongoing,
) -> Result<UpstreamRequest, ApiError> {
    let Findings { asked, vectors, context: Context { selected, finished, relevant } } = findings;
    let has_documents = finished.is_some();
    if !has_documents {
        report.passes_through(without_context(report, relevant));
    }
    let is_built_in = !app.language_model.is_endpoint();
    let question = if is_built_in {
        let quotable = Quotable {
            embedding: asked.embedding.clone(),
            counter: app.loaded()?.embedding.clone(),
            question: vectors,
            passages: selected.iter().map(|chunk| chunk.text.clone()).collect(),
            otherwise: if relevant == 0 { NOTHING_RELEVANT } else { NOTHING_FITS },
            prompt_tokens: finished.map_or(asked.conversation_tokens, |finished| finished.prompt_tokens),
            include_usage: asked.request.include_usage,
        };
        Question::quoting(quotable).asked_by(origin)
    } else {
        let (messages, max_tokens) = match finished {
            Some(finished) => (Some(finished.messages), finished.max_tokens),
            None => (None, asked.budget.max_tokens),
        };
        let changes = BodyChanges { default_model: asked.served.name.clone(), messages, max_tokens };
        Question::changed(&asked.request, changes, origin).await?
    };
    let sources = if has_documents || is_built_in { Some(sources(selected).await?) } else { None };
    Ok(UpstreamRequest { sources, ..to_ask(app, question, &asked.request, report)? })
}

fn to_ask(app: &App, question: Question, request: &Request, report: &Ongoing) -> Result<UpstreamRequest, ApiError> {
    Ok(UpstreamRequest {
        model: Arc::clone(&app.language_model),
        question,
        wants_stream: request.stream,
        passing: Passing::Deltas,
        sources: None,
        explanation: request.explain.then(|| json_text(&report.explanation())).transpose()?,
        keep_alive: Duration::from_secs(app.settings.chat.keep_alive_seconds),
    })
}

/// Why no context was found. What would help is said where a person looks for it.
fn without_context(report: &Ongoing, relevant: usize) -> &'static str {
    match relevant {
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
async fn sources(selected: Vec<RetrievedChunk>) -> Result<String, ApiError> {
    let bytes = selected.iter().map(|chunk| chunk.text.len() + chunk.metadata_bytes).sum();
    let write = move |_: &_| json_text(&selected.into_iter().map(source_node).collect::<Vec<_>>());
    ragengine_compute::run(bytes, write).await
}

/// A chunk as chat replies show it.
fn source_node(chunk: RetrievedChunk) -> SourceNode {
    SourceNode {
        doc_id: chunk.doc_id,
        node_id: chunk.node_id,
        text: chunk.text,
        score: chunk.distance,
        metadata: (*chunk.metadata).clone(),
    }
}

fn json_text(value: &impl Serialize) -> Result<String, ApiError> {
    serde_json::to_string(value).map_err(|error| ApiError::Internal(error.to_string()))
}
