//! Indexes.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use ragengine_client::wire::{ErrorDetail, IndexDescription, IndexSettings, Message};
use ragengine_settings::{Settings, VectorIndexKind};

use super::extract::{JsonBody, PathParameters};
use crate::access::{Action, Caller, may, sees};
use crate::app::{App, Loaded};
use crate::error::{ApiError, PlainError};
use ragengine_embedding::Embedding;
use ragengine_engine::Making;
use ragengine_errors::Logged as _;
use ragengine_index::IndexError;
use ragengine_index::chunking::Sizes;
use ragengine_index::generation::RequestedSettings;
use ragengine_index::name::check_name;
use ragengine_index::record::IndexRecord;
use tracing::warn;

/// Lists the names of all indexes.
#[utoipa::path(get, path = "/indexes", tag = "indexes",
    responses((status = 200, description = "The names, sorted.", body = [String])))]
pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<String>>, PlainError> {
    let mut names = app.loaded()?.catalog.names().await;
    names.retain(|name| sees(&caller, name));
    Ok(Json(names))
}

/// Describes an index.
#[utoipa::path(get, path = "/indexes/{index_name}", tag = "indexes",
    params(("index_name" = String, Path, description = "The index.")), responses(
    (status = 200, description = "The index.", body = IndexDescription),
    (status = 404, description = "No such index.", body = ErrorDetail),
))]
pub async fn describe(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters(index_name): PathParameters<String>,
) -> Result<Json<IndexDescription>, PlainError> {
    Ok(Json(described(app.loaded()?, &caller, &index_name).await?))
}

pub(super) async fn described(loaded: &Loaded, caller: &Caller, name: &str) -> Result<IndexDescription, ApiError> {
    let catalog = &loaded.catalog;
    let description = loaded.index(caller, Action::Read, name).await?.describe(catalog.data_id()).await?;
    Ok(IndexDescription { next_generation: catalog.next_generation(name), ..description })
}

/// Creates an empty index, or changes the settings of an existing index.
///
/// Changed settings start the next generation of the index, which is built beside the current one and then replaces it.
/// Settings that are not given stay unchanged.
#[utoipa::path(put, path = "/indexes/{index_name}", tag = "indexes",
    params(("index_name" = String, Path, description = "The index.")), request_body = IndexSettings, responses(
    (status = 200, description = "The index, with the next generation if one is being built.", body = IndexDescription),
    (status = 400, description = "A name or a setting is invalid.", body = ErrorDetail),
    (status = 401, description = "The write token is missing or wrong.", body = ErrorDetail),
    (status = 422, description = "The body is not JSON, or has an unknown field.", body = ErrorDetail),
))]
pub async fn put(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters(index_name): PathParameters<String>,
    JsonBody(wanted): JsonBody<IndexSettings>,
) -> Result<Json<IndexDescription>, PlainError> {
    let loaded = app.loaded()?;
    may(&caller, Action::Write, Some(&index_name))?;
    check_name(&index_name).map_err(IndexError::from)?;
    let record = record_for(&app.settings, &loaded.embedding, &wanted)?;
    let asked = RequestedSettings::new(&wanted, wanted.vector_index.is_some().then_some(record.vector_index));
    let (_, is_new) = loaded.catalog.get_or_create(&index_name, record, Making::AsAsked).await?;
    if !is_new {
        loaded.generations.ask(&caller, &index_name, asked).await?;
    }
    Ok(Json(described(loaded, &caller, &index_name).await?))
}

/// Deletes an index and its documents.
#[utoipa::path(delete, path = "/indexes/{index_name}", tag = "indexes",
    params(("index_name" = String, Path, description = "The index.")), responses(
    (status = 200, description = "The index was deleted.", body = Message),
    (status = 401, description = "The write token is missing or wrong.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
))]
pub async fn delete(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters(index_name): PathParameters<String>,
) -> Result<Json<Message>, PlainError> {
    let catalog = &app.loaded()?.catalog;
    may(&caller, Action::Write, Some(&index_name))?;
    catalog.delete(&index_name).await?;
    if let Some(cache) = app.loaded()?.stores.cache()
        && let Err(error) = cache.answers.forget_index(&index_name).await
    {
        // A new index with this name has another store, so its questions have other keys.
        warn!(kind = error.kind(), reason = error.for_log(), "answers of a deleted index are kept until they expire");
    }
    Ok(Json(Message { message: format!("Successfully deleted index {index_name}.") }))
}

/// The record of a new index with the server's settings and embedding model.
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
        settings.vector_index = kind
            .parse::<VectorIndexKind>()
            .map_err(|error| ApiError::InvalidRequest(format!("vectorIndex: {error}")))?;
    }
    let too_small = chunking.max_tokens.is_some_and(|tokens| tokens < 16);
    let overlap_too_big =
        matches!((chunking.max_tokens, chunking.overlap_tokens), (Some(max), Some(overlap)) if overlap >= max);
    let invalid = |message: &str| Err(ApiError::InvalidRequest(message.to_owned()));
    if too_small {
        return invalid("chunking.maxTokens must be at least 16");
    }
    if overlap_too_big {
        return invalid("chunking.overlapTokens must be less than chunking.maxTokens");
    }
    Ok(record(&settings, embedding))
}
