//! Retrieval for chats and `/retrieve`: searches the index and orders what it finds. The texts of the chunks are read
//! separately.

mod arrangement;
mod feedback;
pub mod preparation;
pub mod question;
pub mod rerank;
pub mod stages;
pub mod threshold;

use std::sync::Arc;
use std::time::Instant;

use ragengine_client::wire::ExplainedStage;
use ragengine_embedding::Windows;
use ragengine_engine::{Candidates, Index};
use ragengine_index::search::{ByWords, Fusion, Query, RetrievedChunk, TextOutcome};
use ragengine_pipeline::filter::Filter;
use ragengine_pipeline::ranking::answerable::Evidence;
use ragengine_pipeline::ranking::fusion::Weights;
use ragengine_pipeline::request::{RetrievalMode, Threshold};
use ragengine_settings::Retrieval;
use ragengine_traces::{Kind, Span};
use tracing::{info, warn};

use self::arrangement::{Decided, arrange};
use self::stages::{Endpoint, StagesOn, ended};
pub use self::threshold::Verdict;
use self::threshold::judge;
use crate::access::{Action, Caller, may};
use crate::app::{App, Loaded};
use crate::error::ApiError;
use crate::language_model::SideTasks;

/// The least chunks that a search looks at, and for each chunk to return.
const MIN_CANDIDATES: usize = 50;
const CANDIDATES_PER_CHUNK: usize = 4;

/// A search, and what is done with its result.
pub struct Search {
    /// The vectors of the query.
    pub vectors: Windows,
    /// The text whose words are searched for.
    pub text: Arc<str>,
    /// The documents that may be found.
    pub filter: Filter,
    /// The rule whose filter applies too, see [`preparation::QueryRules::filter`]. It is dropped when nothing near
    /// enough is found with it.
    pub rule: Option<usize>,
    /// The largest distance that is near enough, for the fixed threshold.
    pub max_distance: f32,
    /// What decides whether the question gets context. None: nothing is decided.
    pub threshold: Option<Threshold>,
    /// The most chunks to return.
    pub top_k: usize,
    /// The stages that are on.
    pub on: StagesOn,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Tasks for the language model of the answer. None: there will be no answer.
    pub side_tasks: Option<SideTasks>,
}

/// The chunks that may answer a question, best first.
pub struct Ranked {
    /// The chunks.
    pub candidates: Candidates,
    /// The decision about the context.
    pub verdict: Option<Verdict>,
    /// Whether the rule was dropped.
    pub is_rule_dropped: bool,
    /// What the stages did, without those that are off.
    pub stages: Vec<ExplainedStage>,
}

impl Search {
    /// The query for the index, without the rule.
    fn query(&self, settings: &Retrieval) -> Query {
        let fusion = match self.on.retrieval {
            RetrievalMode::Dense => None,
            RetrievalMode::Text => Some(Fusion::TextOnly),
            RetrievalMode::Hybrid => {
                Some(Fusion::Weighted(Weights { dense: settings.dense_weight, text: settings.text_weight }))
            }
            RetrievalMode::Rrf => Some(Fusion::ReciprocalRank),
        };
        let candidates = self.candidates();
        let by_words = fusion.map(|fusion| ByWords { text: Arc::clone(&self.text), fusion, candidates });
        let top_k = if self.on.is_plain() { self.top_k } else { candidates };
        Query { vectors: self.vectors.clone(), top_k, filter: self.filter.clone(), by_words }
    }

    /// The chunks that each search looks at. A chat looks at as many as it may use.
    fn candidates(&self) -> usize {
        match self.endpoint {
            Endpoint::Completions => self.top_k,
            Endpoint::Retrieve | Endpoint::Query | Endpoint::Chat => {
                self.top_k.saturating_mul(CANDIDATES_PER_CHUNK).max(MIN_CANDIDATES)
            }
        }
    }
}

/// Finds the chunks that may answer a question, best first.
///
/// # Errors
///
/// [`ApiError`] when the caller may not read the index, or FAISS or the disk fails.
pub async fn retrieve(app: &App, caller: &Caller, index: &Index, search: Search) -> Result<Ranked, ApiError> {
    may(caller, Action::Read, Some(index.name()))?;
    if !Span::is_recorded() {
        return retrieved(app, index, search).await;
    }
    let span = Span::child(format!("retrieval {}", index.name()), Kind::Internal);
    span.set("gen_ai.operation.name", "retrieval");
    span.set("gen_ai.data_source.id", index.name().to_owned());
    span.set("gen_ai.request.top_k", i64::try_from(search.top_k).unwrap_or(i64::MAX));
    let retrieved = span.follow(retrieved(app, index, search)).await;
    retrieved.iter().for_each(|ranked| {
        span.set("ragengine.chunks.found", i64::try_from(ranked.candidates.len()).unwrap_or(i64::MAX));
    });
    retrieved.as_ref().err().into_iter().for_each(|error| span.failed(error.kind()));
    retrieved
}

