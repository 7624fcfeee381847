//! Sources of an index.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use ragengine_client::wire::{DeletedSource, ErrorDetail, PutSourceSync, SourceDescription};
use tracing::info;

use super::extract::{JsonBody, PathParameters};
use crate::app::App;
use crate::error::PlainError;
use crate::index::Index;
use crate::index::sources::{Moment, check_sync};
use crate::logging::texts;

/// Lists the sources of an index: all that have a document, or a record of a synchronisation.
#[utoipa::path(get, path = "/indexes/{index_name}/sources", tag = "sources",
    params(("index_name" = String, Path, description = "The index.")), responses(
    (status = 200, description = "The sources, in the order of their names.", body = [SourceDescription]),
    (status = 404, description = "No such index.", body = ErrorDetail),
))]
pub async fn list(
    State(app): State<Arc<App>>,
    PathParameters(index_name): PathParameters<String>,
) -> Result<Json<Vec<SourceDescription>>, PlainError> {
    Ok(Json(app.loaded()?.catalog.get(&index_name)?.sources()))
}

/// Describes a source: what the index has of it, and how its latest synchronisation went.
#[utoipa::path(get, path = "/indexes/{index_name}/sources/{source}", tag = "sources",
    params(("index_name" = String, Path, description = "The index."), ("source" = String, Path, description = "The source.")),
    responses(
    (status = 200, description = "The source. One that is not known has nothing.", body = SourceDescription),
    (status = 404, description = "No such index.", body = ErrorDetail),
))]
pub async fn describe(
    State(app): State<Arc<App>>,
    PathParameters((index_name, source)): PathParameters<(String, String)>,
) -> Result<Json<SourceDescription>, PlainError> {
    Ok(Json(app.loaded()?.catalog.get(&index_name)?.source(&source)))
}

/// Says how far the synchronisation of a source is. While it runs, it has the source for 60 seconds each time.
#[utoipa::path(put, path = "/indexes/{index_name}/sources/{source}", tag = "sources",
    params(("index_name" = String, Path, description = "The index."), ("source" = String, Path, description = "The source.")),
    request_body = PutSourceSync, responses(
    (status = 200, description = "The source.", body = SourceDescription),
    (status = 400, description = "A name or a record that cannot be.", body = ErrorDetail),
    (status = 401, description = "The server wants its write token.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
    (status = 409, description = "Another synchronisation has the source; the message says which, and until when.", body = ErrorDetail),
    (status = 422, description = "The body is not what it must be.", body = ErrorDetail),
))]
pub async fn put(
    State(app): State<Arc<App>>,
    PathParameters((index_name, source)): PathParameters<(String, String)>,
    JsonBody(put): JsonBody<PutSourceSync>,
) -> Result<Json<SourceDescription>, PlainError> {
    let generations = &app.loaded()?.generations;
    check_sync(&source, &put)?;
    let put = |index: Arc<Index>| {
        let (source, put) = (source.clone(), put.clone());
        async move { index.in_turn(move |index| index.put_sync(&source, put, &Moment::now())).await }
    };
    Ok(Json(generations.with(&index_name, put).await?))
}

/// Deletes a source: its documents, which are in no later answer, and the record of its synchronisation.
#[utoipa::path(delete, path = "/indexes/{index_name}/sources/{source}", tag = "sources",
    params(("index_name" = String, Path, description = "The index."), ("source" = String, Path, description = "The source.")),
    responses(
    (status = 200, description = "It is gone. One that is not known had no documents.", body = DeletedSource),
    (status = 401, description = "The server wants its write token.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
))]
pub async fn delete(
    State(app): State<Arc<App>>,
    PathParameters((index_name, source)): PathParameters<(String, String)>,
) -> Result<Json<DeletedSource>, PlainError> {
    let delete = |index: Arc<Index>| {
        let source = source.clone();
        let delete = move |index: &Arc<Index>| {
            let documents = index.delete_source(&source)?;
            // One that had nothing may never have been there: its name is only the caller's.
            let known = texts::id(&source).filter(|_| documents > 0);
            info!(index = index.name(), source = known, documents, "source deleted");
            Ok(documents)
        };
        async move { index.in_turn(delete).await }
    };
    let documents = app.loaded()?.generations.with(&index_name, delete).await?;
    Ok(Json(DeletedSource { documents }))
}
