//! Documents of an index.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use ragengine_client::wire::{
    AddDocuments, DeleteDocuments, DeletedDocuments, DocumentList, ErrorDetail, ListDocuments, SourceDocuments,
    StoredDocument, UpdateDocuments, UpdatedDocuments,
};
use serde::Deserialize;
use tokio::runtime::Handle;
use tracing::warn;
use utoipa::IntoParams;

use super::extract::{JsonBody, PathParameters, QueryString, out_of_bounds};
use super::indexes::record;
use crate::app::{App, Loaded};
use crate::blocking;
use crate::error::{ApiError, PlainError};
use crate::index::catalog::Catalog;
use crate::index::filter::Filter;
use crate::index::listing::Page;
use crate::index::name::check_name;
use crate::index::record::IndexRecord;
use crate::index::writer::{Fate, Incoming, Limits, Mode, check_documents};
use crate::index::{Index, IndexError};
use crate::logging::Logged as _;

/// How often an index is made anew that was deleted under those who write to it.
const ATTEMPTS: u32 = 3;

/// Adds documents to an index, which is made when it is not there. A document whose id is there is replaced.
#[utoipa::path(post, path = "/index", tag = "documents", request_body = AddDocuments, responses(
    (status = 200, description = "The documents as they are stored, in the order in which they were sent.", body = [StoredDocument]),
    (status = 400, description = "A name or a document that cannot be.", body = ErrorDetail),
    (status = 401, description = "The server wants its write token.", body = ErrorDetail),
    (status = 413, description = "The body is too large.", body = ErrorDetail),
    (status = 422, description = "The body is not what it must be.", body = ErrorDetail),
    (status = 429, description = "Too many writes wait already, or large bodies fill the room for them.", body = ErrorDetail),
    (status = 503, description = "The model of the index's vectors is not there.", body = ErrorDetail),
))]
pub async fn add(
    State(app): State<Arc<App>>,
    JsonBody(request): JsonBody<AddDocuments>,
) -> Result<Json<Vec<StoredDocument>>, PlainError> {
    let loaded = app.loaded()?;
    check_name(&request.index_name).map_err(IndexError::from)?;
    let incoming = check_documents(request.documents, limits(&app))?;
    if incoming.is_empty() {
        return Err(ApiError::Meaning("documents is empty: send at least one".to_owned()).into());
    }
    let newest = newest_of_each(&incoming);
    let stored = incoming.iter().map(|document| stored(newest[&document.doc_id])).collect();
    let writes = newest_in_order(&incoming, &newest);
    let record = record(&app.settings, &loaded.embedding);
    for _ in 1..ATTEMPTS {
        match add_to(loaded, &request.index_name, &record, &writes).await {
            // It was made for documents of another request that could not be added, and deleted again: it is made anew.
            Err(IndexError::NoSuchIndex(_)) => {}
            done => return Ok(done.map(|()| Json(stored))?),
        }
    }
    add_to(loaded, &request.index_name, &record, &writes).await?;
    Ok(Json(stored))
}

/// Writes documents to an index, which is made when it is not there. One that was made and got nothing is deleted again.
async fn add_to(loaded: &Loaded, name: &str, record: &IndexRecord, writes: &[Incoming]) -> Result<(), IndexError> {
    let generations = &loaded.generations;
    let (catalog, made, record) = (Arc::clone(&loaded.catalog), name.to_owned(), record.clone());
    let (index, is_new) = blocking::run(move || catalog.get_or_create(&made, || record)).await?;
    let mut new = NewIndex { catalog: &loaded.catalog, index: is_new.then_some(index) };
    let write = |index: Arc<Index>| {
        let writes = writes.to_vec();
        async move { index.write(writes, Mode::Upsert, &generations.embedding_of(&index)?).await }
    };
    let written = generations.with(name, write).await;
    // Taken in either case: what has documents stays.
    let new = new.index.take();
    if let (Err(_), Some(index)) = (&written, new) {
        let catalog = Arc::clone(&loaded.catalog);
        blocking::run(move || catalog.delete_if_unused(&index)).await?;
    }
    written.map(drop)
}

