//! The documents of an index.

use reqwest::Method;

use super::{Client, ClientError};
use crate::wire::{
    AddDocuments, DeleteDocuments, DeletedDocuments, Document, SourceDocument, SourceDocuments, StoredDocument,
};

const PAGE: usize = 1000;

impl Client {
    /// Adds documents to an index, which is made when it is not there.
    ///
    /// # Errors
    ///
    /// When the server refuses or nobody answers; nothing was added then.
    pub async fn add(&self, index_name: &str, documents: Vec<Document>) -> Result<Vec<StoredDocument>, ClientError> {
        self.send(Method::POST, &["index"], Some(&AddDocuments { index_name: index_name.to_owned(), documents })).await
    }

    /// Deletes documents by their ids.
    ///
    /// # Errors
    ///
    /// When the server refuses or nobody answers.
    pub async fn delete(&self, index_name: &str, doc_ids: Vec<String>) -> Result<DeletedDocuments, ClientError> {
        self.send(Method::POST, &["indexes", index_name, "documents", "delete"], Some(&DeleteDocuments { doc_ids }))
            .await
    }

    /// All documents of a source, by content. None when there is no such index.
    ///
    /// # Errors
    ///
    /// When the server refuses or nobody answers.
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
