//! Sources of an index.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use ragengine_client::wire::{DeletedSource, ErrorDetail, ListSources, PutSourceSync, SourceDescription};
use tracing::info;

use super::extract::{JsonBody, PathParameters, QueryString};
use crate::access::{Action, Caller};
use crate::app::App;
use crate::error::{ApiError, PlainError};
use ragengine_engine::Index;
use ragengine_errors::texts;
use ragengine_index::sources::check_sync;

/// Lists the sources of an index, including sources without documents that have a synchronisation record.
#[utoipa::path(get, path = "/indexes/{index_name}/sources", tag = "sources",
    params(("index_name" = String, Path, description = "The index."), ListSources), responses(
    (status = 200, description = "The sources, in the order of their names.", body = [SourceDescription]),
    (status = 404, description = "No such index.", body = ErrorDetail),
))]
pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters(index_name): PathParameters<String>,
    QueryString(request): QueryString<ListSources>,
) -> Result<Json<Vec<SourceDescription>>, PlainError> {
    let index = app.loaded()?.index(&caller, Action::Read, &index_name).await?;
    Ok(Json(listed(index.sources().await.map_err(ApiError::from)?, &request)))
}

fn listed(sources: Vec<SourceDescription>, request: &ListSources) -> Vec<SourceDescription> {
    let is_of = |name: &str, owner: &str| name.strip_prefix(owner).is_some_and(|rest| rest.starts_with('.'));
    let wanted =
        sources.into_iter().filter(|source| request.owner.as_deref().is_none_or(|owner| is_of(&source.name, owner)));
    let shortened = |mut source: SourceDescription| {
        if let (Some(sync), Some(max_errors)) = (&mut source.sync, request.max_errors) {
            sync.errors.truncate(max_errors);
        }
        source
    };
    wanted.map(shortened).collect()
}

/// Describes a source: its size in the index, and its latest synchronisation.
#[utoipa::path(get, path = "/indexes/{index_name}/sources/{source}", tag = "sources",
    params(("index_name" = String, Path, description = "The index."),
        ("source" = String, Path, description = "The source.")),
    responses(
    (status = 200, description = "The source. An unknown source has no documents.", body = SourceDescription),
    (status = 404, description = "No such index.", body = ErrorDetail),
))]
pub async fn describe(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters((index_name, source)): PathParameters<(String, String)>,
) -> Result<Json<SourceDescription>, PlainError> {
    let index = app.loaded()?.index(&caller, Action::Read, &index_name).await?;
    Ok(Json(index.source(&source).await.map_err(ApiError::from)?))
}

/// Records the progress of a synchronisation.
///
/// While the synchronisation runs, each call locks the source for it for 60 seconds.
#[utoipa::path(put, path = "/indexes/{index_name}/sources/{source}", tag = "sources",
    params(("index_name" = String, Path, description = "The index."),
        ("source" = String, Path, description = "The source.")),
    request_body = PutSourceSync, responses(
    (status = 200, description = "The source.", body = SourceDescription),
    (status = 400, description = "A name or a record is invalid.", body = ErrorDetail),
    (status = 401, description = "The write token is missing or wrong.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
    (status = 409, description = "Another synchronisation has locked the source. The message names it.",
        body = ErrorDetail),
    (status = 422, description = "The body does not match the schema.", body = ErrorDetail),
))]
pub async fn put(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters((index_name, source)): PathParameters<(String, String)>,
    JsonBody(put): JsonBody<PutSourceSync>,
) -> Result<Json<SourceDescription>, PlainError> {
    let generations = &app.loaded()?.generations;
    check_sync(&source, &put)?;
    let put = |index: Index| {
        let (source, put) = (source.clone(), put.clone());
        async move { index.put_sync(source, put).await }
    };
    Ok(Json(generations.with(&caller, &index_name, put).await?))
}

/// Deletes a source: its documents and its synchronisation record. Later answers do not use the documents.
#[utoipa::path(delete, path = "/indexes/{index_name}/sources/{source}", tag = "sources",
    params(("index_name" = String, Path, description = "The index."),
        ("source" = String, Path, description = "The source.")),
    responses(
    (status = 200, description = "The source was deleted. An unknown source had no documents.", body = DeletedSource),
    (status = 401, description = "The write token is missing or wrong.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
))]
pub async fn delete(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters((index_name, source)): PathParameters<(String, String)>,
) -> Result<Json<DeletedSource>, PlainError> {
    let delete = |index: Index| {
        let source = source.clone();
        async move {
            let documents = index.delete_source(source.clone()).await?;
            // A source without documents may never have existed, and the log has no text of callers.
            let known = texts::id(&source).filter(|_| documents > 0);
            info!(index = index.name(), source = known, documents, "source deleted");
            Ok(documents)
        }
    };
    let documents = app.loaded()?.generations.with(&caller, &index_name, delete).await?;
    Ok(Json(DeletedSource { documents }))
}

#[cfg(test)]
mod tests {
    use ragengine_client::wire::{FileError, SourceSync};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_is_filtered_by_owner_and_its_errors_are_limited() {
        let sync: SourceSync =
            serde_json::from_value(json!({"sync_id": "1", "phase": "complete", "started_at": "t"})).unwrap();
        let sync = SourceSync { errors: vec![FileError::default(); 7], ..sync };
        let source = |name: &str| SourceDescription {
            name: name.into(),
            documents: 1,
            chunks: 1,
            bytes: 1,
            sync: Some(sync.clone()),
        };
        for (owner, max_errors, names, errors) in [
            (None, None, vec!["a.b", "ab.c", "a"], 7),
            (Some("a"), Some(3), vec!["a.b"], 3),
            (Some("ab"), Some(100), vec!["ab.c"], 7),
            (Some("x"), None, vec![], 0),
        ] {
            let request = ListSources { owner: owner.map(str::to_owned), max_errors };
            let listed = listed(["a.b", "ab.c", "a"].map(source).to_vec(), &request);
            assert_eq!(listed.iter().map(|source| source.name.as_str()).collect::<Vec<_>>(), names, "{owner:?}");
            let counts = listed.iter().filter_map(|source| Some(source.sync.as_ref()?.errors.len()));
            assert!(counts.into_iter().all(|count| count == errors), "{owner:?}");
        }
    }
}
