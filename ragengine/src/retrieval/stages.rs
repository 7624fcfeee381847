//! The stages of the pipeline: which are on, and what each did.

use std::time::{Duration, Instant};

use ragengine_client::wire::ExplainedStage;
use ragengine_pipeline::request::{Condensing, ContextFormat, Diversity, Reranking, RetrievalMode, StageChoices};
use ragengine_settings::Settings;
use ragengine_traces::Span;

use crate::telemetry::metrics::Metrics;

/// An endpoint with a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// `/v1/chat/completions`.
    Completions,
    /// `/retrieve`.
    Retrieve,
    /// `/query`.
    Query,
    /// `/chat`.
    Chat,
}

impl Endpoint {
    /// The name for metric labels.
    pub fn label(self) -> &'static str {
        match self {
            Self::Completions => "completions",
            Self::Retrieve => "retrieve",
            Self::Query => "query",
            Self::Chat => "chat",
        }
    }

    /// Whether the reply is ours, with the text of the answer, and not the language model's.
    pub fn is_conversational(self) -> bool {
        matches!(self, Self::Query | Self::Chat)
    }

    /// The stages that are on, given the choices of a request.
    pub fn stages(self, settings: &Settings, choices: &StageChoices) -> StagesOn {
        let by_default = match self {
            Self::Completions => {
                let on = &settings.endpoints.completions;
                StagesOn {
                    condense: on.condense,
                    reformulate: on.reformulate,
                    acronyms: on.acronyms,
                    filters: on.filter_rules,
                    retrieval: on.retrieval,
                    feedback: on.feedback,
                    recency: on.recency,
                    rerank: on.rerank,
                    diversity: on.diversity,
                    interactions: on.interactions,
                    context_format: on.context_format,
                    postprocess: on.postprocess,
                    citations: on.citations,
                    cache: false,
                    events: false,
                }
            }
            Self::Retrieve => {
                let on = &settings.endpoints.retrieve;
                StagesOn {
                    condense: Condensing::Never,
                    reformulate: false,
                    acronyms: on.acronyms,
                    filters: on.filter_rules,
                    retrieval: on.retrieval,
                    feedback: false,
                    recency: false,
                    rerank: Reranking::Never,
                    diversity: Diversity::None,
                    interactions: false,
                    context_format: ContextFormat::Numbered,
                    postprocess: false,
                    citations: false,
                    cache: false,
                    events: false,
                }
            }
            Self::Query => {
                let on = &settings.endpoints.query;
                StagesOn {
                    condense: on.condense,
                    reformulate: on.reformulate,
                    acronyms: on.acronyms,
                    filters: on.filter_rules,
                    retrieval: on.retrieval,
                    feedback: on.feedback,
                    recency: on.recency,
                    rerank: on.rerank,
                    diversity: on.diversity,
                    interactions: on.interactions,
                    context_format: on.context_format,
                    postprocess: on.postprocess,
                    citations: on.citations,
                    cache: on.cache,
                    events: on.events,
                }
            }
            Self::Chat => {
                let on = &settings.endpoints.chat;
                StagesOn {
                    condense: on.condense,
                    reformulate: on.reformulate,
                    acronyms: on.acronyms,
                    filters: on.filter_rules,
                    retrieval: on.retrieval,
                    feedback: on.feedback,
                    recency: on.recency,
                    rerank: on.rerank,
                    diversity: on.diversity,
                    interactions: on.interactions,
                    context_format: on.context_format,
                    postprocess: on.postprocess,
                    citations: on.citations,
                    cache: on.cache,
                    events: on.events,
                }
            }
        };
        StagesOn {
            condense: choices.condense.unwrap_or(by_default.condense),
            reformulate: choices.reformulate.unwrap_or(by_default.reformulate),
            acronyms: choices.acronyms.unwrap_or(by_default.acronyms),
            filters: choices.filter_rules.unwrap_or(by_default.filters),
            retrieval: choices.retrieval.unwrap_or(by_default.retrieval),
            feedback: choices.feedback.unwrap_or(by_default.feedback) && settings.feedback.enabled,
            recency: choices.recency.unwrap_or(by_default.recency),
            rerank: choices.rerank.unwrap_or(by_default.rerank),
            diversity: choices.diversity.unwrap_or(by_default.diversity),
            interactions: choices.interactions.unwrap_or(by_default.interactions) && settings.interactions.enabled,
            context_format: choices.context_format.unwrap_or(by_default.context_format),
            postprocess: choices.postprocess.unwrap_or(by_default.postprocess),
            citations: choices.citations.unwrap_or(by_default.citations),
            cache: self.is_conversational() && choices.cache.unwrap_or(by_default.cache),
            events: self.is_conversational() && choices.events.unwrap_or(by_default.events),
        }
    }

    /// Whether the endpoint has a stage that a request or the settings can turn on.
    fn has(self, stage: &str) -> bool {
        match self {
            Self::Retrieve => matches!(stage, "acronyms" | "filters" | "retrieval"),
            Self::Completions => !matches!(stage, "session" | "cache" | "events"),
            Self::Query | Self::Chat => true,
        }
    }
}

