use std::time::Duration;

use reqwest::{Method, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::wire::{
    AddDocuments, DeleteDocuments, DeletedDocuments, Document, Readiness, SourceDocument, SourceDocuments,
    StoredDocument,
};

/// Embedding a batch of documents on a busy machine takes its time.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(600);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const PAGE: usize = 1000;

/// Why a call did not give what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is not one.
    #[error("'{0}' is not the address of a server: it must look like http://127.0.0.1:5000")]
    Address(String),
    /// Nobody answered.
    #[error("no answer from {url}: {reason}")]
    Transport {
        /// The server's address.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// The server refused.
    #[error("the server answered {status}: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's words.
        message: String,
    },
}

impl ClientError {
    /// Whether the server refused what was sent, and not because of the index or itself: another document may be taken.
    pub fn is_of_the_document(&self) -> bool {
        matches!(self, Self::Refused { status: 400 | 413 | 422, .. })
    }

    /// Whether the server said that there is no such thing.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }
}

/// A client of one server.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
}

impl Client {
    /// A client of the server at `base`, for example `http://127.0.0.1:5000`.
    ///
    /// # Errors
    ///
    /// [`ClientError::Address`] when that is no HTTP address.
    pub fn new(base: &str) -> Result<Self, ClientError> {
        let address = || ClientError::Address(base.to_owned());
        let base = Url::parse(base).ok().filter(|url| matches!(url.scheme(), "http" | "https")).ok_or_else(address)?;
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            .build()
            .map_err(|_| address())?;
        Ok(Self { http, base })
    }

    /// Whether the server can answer, and what it waits for.
    ///
    /// # Errors
    ///
    /// When nobody answers, or not as this server does.
    pub async fn readiness(&self) -> Result<Readiness, ClientError> {
        let response = self.http.get(self.url(&["readyz"])).send().await.map_err(|error| self.transport(&error))?;
        response.json().await.map_err(|error| self.transport(&error))
    }

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

    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&impl Serialize>,
    ) -> Result<T, ClientError> {
        self.request(method, self.url(path), body).await
    }

    async fn request<T: DeserializeOwned>(
        &self,
        method: Method,
        url: Url,
        body: Option<&impl Serialize>,
    ) -> Result<T, ClientError> {
        let mut request = self.http.request(method, url);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| self.transport(&error))?;
        let status = response.status();
        let text = response.text().await.map_err(|error| self.transport(&error))?;
        if !status.is_success() {
            return Err(refusal(status, &text));
        }
        serde_json::from_str(&text).map_err(|error| ClientError::Transport {
            url: self.base.to_string(),
            reason: format!("its reply is not understood: {error}"),
        })
    }

    /// The address of a path, whose parts are escaped.
    fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    fn transport(&self, error: &reqwest::Error) -> ClientError {
        let reason = match (error.is_connect(), error.is_timeout()) {
            (true, _) => {
                "nothing listens there; start it with `ragengine serve`, or name another with --server".to_owned()
            }
            (_, true) => "it took too long".to_owned(),
            _ => error.to_string(),
        };
        ClientError::Transport { url: self.base.to_string(), reason }
    }
}

/// The server's own words, whatever they came in.
fn refusal(status: StatusCode, text: &str) -> ClientError {
    let body: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let message = match &body["detail"] {
        serde_json::Value::String(detail) => detail.clone(),
        serde_json::Value::Null => text.chars().take(500).collect(),
        fields => fields.to_string(),
    };
    ClientError::Refused { status: status.as_u16(), message }
}
