//! What is added to the end of an answer.

use std::sync::Arc;

use ragengine_client::wire::{Explanation, QuerySource};
use ragengine_embedding::Embedding;
use serde::Serialize;
use tracing::warn;

use super::answer_stages::{AnswerEnd, AnswerStages, Citable, CitedPassage};
use super::answered_event::PendingEvent;
use super::cached::{Entry, Ticket};
use super::citations::{citation, source, support};
use super::ongoing::Ongoing;
use super::passage::ChatPassage;
use super::question::Asked;
use super::relay::Fields;
use crate::app::App;
use crate::retrieval::stages::{self, Endpoint};
use crate::telemetry::metrics::Metrics;

/// The field of a reply with the cited passages.
pub(super) const CITATIONS: &str = "citations";

/// What is known before an answer about the fields that are added to its end.
pub(super) struct Closing {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The id of the request, for the log.
    pub request_id: String,
    /// The question, for replies that repeat it.
    pub question: Option<String>,
    /// The stages that the answer passes.
    pub stages: AnswerStages,
    /// The fields that do not depend on the answer.
    pub fields: Fields,
    /// The explanation, which the stages of the answer are added to.
    pub explanation: Option<Box<Explanation>>,
    /// The index.
    pub index_name: String,
    /// The embedding model that verifies citations. None: they are not verified.
    pub verifier: Option<Embedding>,
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// The number of answers that the caller asks for.
    pub choices: u64,
    /// The event about the answer.
    pub event: Option<PendingEvent>,
    /// What to keep for equal questions.
    pub keeping: Option<Box<Keeping>>,
}

/// An answer that may be kept for equal questions.
pub(super) struct Keeping {
    /// The right to keep it.
    pub ticket: Ticket,
    /// The similarity of the best chunk. It is enough, and nothing else than the documents was in the prompt.
    pub similarity: f32,
    /// What is known before the answer.
    pub entry: Entry,
}

impl Keeping {
    /// Keeps an answer. Without a text nothing is kept, and equal questions go on alone.
    async fn keep(self, text: Option<&str>, citation_count: Option<u64>, closed: &Closed) {
        let Self { ticket, similarity, entry } = self;
        let sources = closed.sources.clone().unwrap_or_else(|| entry.sources.clone());
        let citations = closed.fields.iter().find(|(name, _)| *name == CITATIONS).map(|(_, value)| value.clone());
        let citations = citations.or_else(|| entry.citations.clone());
        let kept = text.map(|text| Entry { answer: text.to_owned(), sources, citations, citation_count, ..entry });
        ticket.end(kept, similarity).await;
    }
}

/// The end of an answer.
#[derive(Default)]
pub(super) struct Closed {
    /// The fields that are added to it.
    pub fields: Fields,
    /// The cited passages as a JSON list, for the history. None if all passages of the prompt are its sources.
    pub sources: Option<String>,
}

impl Closing {
    /// An answer from an index that passes no stages.
    pub fn new(app: &App, asked: &Asked, report: &Ongoing, fields: Fields) -> Self {
        Self {
            endpoint: asked.way.endpoint,
            request_id: report.request_id.clone(),
            question: None,
            stages: AnswerStages::default(),
            fields,
            explanation: None,
            index_name: asked.index.name().to_owned(),
            verifier: None,
            metrics: Arc::clone(&app.metrics),
            choices: 1,
            event: None,
            keeping: None,
        }
    }

    /// The fields of an answer that passes no stages.
    pub fn into_fields(self) -> Fields {
        let mut fields = self.fields;
        fields.extend(self.explanation.and_then(|explanation| json_field("explanation", &explanation)));
        fields
    }

    /// Ends an answer, which has this text after its stages.
    pub async fn close(mut self, end: AnswerEnd, text: &str, finish_reason: Option<&str>) -> Closed {
        for stage in &end.stages {
            stages::count(&self.metrics, self.endpoint, &stage.stage, &end.stages);
        }
        if end.is_rejected() {
            self.log_rejected(end.answer.as_deref());
        }
        if end.is_blocked() {
            warn!(request_id = self.request_id, endpoint = self.endpoint.label(), "answer blocked by guardrails");
        }
        let mut closed = Closed::default();
        let cited = end.shown_citations(text);
        let citation_count = cited.as_ref().and_then(|cited| u64::try_from(cited.len()).ok());
        if let (Some(cited), Some(citable)) = (&cited, self.stages.citations.take()) {
            closed = self.cite(cited, &citable, text).await;
        }
        self.event.take().into_iter().for_each(|event| event.publish(text, citation_count));
        if let Some(keeping) = self.keeping.take() {
            let is_good = finish_reason == Some("stop") && end.is_good();
            keeping.keep(is_good.then_some(text), citation_count, &closed).await;
        }
        if let Some(question) = self.question.take().and_then(|question| json_field("query", &question)) {
            closed.fields.insert(0, question);
        }
        closed.fields.append(&mut self.fields);
        if let Some(mut explanation) = self.explanation {
            explanation.stages.extend(end.stages);
            closed.fields.extend(json_field("explanation", &explanation));
        }
        closed
    }

    /// The fields with the cited passages.
    async fn cite(&self, cited: &[CitedPassage], Citable { passages, .. }: &Citable, text: &str) -> Closed {
        let numbered: Vec<(usize, &ChatPassage)> =
            cited.iter().filter_map(|cited| Some((cited.number, passages.get(cited.position)?))).collect();
        let mut citations: Vec<_> = numbered.iter().map(|(number, passage)| citation(*number, passage)).collect();
        if let Some(embedding) = &self.verifier {
            let found = support(embedding, text, passages, cited).await;
            for (citation, support) in citations.iter_mut().zip(found) {
                support.iter().for_each(|support| self.metrics.citation_support(self.endpoint.label(), *support));
                citation.support = Some(support);
            }
        }
        let sources: Vec<QuerySource> =
            numbered.iter().map(|(number, passage)| source(&self.index_name, *number, passage)).collect();
        let sources = serde_json::to_string(&sources).unwrap_or_else(|_| "[]".to_owned());
        let mut fields = Fields::new();
        if self.endpoint == Endpoint::Query {
            fields.push(("sources", sources.clone()));
        }
        fields.extend(json_field(CITATIONS, &citations));
        Closed { fields, sources: Some(sources) }
    }

    /// Logs an answer that cites nothing, in whose place the fallback message was sent.
    fn log_rejected(&self, answer: Option<&str>) {
        let (request_id, endpoint) = (&self.request_id, self.endpoint.label());
        warn!(request_id, endpoint, answer, "answer rejected: it cites no passage");
    }
}

/// A field of a reply. None if the value cannot be written, which none of ours is.
fn json_field(name: &'static str, value: &impl Serialize) -> Option<(&'static str, String)> {
    Some((name, serde_json::to_string(value).ok()?))
}
