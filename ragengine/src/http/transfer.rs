//! Copies of indexes: persisted ones below the data folder, and backups that are sent and received.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::HttpBody as _;
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use ragengine_client::wire::{ErrorDetail, Message, RestoredIndexes};
use serde::{Deserialize, Deserializer};
use tokio::sync::OwnedSemaphorePermit;
use tracing::{info, warn};
use utoipa::IntoParams;

use super::extract::{PathParameters, QueryString};
use super::pipe::{BodyReader, BodyWriter};
use crate::app::{App, Generations, to_its_end};
use crate::error::{ApiError, PlainError};
use ragengine_compute::blocking;
use ragengine_errors::Logged as _;
use ragengine_index::archive::MAX_BLOCK_BYTES;
use ragengine_index::catalog::{Catalog, Existing};
use ragengine_index::name::check_name;
use ragengine_index::{Index, IndexError};

/// What a block may be longer than the longest request that brought a document.
const BLOCK_MARGIN_BYTES: u64 = 1 << 20;

/// Where a copy is persisted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PersistTo {
    /// The name of the copy, by the rules of index names; not a path. The index's name when it is not given.
    path: Option<String>,
}

/// Which copy is loaded, and over what.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LoadFrom {
    /// The name of the copy. The index's name when it is not given.
    path: Option<String>,
    /// Whether it takes the place of an index of this name.
    #[serde(default, deserialize_with = "flag")]
    overwrite: bool,
}

/// Over what a backup is restored.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RestoreOver {
    /// Whether its indexes take the place of those that have their names.
    #[serde(default, deserialize_with = "flag")]
    overwrite: bool,
    /// The only index that is restored. All of them when it is not given.
    index: Option<String>,
}

/// A flag in a query, as the clients of several languages write it.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(serde::de::Error::custom("it is true or false")),
    }
}

fn existing(overwrite: bool) -> Existing {
    if overwrite { Existing::IsReplaced } else { Existing::Stays }
}

/// Persists an index: keeps a copy of it below the data folder, consistent in itself, while the index serves on. A copy of the same name is replaced.
#[utoipa::path(post, path = "/persist/{index_name}", tag = "copies",
    params(("index_name" = String, Path, description = "The index."), PersistTo), responses(
    (status = 200, description = "The copy is on disk.", body = Message),
    (status = 400, description = "A name that cannot be.", body = ErrorDetail),
    (status = 401, description = "The server wants its write token.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
    (status = 429, description = "Other copies are being made or read.", body = ErrorDetail),
    (status = 507, description = "There is no room for it.", body = ErrorDetail),
))]
pub async fn persist(
    State(app): State<Arc<App>>,
    PathParameters(index_name): PathParameters<String>,
    QueryString(to): QueryString<PersistTo>,
) -> Result<Json<Message>, PlainError> {
    let (catalog, turn) = (Arc::clone(&app.loaded()?.catalog), turn(&app)?);
    let copy = to.path.unwrap_or_else(|| index_name.clone());
    let (index, name) = (index_name.clone(), copy.clone());
    let persisting = blocking::run(move || {
        let _turn = turn;
        catalog.persist(&index, &name)
    });
    counted(&app, "persist", persisting.await)?;
    Ok(Json(Message { message: format!("Successfully persisted index {index_name} to {copy}.") }))
}

/// Loads a persisted copy as an index, in one step. Its documents are not embedded again.
#[utoipa::path(post, path = "/load/{index_name}", tag = "copies",
    params(("index_name" = String, Path, description = "The index that is made."), LoadFrom), responses(
    (status = 200, description = "The index is there.", body = Message),
    (status = 400, description = "A name that cannot be, or a copy that is damaged, not whole, of a newer version or something else.", body = ErrorDetail),
    (status = 401, description = "The server wants its write token.", body = ErrorDetail),
    (status = 404, description = "There is no such copy.", body = ErrorDetail),
    (status = 409, description = "The index is there, and overwrite is not true.", body = ErrorDetail),
    (status = 429, description = "Other copies are being made or read.", body = ErrorDetail),
    (status = 507, description = "There is no room for it.", body = ErrorDetail),
))]
pub async fn load(
    State(app): State<Arc<App>>,
    PathParameters(index_name): PathParameters<String>,
    QueryString(from): QueryString<LoadFrom>,
) -> Result<Json<Message>, PlainError> {
    let loaded = app.loaded()?;
    let (catalog, turn, existing) = (Arc::clone(&loaded.catalog), turn(&app)?, existing(from.overwrite));
    let generations = Arc::clone(&loaded.generations);
    check_name(&index_name).map_err(IndexError::from)?;
    let copy = from.path.unwrap_or_else(|| index_name.clone());
    let (index, name) = (index_name.clone(), copy.clone());
    let max_block_bytes = max_block_bytes(&app);
    let loading = made(generations, move || {
        let _turn = turn;
        Ok((vec![catalog.load_persisted(&index, &name, existing, max_block_bytes)?], ()))
    });
    counted(&app, "load", loading.await)?;
    Ok(Json(Message { message: format!("Successfully loaded index {index_name} from {copy}.") }))
}

