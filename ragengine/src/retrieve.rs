//! A retrieval: the question becomes a vector, the index is searched, what was found is shown.

use std::sync::Arc;

use ragengine_client::wire::{Retrieve, Retrieved, RetrievedNode, RetrievedSource, SourceNode};

use crate::app::App;
use crate::error::ApiError;
use crate::http::reply;
use crate::index::Index;
use crate::index::filter::Filter;
use crate::index::search::{Found, Query};
use crate::question::{self, Asker};

/// Room for a reply of some chunks.
const ABOUT_BYTES: usize = 16 << 10;

/// Finds the chunks that match a question best, the best first: a [`Retrieved`] in JSON.
///
/// # Errors
///
/// [`ApiError`]: an empty question, an unknown index, or a part that fails.
pub async fn retrieve(app: &App, request: Retrieve) -> Result<Vec<u8>, ApiError> {
    let loaded = app.loaded()?;
    if request.query.trim().is_empty() {
        return Err(ApiError::Meaning("Query string cannot be empty.".to_owned()));
    }
    let index = loaded.catalog.get(&request.index_name)?;
    let embedding = loaded.generations.embedding_of(&index)?;
    let filter = Filter::new(request.metadata_filter.as_ref().unwrap_or(&serde_json::Map::new()))
        .map_err(crate::index::IndexError::from)?;
    let vectors = question::embed(app, &embedding, &request.query, Asker::Retrieve).await?;
    let query_windows = Some(vectors.count()).filter(|windows| *windows > 1);
    let query = Query { vectors, top_k: request.max_node_count, filter };
    let searched = Arc::clone(&index);
    let show = move |found: Vec<Found>| {
        let results: Vec<RetrievedNode> = found.into_iter().map(|found| node(&index, found)).collect();
        let retrieved = Retrieved { query: request.query, count: results.len(), results, query_windows };
        reply::written(&retrieved, ABOUT_BYTES)
    };
    loaded.search_pool.search(searched, query, show).await?
}

fn node(index: &Index, found: Found) -> RetrievedNode {
    let similarity = similarity(found.distance);
    RetrievedNode {
        doc_id: found.document.doc_id.clone(),
        node_id: index.node_id(&found.document.doc_id, found.chunk.ordinal, &found.chunk.hash),
        text: found.chunk.text,
        score: similarity,
        dense_score: Some(similarity),
        sparse_score: None,
        source: RetrievedSource::DenseOnly,
        metadata: (*found.metadata).clone(),
    }
}

/// A chunk as chat replies show it.
pub fn source_node(index: &Index, found: &Found) -> SourceNode {
    SourceNode {
        doc_id: found.document.doc_id.clone(),
        node_id: index.node_id(&found.document.doc_id, found.chunk.ordinal, &found.chunk.hash),
        text: found.chunk.text.clone(),
        score: found.distance,
        metadata: (*found.metadata).clone(),
    }
}

/// The cosine of normalised vectors from their squared L2 distance, at most 1.
pub fn similarity(distance: f32) -> f32 {
    (1.0 - distance / 2.0).min(1.0)
}
