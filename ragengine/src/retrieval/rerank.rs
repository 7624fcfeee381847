//! Puts the best chunks in the order of a model: the language model, or a reranker.

mod endpoint;
mod error;
mod local;
mod wire;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ragengine_client::wire::ExplainedStage;
use ragengine_engine::Candidates;
use ragengine_errors::Logged as _;
use ragengine_index::IndexError;
use ragengine_index::search::RetrievedChunk;
use ragengine_pipeline::prompt::Passage;
use ragengine_pipeline::ranking::rerank::{MAX_SENT, Rules, Trigger, order, prompt, trigger};
use ragengine_pipeline::request::Reranking;
use ragengine_pipeline::words::Words;
use ragengine_settings::{Rerank, RerankBackend};
use serde_json::Value;
use tokio::time::timeout;
use tracing::warn;

use self::endpoint::Endpoint;
use self::error::RerankError;
use self::local::Local;
use super::Search;
use super::stages::{ended, outcome};
use crate::app::App;
use crate::boundary::new_boundary;
use crate::error::ApiError;

/// The most tokens of the language model's reply: a list of numbers.
const MAX_TOKENS: u32 = 256;

/// What puts chunks in order, and when.
pub struct Reranker {
    rules: Arc<Rules>,
    backend: Backend,
}

enum Backend {
    /// The language model: this one, or that of the answer.
    LanguageModel { model: Option<String> },
    /// A reranker.
    Endpoint(Box<Endpoint>),
    /// A cross-encoder in this process.
    Local(Box<Local>),
}

/// Chunks that a model put in order, if it was asked.
pub struct Reranked {
    /// The chunks.
    pub candidates: Candidates,
    /// Whether the model put them in order, even if that is the order they had.
    pub is_ordered: bool,
    /// What the stage did. None if it is off.
    pub stage: Option<ExplainedStage>,
}

impl Reranker {
    /// Reads the settings, with the key. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// A message if the key cannot be read, or the address is invalid.
    pub fn new(settings: &Rerank) -> Result<Self, String> {
        let words = |phrases: &[String]| phrases.iter().map(|phrase| Words::of(phrase)).collect();
        let rules = Rules {
            score_spread: settings.score_spread,
            temporal_words: words(&settings.temporal_words),
            comparison_words: words(&settings.comparison_words),
        };
        let backend = match settings.backend {
            RerankBackend::Llm => Backend::LanguageModel { model: settings.model.clone() },
            RerankBackend::Endpoint => Backend::Endpoint(Box::new(Endpoint::new(settings)?)),
            RerankBackend::Local => Backend::Local(Box::new(Local::new(settings)?)),
        };
        Ok(Self { rules: Arc::new(rules), backend })
    }

    /// Starts to load the cross-encoder in the background, if there is one. Repeated calls do nothing.
    pub fn start(&self, data_dir: &Path) {
        if let Backend::Local(local) = &self.backend {
            local.start(data_dir);
        }
    }

    /// Why loading the cross-encoder failed. None while it loads, when it is loaded, or without one.
    pub fn problem(&self) -> Option<String> {
        match &self.backend {
            Backend::Local(local) => local.failure(),
            Backend::LanguageModel { .. } | Backend::Endpoint(_) => None,
        }
    }

    /// Puts the best chunks in order if a trigger holds. If that fails, the order stays. Without context there is
    /// nothing to order.
    ///
    /// # Errors
    ///
    /// If the disk fails, or the server is shutting down.
    pub async fn rerank(
        &self,
        app: &App,
        search: &Search,
        candidates: Candidates,
        has_context: bool,
    ) -> Result<Reranked, ApiError> {
        if !self.is_possible(search) {
            return Ok(Reranked { candidates, is_ordered: false, stage: None });
        }
        let started = Instant::now();
        let stage = |outcome| Some(ended("rerank", outcome, started));
        let choosing = Choosing {
            rules: Arc::clone(&self.rules),
            when: if has_context { search.on.rerank } else { Reranking::Never },
            question: Arc::clone(&search.text),
        };
        let choose = move || choosing.choose(&candidates).map(|chosen| (chosen, candidates));
        let (chosen, mut candidates) = app.loaded()?.search_pool.run(choose).await?;
        let Some(Chosen { trigger, chunks }) = chosen else {
            return Ok(Reranked { candidates, is_ordered: false, stage: stage(outcome(false)) });
        };
        let ordered = self.ask(app, search, &chunks, candidates.len()).await;
        let outcome = match &ordered {
            Ok(order) => {
                candidates.reorder(order);
                outcome(!order.is_sorted())
            }
            Err(error) if error.is_known() => error.outcome(),
            Err(error) => {
                let (endpoint, kind, error_words) = (search.endpoint.label(), error.kind(), error.for_log());
                let request_id = search.side_tasks.as_ref().map(|tasks| tasks.request_id());
                warn!(request_id, endpoint, kind, error = error_words, "chunks not reranked: their order stays");
                error.outcome()
            }
        };
        let stage = stage(outcome).map(|stage| ExplainedStage { trigger: Some(trigger.label().to_owned()), ..stage });
        Ok(Reranked { candidates, is_ordered: ordered.is_ok(), stage })
    }

