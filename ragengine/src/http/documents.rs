//! Documents of an index.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use ragengine_client::wire::{
    AddDocuments, DeleteDocuments, DeletedDocuments, Document, DocumentList, ErrorDetail, ListDocuments,
    ListedDocument, SourceDocuments, StoredDocument, UpdateDocuments, UpdatedDocuments, WholeDocument,
};
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};
use utoipa::IntoParams;

use super::extract::{JsonBody, PathParameters, QueryString, out_of_bounds};
use super::indexes::record;
use super::reply;
use crate::access::{Action, Caller, may};
use crate::app::App;
use crate::error::{ApiError, PlainError};
use ragengine_compute::{self as compute, Waiter};
use ragengine_engine::Index;
use ragengine_index::IndexError;
use ragengine_index::listing::{Page, TextLength};
use ragengine_index::name::check_name;
use ragengine_index::writer::{Incoming, Limits, Mode, WriteOutcome, check_documents};
use ragengine_json::json_bytes;
use ragengine_pipeline::filter::Filter;

/// About what a document or a chunk has in a list, in bytes, without its text.
const ABOUT_DOCUMENT_BYTES: usize = 200;

/// Most characters of text on a page, over all documents.
const MAX_PAGE_CHARACTERS: usize = 4 << 20;

/// Adds documents to an index.
///
/// The index is created if it does not exist. A document with an existing id is replaced.
#[utoipa::path(post, path = "/index", tag = "documents", request_body = AddDocuments, responses(
    (status = 200, description = "The stored documents, in request order.", body = [StoredDocument]),
    (status = 400, description = "A name or a document is invalid.", body = ErrorDetail),
    (status = 401, description = "The write token is missing or wrong.", body = ErrorDetail),
    (status = 413, description = "The body is too large.", body = ErrorDetail),
    (status = 422, description = "The body does not match the schema.", body = ErrorDetail),
    (status = 429, description = "Too many writes are waiting, or large bodies use all the memory for bodies.",
        body = ErrorDetail),
    (status = 503, description = "The embedding model of the index is not loaded.", body = ErrorDetail),
))]
pub async fn add(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    JsonBody(request): JsonBody<AddDocuments>,
) -> Result<Response, PlainError> {
    let loaded = app.loaded()?;
    may(&caller, Action::Write, Some(&request.index_name))?;
    check_name(&request.index_name).map_err(IndexError::from)?;
    let limits = limits(&app);
    let batch = compute::run_write(move |caller| Batch::check(request.documents, limits, caller)).await?;
    if batch.writes.is_empty() {
        return Err(ApiError::InvalidRequest("documents is empty: send at least one".to_owned()).into());
    }
    let record = record(&app.settings, &loaded.embedding);
    loaded.generations.add(&caller, &request.index_name, &record, &batch.writes).await?;
    Ok(batch.reply().await?)
}

/// Replaces existing documents. Documents with unknown ids are not added.
#[utoipa::path(post, path = "/indexes/{index_name}/documents", tag = "documents",
    params(("index_name" = String, Path, description = "The index.")), request_body = UpdateDocuments, responses(
    (status = 200, description = "The documents, by outcome.", body = UpdatedDocuments),
    (status = 401, description = "The write token is missing or wrong.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
    (status = 422, description = "The body does not match the schema.", body = ErrorDetail),
))]
pub async fn update(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters(index_name): PathParameters<String>,
    JsonBody(request): JsonBody<UpdateDocuments>,
) -> Result<Response, PlainError> {
    let loaded = app.loaded()?;
    loaded.index(&caller, Action::Write, &index_name).await?;
    if let Some(position) =
        request.documents.iter().position(|document| document.doc_id.as_deref().unwrap_or_default().is_empty())
    {
        let reason = "it has no doc_id, which an update needs: use POST /index to add documents".to_owned();
        return Err(IndexError::Document { position, reason }.into());
    }
    let limits = limits(&app);
    let batch = compute::run_write(move |caller| Batch::check(request.documents, limits, caller)).await?;
    let outcomes = loaded.generations.write(&caller, &index_name, &batch.writes, Mode::UpdateOnly).await?;
    let about_bytes = batch.about_bytes;
    let show = move |_: &_| {
        let with = |wanted: WriteOutcome| {
            let outcomes = batch.writes.iter().zip(&outcomes);
            outcomes.filter(|(_, outcome)| **outcome == wanted).map(|(document, _)| Stored(document)).collect()
        };
        let updated = Updated {
            updated_documents: with(WriteOutcome::Written),
            unchanged_documents: with(WriteOutcome::Unchanged),
            not_found_documents: with(WriteOutcome::NotFound),
        };
        reply::written(&updated, about_bytes)
    };
    Ok(reply::of_bytes(compute::run(about_bytes, show).await?))
}

