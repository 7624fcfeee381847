//! Builds the request to the language model from the decisions of the earlier steps.

use std::sync::Arc;
use std::time::Duration;

use ragengine_client::wire::SourceNode;
use ragengine_embedding::Windows;
use ragengine_pipeline::answer::CitationRules;
use ragengine_pipeline::chat_body::BodyChanges;
use ragengine_pipeline::request::Request;
use ragengine_traces::Span;
use serde::Serialize;

use super::answer_stages::{AnswerStages, Citable};
use super::answered_event::PendingEvent;
use super::cached::{Entry, Keys, Ticket};
use super::citations::{citation, source};
use super::closing::{CITATIONS, Closing, Keeping};
use super::context::Context;
use super::conversed::HISTORY_UNAVAILABLE;
use super::kept::{Kept, chunk_references, node_ids};
use super::no_policy::policy;
use super::ongoing::Ongoing;
use super::passage::ChatPassage;
use super::question::Asked;
use super::relay::{Fields, Passing};
use super::served::{self, model_of};
use crate::access::Caller;
use crate::app::App;
use crate::error::ApiError;
use crate::language_model::extractive::{NOTHING_FITS, NOTHING_RELEVANT, Quotable};
use crate::language_model::{LanguageModel, Origin, Question};
use crate::retrieval::stages::{self, Endpoint};

/// The answer of `/chat` to a question about which nothing is found (chat-service, "No chunks found").
const NOTHING_FOUND: &str = "No relevant information found";

/// The field of a completion with the passages in its prompt.
pub(super) const SOURCE_NODES: &str = "source_nodes";

/// A request to the language model, and the fields to add to its answer.
pub(super) struct UpstreamRequest {
    /// The language model that answers.
    pub model: Arc<LanguageModel>,
    /// What is asked.
    pub asking: Asking,
    /// Whether the caller requests a stream.
    pub wants_stream: bool,
    /// How the answer is forwarded to the client, and what is added to it.
    pub passing: Passing,
    /// The pause after which the client of a stream gets an SSE comment.
    pub keep_alive: Duration,
    /// What is kept of the chat. Boxed, because most chats have none.
    pub kept: Option<Box<Kept>>,
    /// What the cache did.
    pub cache: Option<&'static str>,
}

/// Who answers.
pub(super) enum Asking {
    /// The language model answers this question.
    Model(Question),
    /// The answer is this text.
    Nobody(String),
}

impl UpstreamRequest {
    /// Begins the span of the answer by the language model.
    pub fn span(&self) -> Span {
        match &self.asking {
            Asking::Model(question) => self.model.span(question),
            Asking::Nobody(_) => Span::default(),
        }
    }

    /// Whether another server computes the answer.
    pub fn is_for_endpoint(&self) -> bool {
        self.model.is_endpoint() && matches!(self.asking, Asking::Model(_))
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
    let passing = match policy(app)? {
        None if request.explain => Passing::AsItComes(vec![("explanation", json_text(&report.explanation())?)]),
        None => Passing::AsItComes(Fields::new()),
        guardrails => Passing::Completion(Box::new(Closing {
            endpoint: Endpoint::Completions,
            request_id: report.request_id.clone(),
            question: None,
            stages: AnswerStages { guardrails, ..AnswerStages::default() },
            fields: Fields::new(),
            explanation: request.explain.then(|| Box::new(report.explanation())),
            index_name: String::new(),
            verifier: None,
            metrics: Arc::clone(&app.metrics),
            choices: request.choices,
            event: None,
            keeping: None,
        })),
    };
    Ok(to_ask(app, Asking::Model(question), passing, &request))
}

/// The result of the search for a question.
pub(super) struct Findings<'a> {
    /// The question and its budget.
    pub asked: &'a Asked,
    /// Who asks.
    pub caller: &'a Caller,
    /// The vectors of the question.
    pub vectors: Windows,
    /// The question that needs no history.
    pub condensed_question: Option<String>,
    /// The context for the prompt.
    pub context: Context,
    /// The right to keep the answer for equal questions.
    pub ticket: Option<Box<Ticket>>,
}

/// An answer that was known.
pub(super) struct Known {
    /// The answer, with what its reply has.
    pub entry: Arc<Entry>,
    /// The keys of the question.
    pub keys: Keys,
    /// The question that needs no history.
    pub condensed_question: Option<String>,
}