/// An index that was made for documents, until they are in it. Where their sender leaves meanwhile, it goes again.
struct NewIndex<'a> {
    catalog: &'a Arc<Catalog>,
    index: Option<Arc<Index>>,
}

impl Drop for NewIndex<'_> {
    fn drop(&mut self) {
        let (Some(index), Ok(runtime)) = (self.index.take(), Handle::try_current()) else { return };
        let catalog = Arc::clone(self.catalog);
        runtime.spawn_blocking(move || {
            if let Err(error) = catalog.delete_if_unused(&index) {
                warn!(
                    index = index.name(),
                    error = error.for_log(),
                    "an empty index is left of documents whose sender has left"
                );
            }
        });
    }
}

/// Replaces documents that are there. Others are not added.
#[utoipa::path(post, path = "/indexes/{index_name}/documents", tag = "documents",
    params(("index_name" = String, Path, description = "The index.")), request_body = UpdateDocuments, responses(
    (status = 200, description = "What became of each.", body = UpdatedDocuments),
    (status = 401, description = "The server wants its write token.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
    (status = 422, description = "The body is not what it must be.", body = ErrorDetail),
))]
pub async fn update(
    State(app): State<Arc<App>>,
    PathParameters(index_name): PathParameters<String>,
    JsonBody(request): JsonBody<UpdateDocuments>,
) -> Result<Json<UpdatedDocuments>, PlainError> {
    let loaded = app.loaded()?;
    loaded.catalog.get(&index_name)?;
    if let Some(position) =
        request.documents.iter().position(|document| document.doc_id.as_deref().unwrap_or_default().is_empty())
    {
        let reason = "it has no doc_id, which says what to update: use POST /index to add documents".to_owned();
        return Err(IndexError::Document { position, reason }.into());
    }
    let incoming = check_documents(request.documents, limits(&app))?;
    let writes = newest_in_order(&incoming, &newest_of_each(&incoming));
    let replies: Vec<StoredDocument> = writes.iter().map(stored).collect();
    let generations = &loaded.generations;
    let write = |index: Arc<Index>| {
        let writes = writes.clone();
        async move { index.write(writes, Mode::UpdateOnly, &generations.embedding_of(&index)?).await }
    };
    let fates = generations.with(&index_name, write).await?;
    let with = |wanted: Fate| {
        replies.iter().zip(&fates).filter(move |(_, fate)| **fate == wanted).map(|(reply, _)| reply.clone()).collect()
    };
    Ok(Json(UpdatedDocuments {
        updated_documents: with(Fate::Written),
        unchanged_documents: with(Fate::Unchanged),
        not_found_documents: with(Fate::NotFound),
    }))
}

/// Deletes documents. They are in no later answer.
#[utoipa::path(post, path = "/indexes/{index_name}/documents/delete", tag = "documents",
    params(("index_name" = String, Path, description = "The index.")), request_body = DeleteDocuments, responses(
    (status = 200, description = "What became of each.", body = DeletedDocuments),
    (status = 401, description = "The server wants its write token.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
    (status = 422, description = "The body is not what it must be.", body = ErrorDetail),
))]
pub async fn delete(
    State(app): State<Arc<App>>,
    PathParameters(index_name): PathParameters<String>,
    JsonBody(request): JsonBody<DeleteDocuments>,
) -> Result<Json<DeletedDocuments>, PlainError> {
    let delete = |index: Arc<Index>| {
        let doc_ids = request.doc_ids.clone();
        async move { index.delete(doc_ids).await }
    };
    let were_there = app.loaded()?.generations.with(&index_name, delete).await?;
    let (deleted, not_found): (Vec<_>, Vec<_>) =
        request.doc_ids.into_iter().zip(were_there).partition(|(_, was_there)| *was_there);
    let ids = |pairs: Vec<(String, bool)>| pairs.into_iter().map(|(doc_id, _)| doc_id).collect();
    Ok(Json(DeletedDocuments { deleted_doc_ids: ids(deleted), not_found_doc_ids: ids(not_found) }))
}