/// Deletes documents. Later answers do not use them.
#[utoipa::path(post, path = "/indexes/{index_name}/documents/delete", tag = "documents",
    params(("index_name" = String, Path, description = "The index.")), request_body = DeleteDocuments, responses(
    (status = 200, description = "The documents, by outcome.", body = DeletedDocuments),
    (status = 401, description = "The write token is missing or wrong.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
    (status = 422, description = "The body does not match the schema.", body = ErrorDetail),
))]
pub async fn delete(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters(index_name): PathParameters<String>,
    JsonBody(request): JsonBody<DeleteDocuments>,
) -> Result<Response, PlainError> {
    let doc_ids: Arc<[String]> = request.doc_ids.into();
    let delete = |index: Index| {
        let doc_ids = Arc::clone(&doc_ids);
        async move { index.delete(doc_ids).await }
    };
    let were_there = app.loaded()?.generations.with(&caller, &index_name, delete).await?;
    let about_bytes = doc_ids.iter().map(|doc_id| doc_id.len() + 3).sum();
    let show = move |_: &_| {
        let (deleted, not_found): (Vec<_>, Vec<_>) =
            doc_ids.iter().cloned().zip(were_there).partition(|(_, was_there)| *was_there);
        let ids = |pairs: Vec<(String, bool)>| pairs.into_iter().map(|(doc_id, _)| doc_id).collect();
        let reply = DeletedDocuments { deleted_doc_ids: ids(deleted), not_found_doc_ids: ids(not_found) };
        reply::written(&reply, about_bytes)
    };
    Ok(reply::of_bytes(compute::run(about_bytes, show).await?))
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
    Extension(caller): Extension<Caller>,
    PathParameters(index_name): PathParameters<String>,
    QueryString(request): QueryString<ListDocuments>,
) -> Result<Response, PlainError> {
    let index = app.loaded()?.index(&caller, Action::Read, &index_name).await?;
    if !(1..=100).contains(&request.limit) {
        return Err(out_of_bounds(["query", "limit"], "between 1 and 100").into());
    }
    if request.max_text_length == 0 {
        return Err(out_of_bounds(["query", "max_text_length"], "at least 1").into());
    }
    let filter = request.metadata_filter.as_deref().filter(|filter| !filter.is_empty());
    let filter = filter.map_or(Ok(Filter::default()), Filter::parse).map_err(IndexError::from)?;
    let page = Page { limit: request.limit, offset: request.offset };
    let length = TextLength { each: request.max_text_length, together: MAX_PAGE_CHARACTERS };
    let listing = index.list(filter, page, length).await.map_err(ApiError::from)?;
    let bytes = |of: &ListedDocument| of.text.len() + json_bytes(&of.metadata) + ABOUT_DOCUMENT_BYTES;
    let about_bytes = listing.documents.iter().map(bytes).sum();
    Ok(reply::of_bytes(compute::run(about_bytes, move |_| reply::written(&listing, about_bytes)).await?))
}

/// Reads a document: its whole text, its metadata and the places of its chunks. Its id may contain slashes.
#[utoipa::path(get, path = "/indexes/{index_name}/documents/{doc_id}", tag = "documents",
    params(("index_name" = String, Path, description = "The index."),
        ("doc_id" = String, Path, description = "The document.")), responses(
    (status = 200, description = "The document.", body = WholeDocument),
    (status = 404, description = "No such index or document.", body = ErrorDetail),
))]
pub async fn describe(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters((index_name, doc_id)): PathParameters<(String, String)>,
) -> Result<Response, PlainError> {
    whole(&app, &caller, &index_name, doc_id).await
}

/// Reads the document with the id `delete`, whose path has another method, too.
pub async fn describe_delete(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters(index_name): PathParameters<String>,
) -> Result<Response, PlainError> {
    whole(&app, &caller, &index_name, "delete".to_owned()).await
}

async fn whole(app: &App, caller: &Caller, index_name: &str, doc_id: String) -> Result<Response, PlainError> {
    let index = app.loaded()?.index(caller, Action::Read, index_name).await?;
    let document = index.whole_document(doc_id.clone()).await.map_err(ApiError::from)?;
    let missing = || ApiError::NotFound(format!("index '{}' has no document '{doc_id}'", index.name()));
    let document = document.ok_or_else(missing)?;
    let about_bytes =
        document.text.len() + json_bytes(&document.metadata) + document.chunks.len() * ABOUT_DOCUMENT_BYTES;
    Ok(reply::of_bytes(compute::run(about_bytes, move |_| reply::written(&document, about_bytes)).await?))
}