async fn retrieved(app: &App, index: &Index, search: Search) -> Result<Ranked, ApiError> {
    let started = Instant::now();
    let (candidates, is_rule_dropped) = by_rule(app, index, &search).await?;
    let mut stages = explained(&candidates, &search, started);
    let verdict = match search.threshold {
        Some(threshold) => Some(judge(app, index, &search, &candidates, threshold).await?),
        None => None,
    };
    let decided = Decided {
        has_context: verdict.is_none_or(|verdict| verdict.allows_any(&candidates)),
        // It returns chunks that are not near enough, too.
        max_distance: match search.endpoint {
            Endpoint::Retrieve => f32::INFINITY,
            _ => verdict.map_or(f32::INFINITY, |verdict| verdict.max_distance),
        },
    };
    let (candidates, arranged) = arrange(app, index, &search, candidates, decided).await?;
    stages.extend(arranged);
    for stage in ["retrieval", "feedback", "recency", "rerank", "diversity"] {
        stages::count(&app.metrics, search.endpoint, stage, &stages);
    }
    // A search by vectors only is not worth a line.
    stages.retain(|stage| stage.stage != "retrieval" || search.on.retrieval != RetrievalMode::Dense);
    Ok(Ranked { candidates, verdict, is_rule_dropped, stages })
}

/// Searches with the filter of the rule, and without it if nothing near enough is found.
async fn by_rule(app: &App, index: &Index, search: &Search) -> Result<(Candidates, bool), ApiError> {
    let loaded = app.loaded()?;
    let query = search.query(&app.settings.retrieval);
    let Some(rule) = search.rule else { return Ok((find(loaded, index, query).await?, false)) };
    let filter = query.filter.clone().and(app.query_rules.filter(rule));
    let narrowed = find(loaded, index, Query { filter, ..query.clone() }).await?;
    if is_enough(app, index, search, &narrowed).await? {
        app.metrics.pipeline_stage(search.endpoint.label(), "filters", "done");
        return Ok((narrowed, false));
    }
    app.metrics.pipeline_stage(search.endpoint.label(), "filters", "dropped");
    info!(index = index.name(), rule, "filter rule dropped: nothing near enough was found with it");
    Ok((find(loaded, index, query).await?, true))
}

/// Whether what was found with the filter of a rule is near enough.
async fn is_enough(app: &App, index: &Index, search: &Search, narrowed: &Candidates) -> Result<bool, ApiError> {
    match search.threshold {
        Some(threshold) => Ok(judge(app, index, search, narrowed, threshold).await?.allows_any(narrowed)),
        None => Ok(!narrowed.is_empty()),
    }
}

async fn find(loaded: &Loaded, index: &Index, query: Query) -> Result<Candidates, ApiError> {
    Ok(index.search(&loaded.search_pool, query).await?)
}

/// What the search did. A failure of the full text is logged here, because the search goes on without it.
fn explained(candidates: &Candidates, search: &Search, started: Instant) -> Vec<ExplainedStage> {
    let outcome = match &candidates.text {
        TextOutcome::Failed(error) => {
            let (endpoint, kind) = (search.endpoint.label(), error.kind());
            warn!(endpoint, kind, %error, "full text not searched: the result is that of the vectors");
            "failed"
        }
        TextOutcome::Off | TextOutcome::Done => "done",
    };
    vec![ended("retrieval", outcome, started)]
}

/// What the reply has besides the chunks.
pub struct Shown {
    /// What the stages did, without those that are off.
    pub stages: Vec<ExplainedStage>,
    /// Whether the rule was dropped.
    pub is_rule_dropped: bool,
    /// Whether a chunk is near enough to be context, if that was asked for.
    pub is_context: Option<bool>,
    /// What the calibrated threshold was decided by.
    pub evidence: Option<Evidence>,
}

/// Finds chunks, reads all of them and passes them to `show`, with what the stages did. Records the duration of the
/// search and the reads, even if they fail, without the wait between them.
///
/// # Errors
///
/// As [`retrieve`], and the errors of `show`.
pub async fn show_all<T: Send + 'static>(
    app: &App,
    caller: &Caller,
    index: &Index,
    search: Search,
    show: impl FnOnce(Vec<RetrievedChunk>, Shown) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let (loaded, metrics, top_k) = (app.loaded()?, Arc::clone(&app.metrics), search.top_k);
    let started = Instant::now();
    let found = retrieve(app, caller, index, search).await;
    let searching = started.elapsed();
    let Ranked { mut candidates, verdict, is_rule_dropped, stages } =
        found.inspect_err(|_| metrics.searched(searching))?;
    let read = move || {
        let started = Instant::now();
        let is_context = verdict.map(|verdict| verdict.allows_any(&candidates));
        let evidence = verdict.and_then(|verdict| verdict.evidence);
        candidates.keep_unique(top_k);
        let chunks = candidates.read_all();
        metrics.searched(searching + started.elapsed());
        show(chunks?, Shown { stages, is_rule_dropped, is_context, evidence })
    };
    loaded.search_pool.run(read).await
}