    fn is_possible(&self, search: &Search) -> bool {
        match &self.backend {
            Backend::LanguageModel { .. } => search.side_tasks.as_ref().is_some_and(|tasks| tasks.are_possible()),
            Backend::Endpoint(_) | Backend::Local(_) => true,
        }
    }

    /// The order of all `count` chunks, of which the model gets the first.
    async fn ask(
        &self,
        app: &App,
        search: &Search,
        chunks: &[RetrievedChunk],
        count: usize,
    ) -> Result<Vec<usize>, RerankError> {
        let limit = app.stage_timeouts.rerank;
        let asking = async {
            match &self.backend {
                Backend::LanguageModel { model } => by_language_model(search, model.as_deref(), chunks, count).await,
                Backend::Endpoint(endpoint) => {
                    let texts: Vec<&str> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
                    Ok(whole(endpoint.order(&search.text, &texts).await?, count))
                }
                Backend::Local(local) => {
                    // The first question starts it, unless it has been started.
                    local.start(&app.settings.data_dir);
                    let texts = chunks.iter().map(|chunk| chunk.text.clone()).collect();
                    Ok(whole(local.order(&search.text, texts).await?, count))
                }
            }
        };
        timeout(limit, asking).await.map_err(|_| RerankError::Late(limit))?
    }
}

async fn by_language_model(
    search: &Search,
    model: Option<&str>,
    chunks: &[RetrievedChunk],
    count: usize,
) -> Result<Vec<usize>, RerankError> {
    let Some(side_tasks) = &search.side_tasks else { return Err(RerankError::NoLanguageModel) };
    let passages: Vec<Passage<'_>> = chunks.iter().map(passage).collect();
    let boundary = new_boundary().map_err(|error| RerankError::Boundary(error.to_string()))?;
    let reply = side_tasks.ask(model, &prompt(&search.text, &passages, &boundary), MAX_TOKENS).await?;
    order(&reply, passages.len(), count).map_err(|_| RerankError::Nonsense)
}

fn passage(chunk: &RetrievedChunk) -> Passage<'_> {
    let title = chunk.metadata.get("title").and_then(Value::as_str);
    Passage { title, heading: chunk.heading.as_deref(), text: &chunk.text, ..Passage::default() }
}

/// The positions of all `count` chunks: those that are named, then the others in their old order.
fn whole(named: Vec<usize>, count: usize) -> Vec<usize> {
    let mut is_named = vec![false; count];
    named.iter().for_each(|&position| is_named[position] = true);
    named.into_iter().chain((0..count).filter(|&position| !is_named[position])).collect()
}

/// Decides whether a model is asked.
struct Choosing {
    rules: Arc<Rules>,
    when: Reranking,
    question: Arc<str>,
}

/// Why a model is asked, and the chunks that it gets.
struct Chosen {
    trigger: Trigger,
    chunks: Vec<RetrievedChunk>,
}

impl Choosing {
    /// None if no model is asked. Reads the chunks, so it blocks.
    fn choose(&self, candidates: &Candidates) -> Result<Option<Chosen>, IndexError> {
        let trigger = match self.when {
            Reranking::Never => None,
            Reranking::Always => (candidates.len() > 1).then_some(Trigger::Always),
            Reranking::Conditional => {
                let scores: Vec<f32> = candidates.found().iter().map(|found| found.score).collect();
                trigger(&self.rules, &self.question, &scores)
            }
        };
        let Some(trigger) = trigger else { return Ok(None) };
        Ok(Some(Chosen { trigger, chunks: candidates.read(0..candidates.len().min(MAX_SENT))? }))
    }
}