/// A page of the documents of a source.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListSource {
    /// Most documents on the page, 1 to 1000.
    #[serde(default = "max_source_page")]
    #[param(minimum = 1, maximum = 1000, default = 1000)]
    limit: usize,
    /// Number of documents to skip.
    #[serde(default)]
    offset: usize,
}

const MAX_SOURCE_PAGE: usize = 1000;

fn max_source_page() -> usize {
    MAX_SOURCE_PAGE
}

/// Lists the documents of a source with the hashes of their contents, so that a client can send only changed ones.
#[utoipa::path(get, path = "/indexes/{index_name}/sources/{source}/documents", tag = "documents",
    params(("index_name" = String, Path, description = "The index."),
        ("source" = String, Path, description = "The source."), ListSource),
    responses(
    (status = 200, description = "A page of documents. Empty for an unknown source.", body = SourceDocuments),
    (status = 404, description = "No such index.", body = ErrorDetail),
))]
pub async fn list_source(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters((index_name, source)): PathParameters<(String, String)>,
    QueryString(request): QueryString<ListSource>,
) -> Result<Response, PlainError> {
    let index = app.loaded()?.index(&caller, Action::Read, &index_name).await?;
    if !(1..=MAX_SOURCE_PAGE).contains(&request.limit) {
        return Err(out_of_bounds(["query", "limit"], "between 1 and 1000").into());
    }
    let page = Page { limit: request.limit, offset: request.offset };
    let listing = index.list_source(source, page).await.map_err(ApiError::from)?;
    let about_bytes = listing.documents.len() * ABOUT_DOCUMENT_BYTES;
    Ok(reply::of_bytes(compute::run(about_bytes, move |_| reply::written(&listing, about_bytes)).await?))
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

/// The documents of a request.
struct Batch {
    /// For each document of the request, its position in `writes`.
    sent: Vec<usize>,
    /// The documents to write: for each id the last document, at the position of the first.
    writes: Vec<Incoming>,
    /// Approximate size of a reply with all documents, in bytes.
    about_bytes: usize,
}

impl Batch {
    fn check(documents: Vec<Document>, limits: Limits, caller: &Waiter) -> Result<Self, IndexError> {
        let (mut places, mut sent, mut writes) = (HashMap::new(), Vec::new(), Vec::<Incoming>::new());
        for document in check_documents(documents, limits, caller)? {
            let place = *places.entry(document.doc_id.clone()).or_insert(writes.len());
            sent.push(place);
            match writes.get_mut(place) {
                Some(earlier) => *earlier = document,
                None => writes.push(document),
            }
        }
        let bytes = |document: &Incoming| {
            document.text.len() + document.text.len() / 8 + json_bytes(&document.metadata) + ABOUT_DOCUMENT_BYTES
        };
        let bytes: Vec<usize> = writes.iter().map(bytes).collect();
        let about_bytes = sent.iter().map(|&place| bytes[place]).sum();
        Ok(Self { sent, writes, about_bytes })
    }

    /// The stored documents, in request order.
    async fn reply(self) -> Result<Response, ApiError> {
        let about_bytes = self.about_bytes;
        let show = move |_: &_| {
            let stored: Vec<Stored> = self.sent.iter().map(|&place| Stored(&self.writes[place])).collect();
            reply::written(&stored, about_bytes)
        };
        Ok(reply::of_bytes(compute::run(about_bytes, show).await?))
    }
}

/// A [`StoredDocument`] that borrows its fields.
struct Stored<'a>(&'a Incoming);

impl Serialize for Stored<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(document) = self;
        let fields = 3 + usize::from(document.source.is_some());
        let mut stored = serializer.serialize_struct("StoredDocument", fields)?;
        stored.serialize_field("doc_id", &document.doc_id)?;
        stored.serialize_field("text", &*document.text)?;
        stored.serialize_field("metadata", &*document.metadata)?;
        if let Some(source) = &document.source {
            stored.serialize_field("source", source)?;
        }
        stored.end()
    }
}

/// [`UpdatedDocuments`] that borrow their fields.
#[derive(Serialize)]
struct Updated<'a> {
    updated_documents: Vec<Stored<'a>>,
    unchanged_documents: Vec<Stored<'a>>,
    not_found_documents: Vec<Stored<'a>>,
}

#[cfg(test)]
mod tests;
