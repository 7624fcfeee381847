//! Indexes.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use ragengine_client::wire::{ErrorDetail, IndexDescription, IndexSettings, Message};
use ragengine_settings::{Settings, VectorIndexKind};

use super::extract::{JsonBody, PathParameters};
use crate::app::App;
use crate::blocking;
use crate::embedding::Embedding;
use crate::error::{ApiError, PlainError};
use crate::index::IndexError;
use crate::index::chunking::Sizes;
use crate::index::name::check_name;
use crate::index::record::IndexRecord;

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
    let catalog = &app.loaded()?.catalog;
    Ok(Json(catalog.get(&index_name)?.describe(catalog.data_id())))
}

/// Makes an empty index, or confirms that it is there with these settings.
#[utoipa::path(put, path = "/indexes/{index_name}", tag = "indexes", params(("index_name" = String, Path, description = "The index.")),
    request_body = IndexSettings, responses(
    (status = 200, description = "The index.", body = IndexDescription),
    (status = 400, description = "A name or a setting that cannot be.", body = ErrorDetail),
    (status = 401, description = "The server wants its write token.", body = ErrorDetail),
    (status = 409, description = "It is there with other settings; the message names the difference.", body = ErrorDetail),
))]
pub async fn put(
    State(app): State<Arc<App>>,
    PathParameters(index_name): PathParameters<String>,
    JsonBody(wanted): JsonBody<IndexSettings>,
) -> Result<Json<IndexDescription>, PlainError> {
    let loaded = app.loaded()?;
    check_name(&index_name).map_err(IndexError::from)?;
    let record = record_for(&app.settings, &loaded.embedding, &wanted)?;
    let (catalog, new) = (Arc::clone(&loaded.catalog), record.clone());
    let (index, is_new) = blocking::run(move || catalog.get_or_create(&index_name, || new)).await?;
    if !is_new {
        require_same(index.name(), index.record(), &record, &wanted)?;
    }
    Ok(Json(index.describe(loaded.catalog.data_id())))
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

/// Only what was asked for is compared: what was not said may be anything.
fn require_same(index: &str, is: &IndexRecord, record: &IndexRecord, wanted: &IndexSettings) -> Result<(), IndexError> {
    let differences = [
        (
            "chunking.maxTokens",
            wanted.chunking.max_tokens.is_some(),
            is.max_tokens.to_string(),
            record.max_tokens.to_string(),
        ),
        (
            "chunking.overlapTokens",
            wanted.chunking.overlap_tokens.is_some(),
            is.overlap_tokens.to_string(),
            record.overlap_tokens.to_string(),
        ),
        ("vectorIndex", wanted.vector_index.is_some(), is.vector_index.to_string(), record.vector_index.to_string()),
    ];
    match differences.into_iter().find(|(_, was_said, is, wanted)| *was_said && is != wanted) {
        Some((setting, _, is, wanted)) => {
            Err(IndexError::OtherSettings { index: index.to_owned(), setting, is, wanted })
        }
        None => Ok(()),
    }
}
