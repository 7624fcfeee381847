//! Sources of an index.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use ragengine_client::wire::{DeletedSource, ErrorDetail, ListSources, PutSourceSync, SourceDescription};
use tracing::info;

use super::extract::{JsonBody, PathParameters, QueryString};
use crate::app::App;
use crate::error::PlainError;
use ragengine_errors::texts;
use ragengine_index::Index;
use ragengine_index::sources::{Moment, check_sync};

/// Lists the sources of an index: all that have a document, or a record of a synchronisation.
#[utoipa::path(get, path = "/indexes/{index_name}/sources", tag = "sources",
    params(("index_name" = String, Path, description = "The index."), ListSources), responses(
    (status = 200, description = "The sources, in the order of their names.", body = [SourceDescription]),
    (status = 404, description = "No such index.", body = ErrorDetail),
))]
pub async fn list(
    State(app): State<Arc<App>>,
    PathParameters(index_name): PathParameters<String>,
    QueryString(request): QueryString<ListSources>,
) -> Result<Json<Vec<SourceDescription>>, PlainError> {
    Ok(Json(listed(app.loaded()?.catalog.get(&index_name)?.sources(), &request)))
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

#[cfg(test)]
mod tests {
    use ragengine_client::wire::{FileError, SourceSync};
    use serde_json::json;

    use super::*;

    #[test]
    fn an_owner_is_told_of_its_own_and_of_as_many_errors_as_it_wants() {
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