/// The stages that are on for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StagesOn {
    /// When the question is rewritten with the history.
    pub condense: Condensing,
    /// Whether the question is rewritten for the search.
    pub reformulate: bool,
    /// Whether acronyms are expanded.
    pub acronyms: bool,
    /// Whether a filter is chosen by the words of the query.
    pub filters: bool,
    /// How chunks are found.
    pub retrieval: RetrievalMode,
    /// Whether votes on earlier answers change the order.
    pub feedback: bool,
    /// Whether the newer of similar chunks comes first.
    pub recency: bool,
    /// When the best chunks are put in order by a model.
    pub rerank: Reranking,
    /// What is done about chunks that say the same.
    pub diversity: Diversity,
    /// Whether earlier questions and their answers are in the prompt.
    pub interactions: bool,
    /// The form of the passages in the prompt.
    pub context_format: ContextFormat,
    /// Whether HTML in the answer becomes Markdown.
    pub postprocess: bool,
    /// Whether the citations of the answer are checked and renumbered.
    pub citations: bool,
    /// Whether an earlier answer to the same question may be given.
    pub cache: bool,
    /// Whether events are published.
    pub events: bool,
}

impl StagesOn {
    /// Whether the language model may rewrite the question.
    pub fn rewrites(self) -> bool {
        self.condense != Condensing::Never || self.reformulate
    }

    /// Whether chunks are found by their vectors only and nothing changes their order.
    pub fn is_plain(self) -> bool {
        self.retrieval == RetrievalMode::Dense
            && !self.feedback
            && !self.recency
            && self.rerank == Reranking::Never
            && self.diversity == Diversity::None
    }
}

/// A stage that ended. Its outcome becomes that of the current span.
pub fn ended(stage: &str, outcome: &str, started: Instant) -> ExplainedStage {
    if Span::is_recorded() {
        Span::current().ended_with(outcome);
    }
    explained(stage, outcome, started.elapsed())
}

/// A stage without a separate span that ended. It becomes a part of the current span.
pub fn passed(stage: &'static str, outcome: &str, took: Duration) -> ExplainedStage {
    ragengine_traces::passed(stage, outcome, took);
    explained(stage, outcome, took)
}

/// A stage in an explanation.
pub fn explained(stage: &str, outcome: &str, took: Duration) -> ExplainedStage {
    ExplainedStage {
        stage: stage.to_owned(),
        outcome: outcome.to_owned(),
        elapsed_ms: took.as_secs_f64() * 1000.0,
        ..ExplainedStage::default()
    }
}

/// `done` or `unchanged`.
pub fn outcome(has_changed: bool) -> &'static str {
    if has_changed { "done" } else { "unchanged" }
}

/// Counts a stage, with the outcome `off` if it was not on.
pub fn count(metrics: &Metrics, endpoint: Endpoint, stage: &str, stages: &[ExplainedStage]) {
    if endpoint.has(stage) {
        let outcome = stages.iter().find(|done| done.stage == stage).map_or("off", |done| done.outcome.as_str());
        metrics.pipeline_stage(endpoint.label(), stage, outcome);
    }
}
