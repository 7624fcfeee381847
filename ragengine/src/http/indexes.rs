//! Indexes.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use ragengine_client::wire::{ErrorDetail, IndexDescription, IndexSettings, Message};
use ragengine_settings::{Settings, VectorIndexKind};

use super::extract::{JsonBody, PathParameters};
use crate::app::{App, Loaded};
use crate::error::{ApiError, PlainError};
use ragengine_compute::blocking;
use ragengine_embedding::Embedding;
use ragengine_index::IndexError;
use ragengine_index::chunking::Sizes;
use ragengine_index::generation::Asked;
use ragengine_index::name::check_name;
use ragengine_index::record::IndexRecord;

/// Lists the names of all indexes.
#[utoipa::path(get, path = "/indexes", tag = "indexes", responses((status = 200, description = "The names, in order.", body = [String])))]
pub async fn list(State(app): State<Arc<App>>) -> Result<Json<Vec<String>>, PlainError> {
    Ok(Json(app.loaded()?.catalog.names()))
}

/// Describes an index.
#[utoipa::path(get, path = "/indexes/{index_name}", tag = "indexes", params(("index_name" = String, Path, description = "The index.")),
    responses(
    (status = 200, description = "The index.", body = IndexDescription),
    (status = 404, description = "No such index.", body = ErrorDetail),
))]
pub async fn describe(
    State(app): State<Arc<App>>,
    PathParameters(index_name): PathParameters<String>,
) -> Result<Json<IndexDescription>, PlainError> {
    Ok(Json(described(app.loaded()?, &index_name)?))
}

pub(super) fn described(loaded: &Loaded, name: &str) -> Result<IndexDescription, IndexError> {
    let catalog = &loaded.catalog;
    let description = catalog.get(name)?.describe(catalog.data_id());
    Ok(IndexDescription { next_generation: catalog.next_generation(name), ..description })
}

/// Makes an empty index, or says how one that is there is to be. What differs from what it is starts its next generation, which is
/// built beside it and takes its place; what is not said stays as it is.
#[utoipa::path(put, path = "/indexes/{index_name}", tag = "indexes", params(("index_name" = String, Path, description = "The index.")),
    request_body = IndexSettings, responses(
    (status = 200, description = "The index, with its next generation when one is being built.", body = IndexDescription),
    (status = 400, description = "A name or a setting that cannot be.", body = ErrorDetail),
    (status = 401, description = "The server wants its write token.", body = ErrorDetail),
))]
pub async fn put(
    State(app): State<Arc<App>>,
    PathParameters(index_name): PathParameters<String>,
    JsonBody(wanted): JsonBody<IndexSettings>,
) -> Result<Json<IndexDescription>, PlainError> {
    let loaded = app.loaded()?;
    check_name(&index_name).map_err(IndexError::from)?;
    let record = record_for(&app.settings, &loaded.embedding, &wanted)?;
    let asked = Asked::new(&wanted, wanted.vector_index.is_some().then_some(record.vector_index));
    let (catalog, name) = (Arc::clone(&loaded.catalog), index_name.clone());
    let (_, is_new) = blocking::run(move || catalog.get_or_keep(&name, || record.clone())).await?;
    if !is_new {
        loaded.generations.ask(&index_name, asked).await?;
    }
    Ok(Json(described(loaded, &index_name)?))
}

/// Deletes an index with everything in it.
#[utoipa::path(delete, path = "/indexes/{index_name}", tag = "indexes", params(("index_name" = String, Path, description = "The index.")),
    responses(
    (status = 200, description = "It is gone.", body = Message),
    (status = 401, description = "The server wants its write token.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
))]
pub async fn delete(
    State(app): State<Arc<App>>,
    PathParameters(index_name): PathParameters<String>,
) -> Result<Json<Message>, PlainError> {
    let catalog = Arc::clone(&app.loaded()?.catalog);
    let name = index_name.clone();
    blocking::run(move || catalog.delete(&name)).await?;
    Ok(Json(Message { message: format!("Successfully deleted index {index_name}.") }))
}

/// How an index is made when nothing is said: by the server's settings and the embedding model in use.
pub(super) fn record(settings: &Settings, embedding: &Embedding) -> IndexRecord {
    let sizes =
        Sizes::resolve(settings.chunking.max_tokens, settings.chunking.overlap_tokens, embedding.max_passage_tokens());
    IndexRecord {
        model: embedding.model_id().to_owned(),
        embedding_fingerprint: embedding.fingerprint().to_owned(),
        dimensions: embedding.dimensions(),
        max_tokens: u32::try_from(sizes.max_tokens).unwrap_or(u32::MAX),
        overlap_tokens: u32::try_from(sizes.overlap_tokens).unwrap_or(u32::MAX),
        vector_index: settings.vector_index,
    }
}

fn record_for(settings: &Settings, embedding: &Embedding, wanted: &IndexSettings) -> Result<IndexRecord, ApiError> {
    let mut settings = settings.clone();
    let chunking = &mut settings.chunking;
    chunking.max_tokens = wanted.chunking.max_tokens.or(chunking.max_tokens);
    chunking.overlap_tokens = wanted.chunking.overlap_tokens.or(chunking.overlap_tokens);
    if let Some(kind) = &wanted.vector_index {
        settings.vector_index =
            kind.parse::<VectorIndexKind>().map_err(|error| ApiError::Meaning(format!("vectorIndex: {error}")))?;
    }
    let too_small = chunking.max_tokens.is_some_and(|tokens| tokens < 16);
    let overlap_too_big =
        matches!((chunking.max_tokens, chunking.overlap_tokens), (Some(max), Some(overlap)) if overlap >= max);
    match (too_small, overlap_too_big) {
        (true, _) => Err(ApiError::Meaning("chunking.maxTokens must be at least 16".to_owned())),
        (_, true) => Err(ApiError::Meaning("chunking.overlapTokens must be less than chunking.maxTokens".to_owned())),
        _ => Ok(record(&settings, embedding)),
    }
}
