//! Copies of indexes: persisted copies in the data folder, and backups that are downloaded and uploaded.

use std::sync::Arc;
use std::time::Duration;

use axum::body::HttpBody as _;
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use ragengine_client::wire::{ErrorDetail, Message, RestoredIndexes};
use serde::{Deserialize, Deserializer};
use tokio::sync::OwnedSemaphorePermit;
use tracing::{info, warn};
use utoipa::IntoParams;

use super::extract::{PathParameters, QueryString};
use super::pipe::{BodyReader, BodyWriter};
use crate::access::{Action, Caller, may};
use crate::app::{App, Generations, run_detached};
use crate::error::{ApiError, PlainError};
use ragengine_compute::blocking;
use ragengine_engine::{Catalog, Index};
use ragengine_errors::Logged as _;
use ragengine_index::IndexError;
use ragengine_index::catalog::Existing;
use ragengine_index::name::check_name;

/// What cannot be done with an external engine.
const NO_COPIES: &str = "Indexes in a vector database are not persisted in the data folder: use GET /backup and \
                         POST /restore";

/// Query parameters of `POST /persist`.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PersistTo {
    /// The name of the copy, with the rules of index names. It is not a file path. Default: the name of the index.
    path: Option<String>,
}

/// Query parameters of `POST /load`.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LoadFrom {
    /// The name of the copy. Default: the name of the index.
    path: Option<String>,
    /// Whether to replace an existing index of this name.
    #[serde(default, deserialize_with = "flag")]
    overwrite: bool,
}

/// Query parameters of `GET /backup`.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct BackupOf {
    /// The only index in the backup. Default: all indexes.
    index: Option<String>,
}

/// Query parameters of `POST /restore`.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RestoreOver {
    /// Whether to replace existing indexes of the same names.
    #[serde(default, deserialize_with = "flag")]
    overwrite: bool,
    /// The only index to restore. Default: all indexes of the backup.
    index: Option<String>,
}

/// Parses a boolean as clients in several languages write it.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(serde::de::Error::custom("must be true or false")),
    }
}

fn existing(overwrite: bool) -> Existing {
    if overwrite { Existing::Replace } else { Existing::Keep }
}

/// Persists an index: writes a consistent copy to the data folder.
///
/// The index keeps serving. An existing copy of the same name is replaced.
#[utoipa::path(post, path = "/persist/{index_name}", tag = "copies",
    params(("index_name" = String, Path, description = "The index."), PersistTo), responses(
    (status = 200, description = "The copy is on disk.", body = Message),
    (status = 400, description = "A name is invalid.", body = ErrorDetail),
    (status = 401, description = "The write token is missing or wrong.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
    (status = 429, description = "Two other copies are in progress.", body = ErrorDetail),
    (status = 507, description = "The disk is full.", body = ErrorDetail),
))]
pub async fn persist(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters(index_name): PathParameters<String>,
    QueryString(to): QueryString<PersistTo>,
) -> Result<Json<Message>, PlainError> {
    let loaded = app.loaded()?;
    may(&caller, Action::Copy, Some(&index_name))?;
    let (catalog, turn) = (Arc::clone(loaded.catalog.require_local(NO_COPIES)?), turn(&app)?);
    let copy = to.path.unwrap_or_else(|| index_name.clone());
    let (index, name) = (index_name.clone(), copy.clone());
    let persisting = blocking::run(move || {
        let _turn = turn;
        catalog.persist(&index, &name)
    });
    counted(&app, "persist", persisting.await)?;
    Ok(Json(Message { message: format!("Successfully persisted index {index_name} to {copy}.") }))
}

/// Loads a persisted copy as an index, atomically. Its documents are not embedded again.
#[utoipa::path(post, path = "/load/{index_name}", tag = "copies",
    params(("index_name" = String, Path, description = "The index to create."), LoadFrom), responses(
    (status = 200, description = "The index is loaded.", body = Message),
    (status = 400, description = "A name is invalid, or the copy is damaged, incomplete, from a newer version, or not \
        a copy.", body = ErrorDetail),
    (status = 401, description = "The write token is missing or wrong.", body = ErrorDetail),
    (status = 404, description = "No such copy.", body = ErrorDetail),
    (status = 409, description = "The index exists, and `overwrite` is false.", body = ErrorDetail),
    (status = 429, description = "Two other copies are in progress.", body = ErrorDetail),
    (status = 507, description = "The disk is full.", body = ErrorDetail),
))]
pub async fn load(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters(index_name): PathParameters<String>,
    QueryString(from): QueryString<LoadFrom>,
) -> Result<Json<Message>, PlainError> {
    let loaded = app.loaded()?;
    may(&caller, Action::Copy, Some(&index_name))?;
    let catalog = Arc::clone(loaded.catalog.require_local(NO_COPIES)?);
    let (turn, existing) = (turn(&app)?, existing(from.overwrite));
    let generations = Arc::clone(&loaded.generations);
    check_name(&index_name).map_err(IndexError::from)?;
    let copy = from.path.unwrap_or_else(|| index_name.clone());
    let (index, name) = (index_name.clone(), copy.clone());
    let max_block_bytes = app.max_block_bytes();
    let loading = made(generations, move || {
        let _turn = turn;
        let index = catalog.load_persisted(&index, &name, existing, max_block_bytes)?;
        Ok((vec![Index::Local(index)], ()))
    });
    counted(&app, "load", loading.await)?;
    Ok(Json(Message { message: format!("Successfully loaded index {index_name} from {copy}.") }))
}

