//! Builds the request to the language model from the decisions of the earlier steps.

use std::sync::Arc;
use std::time::Duration;

use ragengine_client::wire::{QuerySource, SourceNode};
use ragengine_embedding::Windows;
use ragengine_pipeline::chat_body::BodyChanges;
use ragengine_pipeline::request::Request;
use serde::Serialize;

use super::context::Context;
use super::conversed::HISTORY_UNAVAILABLE;
use super::kept::Kept;
use super::ongoing::Ongoing;
use super::passage::ChatPassage;
use super::question::Asked;
use super::relay::{Fields, Passing};
use super::served::{self, model_of};
use crate::app::App;
use crate::error::ApiError;
use crate::language_model::extractive::{NOTHING_FITS, NOTHING_RELEVANT, Quotable};
use crate::language_model::{LanguageModel, Origin, Question};

/// The field of a completion with the passages in its prompt.
pub(super) const SOURCE_NODES: &str = "source_nodes";

/// A request to the language model, and the fields to add to its answer.
pub(super) struct UpstreamRequest {
    /// The language model that answers.
    pub model: Arc<LanguageModel>,
    /// The question to send.
    pub question: Question,
    /// Whether the caller requests a stream.
    pub wants_stream: bool,
    /// How the answer is forwarded to the client.
    pub passing: Passing,
    /// The fields to add to the answer: the passages in the prompt, the explanation, and those of a conversation.
    pub fields: Fields,
    /// The pause after which the client of a stream gets an SSE comment.
    pub keep_alive: Duration,
    /// What is kept of the chat. Boxed, because most chats have none.
    pub kept: Option<Box<Kept>>,
}

impl UpstreamRequest {
    /// Whether another server computes the answer.
    pub fn is_for_endpoint(&self) -> bool {
        self.model.is_endpoint()
    }
}

/// A pass-through request: the caller's original bytes, unless one of our fields must be removed.
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
        let changes =
            BodyChanges { default_model: model_of(upstream, request.model.as_deref()).await, ..BodyChanges::default() };
        Question::changed(&request, changes, origin).await?
    };
    Ok(UpstreamRequest { passing: Passing::AsItComes, ..to_ask(app, question, &request, report)? })
}

/// The result of the search for a question.
pub(super) struct Findings<'a> {
    /// The question and its budget.
    pub asked: &'a Asked,
    /// The vectors of the question.
    pub vectors: Windows,
    /// The question that needs no history.
    pub condensed_question: Option<String>,
    /// The context for the prompt.
    pub context: Context,
}

/// Builds the request for an answer from an index.
pub(super) async fn answer(
    app: &App,
    findings: Findings<'_>,
    origin: Origin,
    report: &mut Ongoing,
) -> Result<UpstreamRequest, ApiError> {
    let Findings { asked, vectors, condensed_question, context } = findings;
    let Context { passages, finished, has_context, relevant } = context;
    let mut kept = Kept::begin(app, asked, &vectors, &passages)?.map(Box::new);
    if !has_context {
        report.passes_through(without_context(report, relevant));
    }
    let is_built_in = !app.language_model.is_endpoint();
    let question = if is_built_in {
        let quotable = Quotable {
            embedding: asked.embedding.clone(),
            counter: app.loaded()?.embedding.clone(),
            question: vectors,
            passages: passages.iter().map(|passage| passage.chunk.text.clone()).collect(),
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
    let request = to_ask(app, question, &asked.request, report)?;
    let mut fields = Fields::new();
    let mut kept_sources = None;
    if let Some(conversation) = &asked.way.conversation {
        let sources = numbered_sources(asked.index.name(), passages).await?;
        kept_sources = Some(sources.clone());
        fields.extend([("sources", sources), ("session_id", json_text(&conversation.session_id)?)]);
        if let Some(id) = kept.as_ref().and_then(|kept| kept.answer_id.as_ref()) {
            fields.push(("answer_id", json_text(id)?));
        }
        if conversation.place.is_none() {
            fields.push(("history", HISTORY_UNAVAILABLE.to_owned()));
        }
    } else if has_context || is_built_in {
        fields.push((SOURCE_NODES, sources(passages).await?));
    }
    if let Some(question) = condensed_question {
        fields.push(("condensed_question", json_text(&question)?));
    }
    fields.extend(request.fields);
    if let (Some(kept), Some(sources)) = (&mut kept, kept_sources) {
        kept.begin_turn(asked, &sources);
    }
    let passing = if asked.way.conversation.is_some() { Passing::Tokens } else { Passing::Deltas };
    Ok(UpstreamRequest { fields, kept, passing, ..request })
}

fn to_ask(app: &App, question: Question, request: &Request, report: &Ongoing) -> Result<UpstreamRequest, ApiError> {
    Ok(UpstreamRequest {
        model: Arc::clone(&app.language_model),
        question,
        wants_stream: request.stream,
        passing: Passing::Deltas,
        fields: if request.explain { vec![("explanation", json_text(&report.explanation())?)] } else { Fields::new() },
        keep_alive: Duration::from_secs(app.settings.chat.keep_alive_seconds),
        kept: None,
    })
}

/// The reason why the prompt has no context. Logs advice if chunks were found but do not fit.
fn without_context(report: &Ongoing, relevant: usize) -> &'static str {
    match relevant {
        0 => "nothing_relevant",
        relevant => {
            tracing::warn!(
                request_id = report.request_id,
                relevant,
                "no relevant chunk fits into the context budget: raise max_tokens \
                 (or context_token_ratio) in the request"
            );
            "over_budget"
        }
    }
}

/// The passages in the prompt, as a JSON list.
async fn sources(passages: Vec<ChatPassage>) -> Result<String, ApiError> {
    let bytes = passages.iter().map(|passage| passage.chunk.text.len() + passage.chunk.metadata_bytes).sum();
    let write = move |_: &_| json_text(&passages.into_iter().map(source_node).collect::<Vec<_>>());
    ragengine_compute::run(bytes, write).await
}

/// The passages in the prompt with their numbers and relevance, as a JSON list.
async fn numbered_sources(index_name: &str, passages: Vec<ChatPassage>) -> Result<String, ApiError> {
    let index_name = index_name.to_owned();
    let bytes = passages.iter().map(|passage| passage.chunk.text.len() + passage.chunk.metadata_bytes).sum();
    let numbered = move |(place, ChatPassage { chunk, .. }): (usize, ChatPassage)| QuerySource {
        number: place + 1,
        index_name: index_name.clone(),
        doc_id: chunk.doc_id,
        node_id: chunk.node_id,
        text: chunk.text,
        score: chunk.found.score,
        metadata: (*chunk.metadata).clone(),
    };
    let write = move |_: &_| json_text(&passages.into_iter().enumerate().map(numbered).collect::<Vec<_>>());
    ragengine_compute::run(bytes, write).await
}

/// Converts a passage to the form in chat replies. Its id is that of its best chunk.
fn source_node(ChatPassage { chunk, .. }: ChatPassage) -> SourceNode {
    SourceNode {
        doc_id: chunk.doc_id,
        node_id: chunk.node_id,
        text: chunk.text,
        score: chunk.found.distance,
        metadata: (*chunk.metadata).clone(),
    }
}

fn json_text(value: &impl Serialize) -> Result<String, ApiError> {
    serde_json::to_string(value).map_err(|error| ApiError::Internal(error.to_string()))
}
