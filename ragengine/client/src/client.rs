use std::error::Error;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Method, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::wire::{
    AddDocuments, DeleteDocuments, DeletedDocuments, DeletedSource, Document, EngineStatus, IndexDescription,
    IndexSettings, ListSources, PutSourceSync, Readiness, SourceDescription, SourceDocument, SourceDocuments,
    StoredDocument,
};

/// Embedding a batch of documents on a busy machine takes its time.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(600);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that cannot say how it is within this time has a problem of its own.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);
const PAGE: usize = 1000;

/// The most that is read of a reply of a server that is not trusted, in bytes.
const MAX_GUARDED_BYTES: usize = 256 << 10;
/// The most that is repeated of such a server's words, in characters.
const MAX_GUARDED_CHARACTERS: usize = 200;

/// Why a call did not give what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is not one.
    #[error("'{0}' is not the address of a server: it must look like http://127.0.0.1:5000")]
    Address(String),
    /// The token cannot be sent.
    #[error("the token has characters that no header can hold")]
    Token,
    /// No request can be made at all, whatever the address.
    #[error("no HTTP client: {0}")]
    Http(String),
    /// No connection could be made.
    #[error("no connection to {url}: {reason}")]
    Unreachable {
        /// The server's address.
        url: String,
        /// What went wrong.
        reason: String,
    },
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

    /// Whether nobody listens at the address, as far as can be told.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// Whether the server wants a token, or another one.
    pub fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Refused { status: 401, .. })
    }

    /// Whether the server said that there is no such thing.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }

    /// Whether what is there stands against it: a source that another synchronisation has.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { status: 409, .. })
    }
}

/// A client of one server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) http: reqwest::Client,
    base: Url,
    /// Marked as sensitive: it is not printed.
    authorization: Option<HeaderValue>,
    trust: Trust,
}

/// Whether a server may say as much as it likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Full,
    Guarded,
}

impl Client {
    /// A client of the server at `base`, for example `http://127.0.0.1:5000`, by way of the proxy that the environment names, when it names
    /// one.
    ///
    /// # Errors
    ///
    /// [`ClientError::Address`] when that is no HTTP address.
    pub fn new(base: &str) -> Result<Self, ClientError> {
        Self::with_http(base, reqwest::Client::builder(), Trust::Full)
    }