/// Returns a backup of all indexes, or of one, as a tar file.
///
/// The indexes keep serving. Each index in the backup is consistent; with a vector database, each document. The backup
/// is complete if it contains `end.json`.
#[utoipa::path(get, path = "/backup", tag = "copies", params(BackupOf), responses(
    (status = 200, description = "The backup.", content_type = "application/x-tar", body = Vec<u8>),
    (status = 401, description = "The write token is missing or wrong. A backup contains all documents.",
        body = ErrorDetail),
    (status = 429, description = "Two other copies are in progress.", body = ErrorDetail),
))]
pub async fn backup(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    QueryString(of): QueryString<BackupOf>,
) -> Result<Response, PlainError> {
    let loaded = app.loaded()?;
    may(&caller, Action::Copy, of.index.as_deref())?;
    let (catalog, turn) = (loaded.catalog.clone(), turn(&app)?);
    let indexes = match &of.index {
        Some(name) => vec![loaded.index(&caller, Action::Copy, name).await?],
        // Fails if an index is unavailable: otherwise backups would silently lack it.
        None => counted(&app, "backup", catalog.all_or_none().await)?,
    };
    for index in &indexes {
        may(&caller, Action::Copy, Some(index.name()))?;
    }
    // Before the reply begins, so that the client gets a status, and tries again.
    for index in &indexes {
        counted(&app, "backup", index.require_all_replicas().await)?;
    }
    let (output, body) = BodyWriter::new();
    tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let sent = send_backup(&catalog, &indexes, output);
        match counted(&app, "backup", sent) {
            Ok((indexes, bytes)) => info!(indexes, bytes, "backup sent"),
            Err(error) => warn!(error = error.for_log(), kind = error.kind(), "backup not sent"),
        }
    });
    Ok(([(header::CONTENT_TYPE, "application/x-tar")], body).into_response())
}

fn send_backup(catalog: &Catalog, indexes: &[Index], output: BodyWriter) -> Result<(usize, u64), IndexError> {
    let reader_left = output.reader_left();
    let output = catalog.export(indexes, output, reader_left)?;
    let bytes = output.finish().map_err(ragengine_index::archive::ArchiveError::Write)?;
    Ok((indexes.len(), bytes))
}

/// Restores the indexes of a backup, atomically, after all of it has arrived and been verified. Other indexes stay.
#[utoipa::path(post, path = "/restore", tag = "copies", params(RestoreOver),
    request_body(content = Vec<u8>, content_type = "application/x-tar",
        description = "The backup. `limits.maxBodyBytes` does not apply."), responses(
    (status = 200, description = "The indexes are restored.", body = RestoredIndexes),
    (status = 400, description = "The backup is damaged, incomplete, from a newer version, or not a backup. Nothing \
        has changed.", body = ErrorDetail),
    (status = 401, description = "The write token is missing or wrong.", body = ErrorDetail),
    (status = 408, description = "The body stopped arriving. Nothing has changed.", body = ErrorDetail),
    (status = 409, description = "One of its indexes exists, and `overwrite` is false. Nothing has changed.",
        body = ErrorDetail),
    (status = 429, description = "Two other copies are in progress.", body = ErrorDetail),
    (status = 507, description = "The disk is full. Nothing has changed.", body = ErrorDetail),
))]
pub async fn restore(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    QueryString(over): QueryString<RestoreOver>,
    request: Request,
) -> Result<Json<RestoredIndexes>, PlainError> {
    let bytes = request.body().size_hint().exact();
    let timeout = Duration::from_secs(app.settings.limits.body_timeout_seconds);
    let mut source = BodyReader::new(request.into_body(), timeout);
    let loaded = app.loaded()?;
    may(&caller, Action::Copy, over.index.as_deref())?;
    let turn = turn(&app)?;
    let (catalog, max_block_bytes) = (loaded.catalog.clone(), app.max_block_bytes());
    let restoring = made(Arc::clone(&loaded.generations), move || {
        let _turn = turn;
        // Refuses a backup that does not fit before it is uploaded.
        bytes.map_or(Ok(()), |bytes| catalog.require_free_bytes(bytes))?;
        Ok((catalog.import(&mut source, existing(over.overwrite), max_block_bytes, over.index.as_deref())?, ()))
    });
    let (indexes, ()) = counted(&app, "restore", restoring.await)?;
    Ok(Json(RestoredIndexes { indexes }))
}

/// Creates indexes, starts their generations and returns their names. Completes even if the client disconnects.
async fn made<T: Send + 'static>(
    generations: Arc<Generations>,
    make: impl FnOnce() -> Result<(Vec<Index>, T), IndexError> + Send + 'static,
) -> Result<(Vec<String>, T), IndexError> {
    run_detached(async move {
        let (indexes, more) = blocking::run(make).await?;
        let names = indexes.iter().map(|index| index.name().to_owned()).collect();
        generations.take_in(indexes).await;
        Ok((names, more))
    })
    .await
}

/// Two copies run at a time, because each uses the full speed of the disk.
fn turn(app: &App) -> Result<OwnedSemaphorePermit, ApiError> {
    Arc::clone(&app.transfers).try_acquire_owned().map_err(|_| {
        ApiError::Busy("two copies of indexes are already in progress: try again when one has finished".to_owned())
    })
}

fn counted<T>(app: &App, operation: &str, result: Result<T, IndexError>) -> Result<T, IndexError> {
    app.metrics.copied(operation, result.as_ref().err().map_or("ok", IndexError::kind));
    result
}