/// Lists documents, in the order in which they were added.
#[utoipa::path(get, path = "/indexes/{index_name}/documents", tag = "documents",
    params(("index_name" = String, Path, description = "The index."), ListDocuments), responses(
    (status = 200, description = "A page of documents.", body = DocumentList),
    (status = 400, description = "The filter is not a JSON object in a string.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
    (status = 422, description = "A parameter is out of its bounds.", body = ErrorDetail),
))]
pub async fn list(
    State(app): State<Arc<App>>,
    PathParameters(index_name): PathParameters<String>,
    QueryString(request): QueryString<ListDocuments>,
) -> Result<Json<DocumentList>, PlainError> {
    let index = app.loaded()?.catalog.get(&index_name)?;
    if !(1..=100).contains(&request.limit) {
        return Err(out_of_bounds(["query", "limit"], "between 1 and 100").into());
    }
    if request.max_text_length == 0 {
        return Err(out_of_bounds(["query", "max_text_length"], "at least 1").into());
    }
    let filter = request.metadata_filter.as_deref().filter(|filter| !filter.is_empty());
    let filter = filter.map_or(Ok(Filter::default()), Filter::parse).map_err(IndexError::from)?;
    let page = Page { limit: request.limit, offset: request.offset };
    let listing = blocking::run(move || index.list(&filter, &page, request.max_text_length)).await?;
    Ok(Json(listing))
}

/// Which documents of a source are listed.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListSource {
    /// How many at most, 1 to 1000.
    #[serde(default = "max_source_page")]
    #[param(minimum = 1, maximum = 1000, default = 1000)]
    limit: usize,
    /// How many are skipped.
    #[serde(default)]
    offset: usize,
}

const MAX_SOURCE_PAGE: usize = 1000;

fn max_source_page() -> usize {
    MAX_SOURCE_PAGE
}

/// Lists the documents of one source with the hashes of their contents, so that only what changed has to be sent again.
#[utoipa::path(get, path = "/indexes/{index_name}/sources/{source}/documents", tag = "documents",
    params(("index_name" = String, Path, description = "The index."), ("source" = String, Path, description = "The source."), ListSource),
    responses(
    (status = 200, description = "A page of documents. A source that is not known has none.", body = SourceDocuments),
    (status = 404, description = "No such index.", body = ErrorDetail),
))]
pub async fn list_source(
    State(app): State<Arc<App>>,
    PathParameters((index_name, source)): PathParameters<(String, String)>,
    QueryString(request): QueryString<ListSource>,
) -> Result<Json<SourceDocuments>, PlainError> {
    let index = app.loaded()?.catalog.get(&index_name)?;
    if !(1..=MAX_SOURCE_PAGE).contains(&request.limit) {
        return Err(out_of_bounds(["query", "limit"], "between 1 and 1000").into());
    }
    let page = Page { limit: request.limit, offset: request.offset };
    Ok(Json(blocking::run(move || index.list_source(&source, &page)).await?))
}

fn limits(app: &App) -> Limits {
    let limits = &app.settings.limits;
    Limits {
        max_documents: limits.max_documents as usize,
        max_document_bytes: limits.max_document_bytes as usize,
        max_metadata_bytes: limits.max_metadata_bytes as usize,
        cut_timeout: Duration::from_secs(limits.cut_timeout_seconds),
    }
}

/// The last document of each id: the one that counts when an id comes twice in a request.
fn newest_of_each(incoming: &[Incoming]) -> HashMap<String, &Incoming> {
    incoming.iter().map(|document| (document.doc_id.clone(), document)).collect()
}

/// Those documents, each once, where its id first came.
fn newest_in_order(incoming: &[Incoming], newest: &HashMap<String, &Incoming>) -> Vec<Incoming> {
    let mut seen = HashSet::new();
    incoming
        .iter()
        .filter(|document| seen.insert(document.doc_id.as_str()))
        .map(|document| newest[&document.doc_id].clone())
        .collect()
}

fn stored(document: &Incoming) -> StoredDocument {
    StoredDocument {
        doc_id: document.doc_id.clone(),
        text: document.text.clone(),
        metadata: document.metadata.clone(),
        source: document.source.clone(),
    }
}
