//! An answer from an index: who gives it, the stages that it passes, and the fields of its reply.

use std::sync::Arc;

use ragengine_embedding::Windows;
use ragengine_pipeline::answer::CitationRules;
use ragengine_pipeline::chat_body::BodyChanges;
use ragengine_pipeline::finish::FinishedPrompt;

use super::super::answer_stages::{AnswerStages, Citable};
use super::super::answered_event::PendingEvent;
use super::super::cached::{Entry, Ticket};
use super::super::closing::{CITATIONS, Closing, Keeping};
use super::super::context::Context;
use super::super::kept::{Kept, chunk_references, node_ids};
use super::super::ongoing::Ongoing;
use super::super::passage::ChatPassage;
use super::super::question::Asked;
use super::super::relay::{Fields, Passing};
use super::known::of_conversation;
use super::passages::{citations, numbered_sources, sources};
use super::{Asking, SOURCE_NODES, UpstreamRequest, json_text, to_ask};
use crate::access::Caller;
use crate::app::App;
use crate::error::ApiError;
use crate::language_model::extractive::{NOTHING_FITS, NOTHING_RELEVANT, Quotable};
use crate::language_model::{Origin, Question};
use crate::retrieval::stages::{self, Endpoint};

/// The answer of `/chat` to a question about which nothing is found.
const NOTHING_FOUND: &str = "No relevant information found";

/// The answer to a question about which passages are found, but none fits, where a request has no fields for tokens.
const NONE_FITS: &str = "Relevant passages were found, but none fits into the context.";

/// The result of the search for a question.
pub(in super::super) struct Findings<'a> {
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

/// The context of a prompt, for the reply.
struct Answered {
    passages: Arc<[ChatPassage]>,
    finished: Option<FinishedPrompt>,
    has_context: bool,
    relevant: usize,
}

/// Builds the request for an answer from an index.
pub(in super::super) async fn answer(
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
        report.passes_through(without_context(report, asked.way.endpoint, relevant));
    }
    let vector = vectors.mean();
    let answered = Answered { passages: passages.into(), finished, has_context, relevant };
    let passages = Arc::clone(&answered.passages);
    let asking = asking(app, asked, answered, vectors, origin).await?;
    let is_model_asked = matches!(asking, Asking::Model(_));
    let stages = stages_of(app, asked, &asking, &passages);
    let kept_sources = if asked.way.endpoint.is_conversational() && stages.citations.is_none() {
        Some(numbered_sources(asked.index.name(), Arc::clone(&passages)).await?)
    } else {
        None
    };
    let shown = Shown {
        passages: &passages,
        has_context,
        condensed_question,
        sources: kept_sources.as_deref(),
        cites_nothing: asked.on.citations && stages.citations.is_none() && asked.way.endpoint != Endpoint::Chat,
    };
    let fields = shown.fields(app, asked, kept.as_deref()).await?;
    if let Some(kept) = &mut kept {
        kept.begin_turn(asked, kept_sources.as_deref().unwrap_or("[]"));
    }
    let found = u64::try_from(report.found()).ok();
    let entry = || Entry {
        answer: String::new(),
        sources: kept_sources.clone().unwrap_or_else(|| "[]".to_owned()),
        citations: fields.iter().find(|(field, _)| *field == CITATIONS).map(|(_, value)| value.clone()),
        node_ids: node_ids(&passages),
        chunk_references: chunk_references(&passages),
        citation_count: None,
        retrieval_count: found,
        vector,
    };
    let is_from_documents = is_model_asked && has_context && asked.has_no_history();
    let similarity = similarity_to_keep(app, report).filter(|_| is_from_documents);
    let keeping = match (ticket, similarity) {
        (Some(ticket), Some(similarity)) => Some(Box::new(Keeping { ticket: *ticket, similarity, entry: entry() })),
        (Some(ticket), None) => {
            // Equal questions do not wait for an answer that is not kept.
            ticket.end(None, 0.0).await;
            None
        }
        (None, _) => None,
    };
    let event = PendingEvent::new(app, caller, asked, report.started(), found).filter(|_| is_model_asked);
    let closing = Box::new(Closing {
        question: (asked.way.endpoint == Endpoint::Chat).then(|| asked.turn.user_prompt.clone()),
        stages,
        explanation: asked.request.explain.then(|| Box::new(report.explanation())),
        verifier: app.settings.citations.verify.then(|| asked.embedding.clone()),
        event,
        keeping,
        ..Closing::new(app, asked, report, fields)
    });
    let passing = if asked.way.endpoint.is_conversational() {
        Passing::Conversation(closing)
    } else {
        Passing::Completion(closing)
    };
    Ok(UpstreamRequest { kept, ..to_ask(app, asking, passing, &asked.request) })
}

