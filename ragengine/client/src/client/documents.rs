//! Requests for the documents of an index.

use reqwest::Method;

use super::{Client, ClientError};
use crate::wire::{
    AddDocuments, DeleteDocuments, DeletedDocuments, Document, SourceDocument, SourceDocuments, StoredDocument,
};

const PAGE: usize = 1000;

impl Client {
    /// Adds documents to an index, which is created if it does not exist.
    ///
    /// # Errors
    ///
    /// When the server refuses or does not answer. If it refuses, nothing was added.
    pub async fn add(&self, index_name: &str, documents: Vec<Document>) -> Result<Vec<StoredDocument>, ClientError> {
        self.send(Method::POST, &["index"], Some(&AddDocuments { index_name: index_name.to_owned(), documents })).await
    }

    /// Deletes documents by their ids.
    ///
    /// # Errors
    ///
    /// When the server refuses or does not answer.
    pub async fn delete(&self, index_name: &str, doc_ids: Vec<String>) -> Result<DeletedDocuments, ClientError> {
        self.send(Method::POST, &["indexes", index_name, "documents", "delete"], Some(&DeleteDocuments { doc_ids }))
            .await
    }

    /// Lists all documents of a source with their content hashes. Empty if the index does not exist.
    ///
    /// # Errors
    ///
    /// When the server refuses or does not answer.
    pub async fn source_documents(&self, index_name: &str, source: &str) -> Result<Vec<SourceDocument>, ClientError> {
        let mut documents = Vec::new();
        loop {
            let mut url = self.url(&["indexes", index_name, "sources", source, "documents"]);
            url.query_pairs_mut()
                .append_pair("limit", &PAGE.to_string())
                .append_pair("offset", &documents.len().to_string());
            let page: SourceDocuments = match self.request(Method::GET, url, None::<&()>).await {
                Err(error) if error.is_not_found() => return Ok(documents),
                page => page?,
            };
            let is_last = page.documents.len() < PAGE;
            documents.extend(page.documents);
            if is_last {
                return Ok(documents);
            }
        }
    }
}