/// Prepares the reply with an answer that was known. The language model is not asked.
///
/// # Errors
///
/// When the server is not ready, or there is no valid policy for answers.
pub(super) fn known(
    app: &App,
    (asked, caller): (&Asked, &Caller),
    Known { entry, keys, condensed_question }: Known,
    report: &mut Ongoing,
) -> Result<UpstreamRequest, ApiError> {
    let endpoint = asked.way.endpoint;
    report.is_known();
    let mut kept = Kept::known(app, asked, &entry, &keys)?.map(Box::new);
    let mut fields = Fields::new();
    if endpoint == Endpoint::Query {
        fields.push(("sources", entry.sources.clone()));
    }
    if let Some(citations) = &entry.citations {
        fields.push((CITATIONS, citations.clone()));
    }
    fields.extend(of_conversation(asked, kept.as_deref(), condensed_question.as_ref())?);
    if let Some(kept) = &mut kept {
        kept.begin_turn(asked, &entry.sources);
    }
    let closing = Box::new(Closing {
        question: (endpoint == Endpoint::Chat).then(|| asked.turn.user_prompt.clone()),
        event: PendingEvent::new(app, caller, asked, report.started(), entry.node_ids.len()),
        // The answer has passed its stages, under the policy that still holds.
        ..Closing::new(app, asked, report, fields)
    });
    let asking = Asking::Nobody(entry.answer.clone());
    Ok(UpstreamRequest { kept, ..to_ask(app, asking, Passing::Conversation(closing), &asked.request) })
}

/// The fields of a reply of our own, besides its answer and its passages.
fn of_conversation(
    asked: &Asked,
    kept: Option<&Kept>,
    condensed_question: Option<&String>,
) -> Result<Fields, ApiError> {
    let mut fields = Fields::new();
    let conversation = asked.way.conversation.as_ref();
    if let (Endpoint::Query, Some(conversation)) = (asked.way.endpoint, conversation) {
        fields.push(("session_id", json_text(&conversation.session_id)?));
    }
    if let Some(id) = kept.and_then(|kept| kept.answer_id.as_ref()) {
        fields.push(("answer_id", json_text(id)?));
    }
    if conversation.is_some_and(|conversation| conversation.place.is_none()) {
        fields.push(("history", HISTORY_UNAVAILABLE.to_owned()));
    }
    if let Some(question) = condensed_question {
        fields.push(("condensed_question", json_text(question)?));
    }
    Ok(fields)
}

/// Builds the request for an answer from an index.
pub(super) async fn answer(
    app: &App,
    findings: Findings<'_>,
    origin: Origin,
    report: &mut Ongoing,
) -> Result<UpstreamRequest, ApiError> {
    let Findings { asked, caller, vectors, condensed_question, context, ticket } = findings;
    let Context { passages, finished, has_context, relevant } = context;
    let keys = ticket.as_ref().map(|ticket| &ticket.keys);
    let mut kept = Kept::begin(app, asked, &vectors, &passages, keys)?.map(Box::new);
    if !has_context {
        report.passes_through(without_context(report, relevant));
    }
    let is_built_in = !app.language_model.is_endpoint();
    let endpoint = asked.way.endpoint;
    let passages: Arc<[ChatPassage]> = passages.into();
    let vector = vectors.mean();
    let asking = if endpoint == Endpoint::Chat && !has_context {
        Asking::Nobody(NOTHING_FOUND.to_owned())
    } else if is_built_in {
        let quotable = Quotable {
            embedding: asked.embedding.clone(),
            counter: app.loaded()?.embedding.clone(),
            question: vectors,
            passages: passages.iter().map(|passage| passage.chunk.text.clone()).collect(),
            otherwise: if relevant == 0 { NOTHING_RELEVANT } else { NOTHING_FITS },
            prompt_tokens: finished.map_or(asked.conversation_tokens, |finished| finished.prompt_tokens),
            include_usage: asked.request.include_usage,
        };
        Asking::Model(Question::quoting(quotable).asked_by(origin))
    } else {
        let (messages, max_tokens) = match finished {
            Some(finished) => (Some(finished.messages), finished.max_tokens),
            None => (None, asked.budget.max_tokens),
        };
        let changes = BodyChanges { default_model: asked.served.name.clone(), messages, max_tokens };
        Asking::Model(Question::changed(&asked.request, changes, origin).await?)
    };
    let stages = stages_of(app, asked, &asking, &passages)?;
    let mut fields = Fields::new();
    let mut kept_sources = None;
    if endpoint.is_conversational() {
        let is_cited = stages.citations.is_some();
        if !is_cited {
            let sources = numbered_sources(asked.index.name(), Arc::clone(&passages)).await?;
            fields.push(match endpoint {
                Endpoint::Chat => (CITATIONS, citations(Arc::clone(&passages)).await?),
                _ => ("sources", sources.clone()),
            });
            kept_sources = Some(sources);
        }
        fields.extend(of_conversation(asked, kept.as_deref(), condensed_question.as_ref())?);
    } else if has_context || is_built_in {
        fields.push((SOURCE_NODES, sources(Arc::clone(&passages)).await?));
    }
    if let (false, Some(question)) = (endpoint.is_conversational(), &condensed_question) {
        fields.push(("condensed_question", json_text(question)?));
    }
    if let Some(kept) = &mut kept {
        kept.begin_turn(asked, kept_sources.as_deref().unwrap_or("[]"));
    }
    let is_model_asked = matches!(asking, Asking::Model(_));
    let keeping = ticket.map(|ticket| {
        let min_similarity = app.settings.cache.min_similarity;
        // The next answer may be better than one for which a stage failed.
        let is_whole = !report.stages.iter().any(|stage| matches!(stage.outcome.as_str(), "failed" | "timeout"));
        let is_from_documents = is_model_asked && has_context && asked.has_no_history() && is_whole;
        let similarity = report.best_similarity().filter(|best| is_from_documents && *best >= min_similarity);
        let of_fields = |name: &str| fields.iter().find(|(field, _)| *field == name).map(|(_, value)| value.clone());
        let entry = Entry {
            answer: String::new(),
            sources: kept_sources.clone().unwrap_or_else(|| "[]".to_owned()),
            citations: of_fields(CITATIONS),
            node_ids: node_ids(&passages),
            chunk_references: chunk_references(&passages),
            vector,
        };
        Box::new(Keeping { ticket: *ticket, similarity, entry })
    });
    let event = PendingEvent::new(app, caller, asked, report.started(), report.found()).filter(|_| is_model_asked);
    let closing = Box::new(Closing {
        question: (endpoint == Endpoint::Chat).then(|| asked.turn.user_prompt.clone()),
        stages,
        explanation: asked.request.explain.then(|| Box::new(report.explanation())),
        verifier: app.settings.citations.verify.then(|| asked.embedding.clone()),
        event,
        keeping,
        ..Closing::new(app, asked, report, fields)
    });
    let passing =
        if endpoint.is_conversational() { Passing::Conversation(closing) } else { Passing::Completion(closing) };
    Ok(UpstreamRequest { kept, ..to_ask(app, asking, passing, &asked.request) })
}

