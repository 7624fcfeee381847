//! Retrieval for chats and `/retrieve`: embeds the question and searches the index. The texts of the chunks that it
//! finds are read separately.

pub mod preparation;
pub mod question;

use std::sync::Arc;
use std::time::Instant;

use ragengine_index::Index;
use ragengine_index::search::{Candidates, Query, RetrievedChunk};
use ragengine_pipeline::select::is_near;
use tracing::info;

use self::preparation::Endpoint;

use crate::access::{Action, Caller, may};
use crate::app::{App, Loaded};
use crate::error::ApiError;

/// Finds the chunks that may answer a question, nearest first.
///
/// # Errors
///
/// [`ApiError`] when the caller may not read the index, or FAISS or the disk fails.
pub async fn retrieve(
    loaded: &Loaded,
    caller: &Caller,
    index: &Arc<Index>,
    query: Query,
) -> Result<Candidates, ApiError> {
    may(caller, Action::Read, Some(index.name()))?;
    let index = Arc::clone(index);
    Ok(loaded.search_pool.run(move || index.search(&query)).await?)
}

/// A search with the filter of a rule, which is dropped when nothing near enough is found with it.
pub struct RuledQuery {
    /// The search, without the rule.
    pub query: Query,
    /// The rule, see [`preparation::QueryRules::filter`].
    pub rule: Option<usize>,
    /// The largest distance that is near enough.
    pub max_distance: f32,
    /// The endpoint, for the metric.
    pub endpoint: Endpoint,
}

/// Finds the chunks that may answer a question, nearest first. The flag is true if the rule was dropped.
///
/// # Errors
///
/// As [`retrieve`].
pub async fn retrieve_by_rule(
    app: &App,
    caller: &Caller,
    index: &Arc<Index>,
    ruled: RuledQuery,
) -> Result<(Candidates, bool), ApiError> {
    let RuledQuery { query, rule, max_distance, endpoint } = ruled;
    let loaded = app.loaded()?;
    let Some(rule) = rule else { return Ok((retrieve(loaded, caller, index, query).await?, false)) };
    let filter = query.filter.clone().and(app.query_rules.filter(rule));
    let narrowed = retrieve(loaded, caller, index, Query { filter, ..query.clone() }).await?;
    if narrowed.distances().any(|distance| is_near(distance, max_distance)) {
        app.metrics.pipeline_stage(endpoint.label(), "filters", "done");
        return Ok((narrowed, false));
    }
    app.metrics.pipeline_stage(endpoint.label(), "filters", "dropped");
    info!(index = index.name(), rule, "filter rule dropped: nothing near enough was found with it");
    Ok((retrieve(loaded, caller, index, query).await?, true))
}

/// Finds chunks, reads all of them and passes them to `show`. Records the duration of the search and the reads, even if
/// they fail, without the wait between them.
///
/// # Errors
///
/// As [`retrieve`], and the errors of `show`.
pub async fn show_all<T: Send + 'static>(
    app: &App,
    caller: &Caller,
    index: &Arc<Index>,
    ruled: RuledQuery,
    show: impl FnOnce(Vec<RetrievedChunk>) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let (loaded, metrics) = (app.loaded()?, Arc::clone(&app.metrics));
    let started = Instant::now();
    let found = retrieve_by_rule(app, caller, index, ruled).await;
    let searching = started.elapsed();
    let (candidates, _) = found.inspect_err(|_| metrics.searched(searching))?;
    let read = move || {
        let started = Instant::now();
        let chunks = candidates.read_all();
        metrics.searched(searching + started.elapsed());
        show(chunks?)
    };
    loaded.search_pool.run(read).await
}