/// Sends a backup of all indexes while they serve on: a tar file, each index in it consistent in itself. It is whole when `end.json` is in it.
#[utoipa::path(get, path = "/backup", tag = "copies", responses(
    (status = 200, description = "The backup.", content_type = "application/x-tar", body = Vec<u8>),
    (status = 401, description = "The server wants its write token: a backup holds everything.", body = ErrorDetail),
    (status = 429, description = "Other copies are being made or read.", body = ErrorDetail),
))]
pub async fn backup(State(app): State<Arc<App>>) -> Result<Response, PlainError> {
    let (catalog, turn) = (Arc::clone(&app.loaded()?.catalog), turn(&app)?);
    // One that cannot be used would be missing from every backup from now on: better none, in words, than that.
    let indexes = counted(&app, "backup", catalog.all_or_none())?;
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

fn send_backup(catalog: &Catalog, indexes: &[Arc<Index>], output: BodyWriter) -> Result<(usize, u64), IndexError> {
    let output = catalog.export(indexes, output)?;
    let bytes = output.finish().map_err(ragengine_index::archive::ArchiveError::Write)?;
    Ok((indexes.len(), bytes))
}

/// Restores a backup: makes all indexes in it, in one step, when the last byte has arrived and all of it is as it was written. Other indexes stay.
#[utoipa::path(post, path = "/restore", tag = "copies", params(RestoreOver),
    request_body(content = Vec<u8>, content_type = "application/x-tar", description = "The backup. The limit of other bodies is not one of it."), responses(
    (status = 200, description = "The indexes are there.", body = RestoredIndexes),
    (status = 400, description = "It is damaged, not whole, of a newer version or something else. Nothing has changed.", body = ErrorDetail),
    (status = 401, description = "The server wants its write token.", body = ErrorDetail),
    (status = 408, description = "It stopped arriving. Nothing has changed.", body = ErrorDetail),
    (status = 409, description = "An index of it is there, and overwrite is not true. Nothing has changed.", body = ErrorDetail),
    (status = 429, description = "Other copies are being made or read.", body = ErrorDetail),
    (status = 507, description = "There is no room for it. Nothing has changed.", body = ErrorDetail),
))]
pub async fn restore(
    State(app): State<Arc<App>>,
    QueryString(over): QueryString<RestoreOver>,
    request: Request,
) -> Result<Json<RestoredIndexes>, PlainError> {
    let bytes = request.body().size_hint().exact();
    let timeout = Duration::from_secs(app.settings.limits.body_timeout_seconds);
    let mut source = BodyReader::new(request.into_body(), timeout);
    let (loaded, turn) = (app.loaded()?, turn(&app)?);
    let (catalog, max_block_bytes) = (Arc::clone(&loaded.catalog), max_block_bytes(&app));
    let restoring = made(Arc::clone(&loaded.generations), move || {
        let _turn = turn;
        // What does not fit is better refused before it has been sent.
        bytes.map_or(Ok(()), |bytes| catalog.require_free_bytes(bytes))?;
        Ok((catalog.import(&mut source, existing(over.overwrite), max_block_bytes, over.index.as_deref())?, ()))
    });
    let (indexes, ()) = counted(&app, "restore", restoring.await)?;
    Ok(Json(RestoredIndexes { indexes }))
}

/// Makes indexes and looks after their generations, and says their names. A client that leaves does not come between the two.
async fn made<T: Send + 'static>(
    generations: Arc<Generations>,
    make: impl FnOnce() -> Result<(Vec<Arc<Index>>, T), IndexError> + Send + 'static,
) -> Result<(Vec<String>, T), IndexError> {
    to_its_end(async move {
        let (indexes, more) = blocking::run(make).await?;
        let names = indexes.iter().map(|index| index.name().to_owned()).collect();
        generations.take_in(indexes).await;
        Ok((names, more))
    })
    .await
}

/// Each of them reads or writes as fast as the disk can: two at a time, and the next one waits outside.
fn turn(app: &App) -> Result<OwnedSemaphorePermit, ApiError> {
    Arc::clone(&app.transfers).try_acquire_owned().map_err(|_| {
        ApiError::Busy("two copies of indexes are being made or read already: try again when one is done".to_owned())
    })
}

fn max_block_bytes(app: &App) -> u64 {
    MAX_BLOCK_BYTES.max(app.settings.limits.max_body_bytes.saturating_add(BLOCK_MARGIN_BYTES))
}

fn counted<T>(app: &App, operation: &str, result: Result<T, IndexError>) -> Result<T, IndexError> {
    app.metrics.copied(operation, result.as_ref().err().map_or("ok", IndexError::kind));
    result
}