/// The stages that the answer passes. An answer of our own passes none.
fn stages_of(
    app: &App,
    asked: &Asked,
    asking: &Asking,
    passages: &Arc<[ChatPassage]>,
) -> Result<AnswerStages, ApiError> {
    let is_own = matches!(asking, Asking::Nobody(_));
    let on = AnswerStages {
        postprocess: asked.on.postprocess && !is_own,
        citations: (asked.on.citations && !is_own).then(|| Citable {
            passages: Arc::clone(passages),
            rules: CitationRules {
                fallback: app.settings.citations.fallback_message.clone(),
                insufficient_phrases: app.settings.citations.insufficient_phrases.clone(),
            },
        }),
        guardrails: asked.policy.clone().filter(|_| !is_own),
    };
    let are_on = [
        ("postprocess", on.postprocess),
        ("citations", on.citations.is_some()),
        ("guardrails", on.guardrails.is_some()),
    ];
    for (stage, is_on) in are_on {
        if !is_on {
            stages::count(&app.metrics, asked.way.endpoint, stage, &[]);
        }
    }
    Ok(on)
}

fn to_ask(app: &App, asking: Asking, passing: Passing, request: &Request) -> UpstreamRequest {
    UpstreamRequest {
        model: Arc::clone(&app.language_model),
        asking,
        wants_stream: request.stream,
        passing,
        keep_alive: Duration::from_secs(app.settings.chat.keep_alive_seconds),
        kept: None,
        cache: None,
    }
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
async fn sources(passages: Arc<[ChatPassage]>) -> Result<String, ApiError> {
    let bytes = bytes_of(&passages);
    let write = move |_: &_| json_text(&passages.iter().map(source_node).collect::<Vec<_>>());
    ragengine_compute::run(bytes, write).await
}

/// The passages in the prompt with their numbers and relevance, as a JSON list.
async fn numbered_sources(index_name: &str, passages: Arc<[ChatPassage]>) -> Result<String, ApiError> {
    let (index_name, bytes) = (index_name.to_owned(), bytes_of(&passages));
    let numbered = move |(number, passage): (usize, &ChatPassage)| source(&index_name, number, passage);
    let write = move |_: &_| json_text(&(1..).zip(passages.iter()).map(numbered).collect::<Vec<_>>());
    ragengine_compute::run(bytes, write).await
}

/// The passages in the prompt as citations, as a JSON list.
async fn citations(passages: Arc<[ChatPassage]>) -> Result<String, ApiError> {
    let bytes = bytes_of(&passages);
    let numbered = |(number, passage): (usize, &ChatPassage)| citation(number, passage);
    let write = move |_: &_| json_text(&(1..).zip(passages.iter()).map(numbered).collect::<Vec<_>>());
    ragengine_compute::run(bytes, write).await
}

fn bytes_of(passages: &[ChatPassage]) -> usize {
    passages.iter().map(|passage| passage.chunk.text.len() + passage.chunk.metadata_bytes).sum()
}

/// Converts a passage to the form in chat replies. Its id is that of its best chunk.
fn source_node(ChatPassage { chunk, .. }: &ChatPassage) -> SourceNode {
    SourceNode {
        doc_id: chunk.doc_id.clone(),
        node_id: chunk.node_id.clone(),
        text: chunk.text.clone(),
        score: chunk.found.distance,
        metadata: (*chunk.metadata).clone(),
    }
}

fn json_text(value: &impl Serialize) -> Result<String, ApiError> {
    serde_json::to_string(value).map_err(|error| ApiError::Internal(error.to_string()))
}
