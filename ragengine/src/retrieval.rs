//! The only retrieval: chat, `/retrieve` and whatever comes later find chunks here. A question becomes vectors, the index is searched; what
//! comes back has not been read.

pub mod question;

use std::sync::Arc;

use ragengine_index::Index;
use ragengine_index::search::{Candidates, Query};

use crate::access::{Action, Caller, may};
use crate::app::Loaded;
use crate::error::ApiError;

/// Finds the chunks that may answer a question, the nearest first.
///
/// # Errors
///
/// [`ApiError`]: the caller may not, or FAISS or the disk refuses.
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
