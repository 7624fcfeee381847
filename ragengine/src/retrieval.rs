//! Retrieval for chats and `/retrieve`: embeds the question and searches the index. The texts of the chunks that it
//! finds are read separately.

pub mod question;

use std::sync::Arc;
use std::time::Instant;

use ragengine_index::Index;
use ragengine_index::search::{Candidates, Query, RetrievedChunk};

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
    query: Query,
    show: impl FnOnce(Vec<RetrievedChunk>) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let (loaded, metrics) = (app.loaded()?, Arc::clone(&app.metrics));
    let started = Instant::now();
    let candidates = retrieve(loaded, caller, index, query).await;
    let searching = started.elapsed();
    let candidates = candidates.inspect_err(|_| metrics.searched(searching))?;
    let read = move || {
        let started = Instant::now();
        let chunks = candidates.read_all();
        metrics.searched(searching + started.elapsed());
        show(chunks?)
    };
    loaded.search_pool.run(read).await
}