    /// The same without any proxy, whatever the environment says: inside a cluster.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn direct(base: &str) -> Result<Self, ClientError> {
        Self::with_http(base, reqwest::Client::builder().no_proxy(), Trust::Full)
    }

    /// The same for a server that anybody may have put there: no redirect is followed, of a reply at most 256 KiB are read, and at most 200 characters
    /// of what it says are repeated.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn guarded(base: &str) -> Result<Self, ClientError> {
        let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        Self::with_http(base, builder, Trust::Guarded)
    }

    /// A client of another server, without this one's token. Both share what connections are made with, which costs more than all else.
    ///
    /// # Errors
    ///
    /// [`ClientError::Address`] when that is no HTTP address.
    pub fn at(&self, base: &str) -> Result<Self, ClientError> {
        Ok(Self { http: self.http.clone(), base: address(base)?, authorization: None, trust: self.trust })
    }

    fn with_http(base: &str, builder: reqwest::ClientBuilder, trust: Trust) -> Result<Self, ClientError> {
        let base = address(base)?;
        let http = builder.connect_timeout(CONNECT_TIMEOUT).timeout(REQUEST_TIMEOUT).build();
        let http = http.map_err(|error| ClientError::Http(innermost(&error)))?;
        Ok(Self { http, base, authorization: None, trust })
    }

    /// The same client with a token, which servers may want for writes.
    ///
    /// # Errors
    ///
    /// [`ClientError::Token`] when no header can hold it.
    pub fn with_token(self, token: &str) -> Result<Self, ClientError> {
        let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| ClientError::Token)?;
        value.set_sensitive(true);
        Ok(Self { authorization: Some(value), ..self })
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

    /// How the server is. It is waited for at most 5 seconds.
    ///
    /// # Errors
    ///
    /// When nobody answers, or not as this server does.
    pub async fn status(&self) -> Result<EngineStatus, ClientError> {
        self.read(self.http.get(self.url(&["status"])).timeout(STATUS_TIMEOUT)).await
    }

    /// Makes an index, or confirms that it is there with these settings.
    ///
    /// # Errors
    ///
    /// When the server refuses or nobody answers.
    pub async fn put_index(&self, name: &str, settings: &IndexSettings) -> Result<IndexDescription, ClientError> {
        self.send(Method::PUT, &["indexes", name], Some(settings)).await
    }

    /// An index.
    ///
    /// # Errors
    ///
    /// When there is none (see [`ClientError::is_not_found`]) or nobody answers.
    pub async fn index(&self, name: &str) -> Result<IndexDescription, ClientError> {
        self.send(Method::GET, &["indexes", name], None::<&()>).await
    }

    /// All sources of an index, in the order of their names.
    ///
    /// # Errors
    ///
    /// As [`Self::index`].
    pub async fn sources(&self, index_name: &str) -> Result<Vec<SourceDescription>, ClientError> {
        self.send(Method::GET, &["indexes", index_name, "sources"], None::<&()>).await
    }

    /// Some sources of an index, and as much of each as was asked for.
    ///
    /// # Errors
    ///
    /// As [`Self::index`].
    pub async fn some_sources(
        &self,
        index_name: &str,
        which: &ListSources,
    ) -> Result<Vec<SourceDescription>, ClientError> {
        let mut url = self.url(&["indexes", index_name, "sources"]);
        let max_errors = which.max_errors.map(|count| count.to_string());
        let pairs = [("owner", which.owner.as_ref()), ("max_errors", max_errors.as_ref())];
        url.query_pairs_mut().extend_pairs(pairs.into_iter().filter_map(|(name, value)| Some((name, value?))));
        self.read(self.authorized(self.http.get(url))).await
    }

    /// A source of an index. One that is not known has nothing.
    ///
    /// # Errors
    ///
    /// As [`Self::index`].
    pub async fn source(&self, index_name: &str, source: &str) -> Result<SourceDescription, ClientError> {
        self.send(Method::GET, &["indexes", index_name, "sources", source], None::<&()>).await
    }

    /// Says how far the synchronisation of a source is. While it runs this has to be said again within a minute each time, or another
    /// one may have the source.
    ///
    /// # Errors
    ///
    /// When another synchronisation has the source (see [`ClientError::is_conflict`]), the server refuses, or nobody answers.
    pub async fn put_source_sync(
        &self,
        index_name: &str,
        source: &str,
        sync: &PutSourceSync,
    ) -> Result<SourceDescription, ClientError> {
        self.send(Method::PUT, &["indexes", index_name, "sources", source], Some(sync)).await
    }

    /// Deletes a source: its documents and what is known of its synchronisation. One that is not known had nothing.
    ///
    /// # Errors
    ///
    /// As [`Self::index`].
    pub async fn delete_source(&self, index_name: &str, source: &str) -> Result<DeletedSource, ClientError> {
        self.send(Method::DELETE, &["indexes", index_name, "sources", source], None::<&()>).await
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
        self.read(self.authorized(request)).await
    }

    pub(crate) fn authorized(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match &self.authorization {
            Some(authorization) => request.header(AUTHORIZATION, authorization.clone()),
            None => request,
        }
    }

    pub(crate) async fn read<T: DeserializeOwned>(&self, request: reqwest::RequestBuilder) -> Result<T, ClientError> {
        let response = request.send().await.map_err(|error| self.transport(&error))?;
        let status = response.status();
        let text = self.text(response).await?;
        if !status.is_success() {
            return Err(self.repeated(refusal(status, &text)));
        }
        serde_json::from_str(&text).map_err(|error| {
            let reason = format!("its reply is not understood: {error}");
            self.repeated(ClientError::Transport { url: self.base.to_string(), reason })
        })
    }

    async fn text(&self, mut response: reqwest::Response) -> Result<String, ClientError> {
        if self.trust == Trust::Full {
            return response.text().await.map_err(|error| self.transport(&error));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.transport(&error))? {
            if bytes.len() + chunk.len() > MAX_GUARDED_BYTES {
                let reason = format!("its reply has more than {} KiB", MAX_GUARDED_BYTES >> 10);
                return Err(ClientError::Transport { url: self.base.to_string(), reason });
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The server's words, as far as they are repeated.
    fn repeated(&self, error: ClientError) -> ClientError {
        let short = |words: String| match self.trust {
            Trust::Full => words,
            Trust::Guarded => beginning(&words),
        };
        match error {
            ClientError::Refused { status, message } => ClientError::Refused { status, message: short(message) },
            ClientError::Transport { url, reason } => ClientError::Transport { url, reason: short(reason) },
            other => other,
        }
    }

    /// The address of a path, whose parts are escaped.
    pub(crate) fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    pub(crate) fn transport(&self, error: &reqwest::Error) -> ClientError {
        let url = self.base.to_string();
        match (error.is_timeout(), error.is_connect()) {
            (true, _) => ClientError::Transport { url, reason: "it took too long".to_owned() },
            (_, true) => ClientError::Unreachable { url, reason: innermost(error) },
            _ => ClientError::Transport { url, reason: innermost(error) },
        }
    }
}

fn address(text: &str) -> Result<Url, ClientError> {
    let is_http = |url: &Url| matches!(url.scheme(), "http" | "https");
    Url::parse(text).ok().filter(is_http).ok_or_else(|| ClientError::Address(text.to_owned()))
}

/// As much of a text as is repeated of a server that is not trusted, on one line.
fn beginning(text: &str) -> String {
    let on_one_line = text.chars().map(|character| if character.is_control() { ' ' } else { character });
    on_one_line.take(MAX_GUARDED_CHARACTERS).collect()
}

/// What lies at the bottom of an error, without the address that reqwest would print with it.
fn innermost(error: &reqwest::Error) -> String {
    let mut reason: &(dyn Error + 'static) = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    reason.to_string()
}

/// The server's own words, whatever they came in.
pub(crate) fn refusal(status: StatusCode, text: &str) -> ClientError {
    let body: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let message = match &body["detail"] {
        serde_json::Value::String(detail) => detail.clone(),
        serde_json::Value::Null => text.chars().take(500).collect(),
        fields => fields.to_string(),
    };
    ClientError::Refused { status: status.as_u16(), message }
}
