//! Builds the request to the language model from the decisions of the earlier steps.

mod answer;
mod known;
mod passages;

use std::sync::Arc;
use std::time::Duration;

use ragengine_pipeline::chat_body::BodyChanges;
use ragengine_pipeline::request::Request;
use ragengine_traces::Span;
use serde::Serialize;

pub(super) use self::answer::{Findings, answer};
pub(super) use self::known::{Known, known};
use super::answer_stages::AnswerStages;
use super::closing::Closing;
use super::kept::Kept;
use super::no_policy::policy;
use super::ongoing::Ongoing;
use super::relay::{Fields, Passing};
use super::served::{self, model_of};
use crate::app::App;
use crate::error::ApiError;
use crate::language_model::{LanguageModel, Origin, Question};
use crate::retrieval::stages::Endpoint;

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
    /// The answer is this text, without a model.
    NoModel(String),
}

impl UpstreamRequest {
    /// Begins the span of the answer by the language model.
    pub fn span(&self) -> Span {
        match &self.asking {
            Asking::Model(question) => self.model.span(question),
            Asking::NoModel(_) => Span::default(),
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

fn json_text(value: &impl Serialize) -> Result<String, ApiError> {
    serde_json::to_string(value).map_err(|error| ApiError::Internal(error.to_string()))
}