/// Who answers: the language model, the built-in model, or no model.
async fn asking(
    app: &App,
    asked: &Asked,
    answered: Answered,
    question: Windows,
    origin: Origin,
) -> Result<Asking, ApiError> {
    let Answered { passages, finished, has_context, relevant } = answered;
    if asked.way.endpoint == Endpoint::Chat && !has_context {
        return Ok(Asking::NoModel(if relevant == 0 { NOTHING_FOUND } else { NONE_FITS }.to_owned()));
    }
    if !app.language_model.is_endpoint() {
        let quotable = Quotable {
            embedding: asked.embedding.clone(),
            counter: app.loaded()?.embedding.clone(),
            question,
            passages: passages.iter().map(|passage| passage.chunk.text.clone()).collect(),
            otherwise: match relevant {
                0 => NOTHING_RELEVANT,
                _ if asked.way.endpoint.is_conversational() => NONE_FITS,
                _ => NOTHING_FITS,
            },
            prompt_tokens: finished.map_or(asked.conversation_tokens, |finished| finished.prompt_tokens),
            include_usage: asked.request.include_usage,
        };
        return Ok(Asking::Model(Question::quoting(quotable).asked_by(origin)));
    }
    let (messages, max_tokens) = match finished {
        Some(finished) => (Some(finished.messages), finished.max_tokens),
        None => (None, asked.budget.max_tokens),
    };
    let changes = BodyChanges { default_model: asked.served.name.clone(), messages, max_tokens };
    Ok(Asking::Model(Question::changed(&asked.request, changes, origin).await?))
}

/// What a reply shows besides the answer.
struct Shown<'a> {
    passages: &'a Arc<[ChatPassage]>,
    has_context: bool,
    condensed_question: Option<String>,
    /// The passages with their numbers. None if the answer says which it cites.
    sources: Option<&'a str>,
    /// Citations are on, but there is nothing to cite.
    cites_nothing: bool,
}

impl Shown<'_> {
    /// The fields that do not depend on the answer.
    async fn fields(&self, app: &App, asked: &Asked, kept: Option<&Kept>) -> Result<Fields, ApiError> {
        let mut fields = Fields::new();
        let endpoint = asked.way.endpoint;
        if endpoint.is_conversational() {
            match (endpoint, self.sources) {
                (_, None) => {}
                (Endpoint::Chat, Some(_)) => fields.push((CITATIONS, citations(Arc::clone(self.passages)).await?)),
                (_, Some(sources)) => fields.push(("sources", sources.to_owned())),
            }
            fields.extend(self.no_citations());
            fields.extend(of_conversation(asked, kept, self.condensed_question.as_ref())?);
            return Ok(fields);
        }
        if self.has_context || !app.language_model.is_endpoint() {
            fields.push((SOURCE_NODES, sources(Arc::clone(self.passages)).await?));
        }
        fields.extend(self.no_citations());
        if let Some(question) = &self.condensed_question {
            fields.push(("condensed_question", json_text(question)?));
        }
        Ok(fields)
    }

    fn no_citations(&self) -> Option<(&'static str, String)> {
        self.cites_nothing.then(|| (CITATIONS, "[]".to_owned()))
    }
}

/// The similarity of the best chunk, if it is enough to keep the answer for equal questions. If a stage failed, the next
/// answer may be better.
fn similarity_to_keep(app: &App, report: &Ongoing) -> Option<f32> {
    let has_failed = report.stages.iter().any(|stage| matches!(stage.outcome.as_str(), "failed" | "timeout"));
    report.best_similarity().filter(|best| !has_failed && *best >= app.settings.cache.min_similarity)
}

/// The stages that the answer passes. An answer of our own passes none. Citations are checked if there is something to
/// cite: an answer without documents is not made from them. `/chat` answers from documents only, so it always checks.
fn stages_of(app: &App, asked: &Asked, asking: &Asking, passages: &Arc<[ChatPassage]>) -> AnswerStages {
    let is_own = matches!(asking, Asking::NoModel(_));
    let is_citable = !passages.is_empty() || asked.way.endpoint == Endpoint::Chat;
    let on = AnswerStages {
        postprocess: asked.on.postprocess && !is_own,
        citations: (asked.on.citations && is_citable && !is_own).then(|| Citable {
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
    on
}

/// The reason why the prompt has no context. Logs advice if chunks were found but do not fit.
fn without_context(report: &Ongoing, endpoint: Endpoint, relevant: usize) -> &'static str {
    if relevant == 0 {
        return "nothing_relevant";
    }
    let (request_id, hint) = (&report.request_id, more_room(endpoint));
    tracing::warn!(request_id, relevant, hint, "no relevant chunk fits into the context budget");
    "over_budget"
}

/// What gives the documents more tokens.
fn more_room(endpoint: Endpoint) -> &'static str {
    match endpoint {
        Endpoint::Chat => "raise endpoints.chat.maxContextTokens, or lower endpoints.chat.maxTokens",
        Endpoint::Query => "raise endpoints.query.contextRatio, or lower endpoints.query.answerRatio",
        Endpoint::Completions | Endpoint::Retrieve => "raise max_tokens (or context_token_ratio) in the request",
    }
}
