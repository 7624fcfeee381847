//! Requests to `/retrieve` with the fields that choose a configuration. Retrieval needs no token.

use std::error::Error as _;
use std::time::Duration;

use ragengine_client::ClientError;
use ragengine_evaluation::metrics::distinct;
use reqwest::Url;
use serde::{Deserialize, Serialize};

use crate::args::{EvalRetrieval, EvalThreshold};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Most bytes of a reply: 300 chunks with their metadata are far fewer.
const MAX_REPLY_BYTES: usize = 64 << 20;

/// Most characters of a refusal that are repeated.
const MAX_REFUSAL_CHARACTERS: usize = 500;

/// Requests for one index.
pub(super) struct Requests {
    http: reqwest::Client,
    url: Url,
    index: String,
    top_k: usize,
}

/// What the server found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    /// The ids of the documents, best first.
    pub ranking: Vec<String>,
    /// Whether the threshold lets any context through. None if the server does not say.
    pub context: Option<bool>,
}

#[derive(Debug, Serialize)]
struct Body<'a> {
    index_name: &'a str,
    query: &'a str,
    max_node_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline: Option<Pipeline>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<bool>,
}

#[derive(Debug, Serialize)]
struct Pipeline {
    #[serde(skip_serializing_if = "Option::is_none")]
    retrieval: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Retrieved {
    results: Vec<Found>,
    #[serde(default)]
    explanation: Option<Explained>,
}

#[derive(Debug, Deserialize)]
struct Found {
    doc_id: String,
}

#[derive(Debug, Default, Deserialize)]
struct Explained {
    #[serde(default)]
    context: Option<bool>,
}

impl Requests {
    /// Prepares requests to the server at `base`.
    ///
    /// # Errors
    ///
    /// When the address is invalid.
    pub(super) fn new(base: &str, index: &str, top_k: usize, timeout: Duration) -> Result<Self, ClientError> {
        let is_http = |url: &Url| matches!(url.scheme(), "http" | "https");
        let mut url = Url::parse(base).ok().filter(is_http).ok_or_else(|| ClientError::Address(base.to_owned()))?;
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push("retrieve");
        }
        let http = reqwest::Client::builder().connect_timeout(CONNECT_TIMEOUT).timeout(timeout).build();
        let http = http.map_err(|error| ClientError::Http(reason(&error)))?;
        Ok(Self { http, url, index: index.to_owned(), top_k })
    }

    /// Asks a question. With a threshold, the server is also asked whether there is context.
    ///
    /// # Errors
    ///
    /// When the server refuses or does not answer in time.
    pub(super) async fn ask(
        &self,
        query: &str,
        retrieval: EvalRetrieval,
        threshold: Option<EvalThreshold>,
    ) -> Result<Reply, ClientError> {
        let mut response = self
            .http
            .post(self.url.clone())
            .json(&self.body(query, retrieval, threshold))
            .send()
            .await
            .map_err(|error| self.failure(&error))?;
        let status = response.status();
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failure(&error))? {
            if bytes.len() + chunk.len() > MAX_REPLY_BYTES {
                return Err(self.transport(format!("its reply has more than {} MiB", MAX_REPLY_BYTES >> 20)));
            }
            bytes.extend_from_slice(&chunk);
        }
        if !status.is_success() {
            return Err(ClientError::Refused { status: status.as_u16(), message: refusal(&bytes) });
        }
        let retrieved: Retrieved = serde_json::from_slice(&bytes)
            .map_err(|error| self.transport(format!("its reply is not understood: {error}")))?;
        Ok(Reply {
            ranking: distinct(retrieved.results.into_iter().map(|found| found.doc_id)),
            context: retrieved.explanation.and_then(|explained| explained.context),
        })
    }

    fn body<'a>(&'a self, query: &'a str, retrieval: EvalRetrieval, threshold: Option<EvalThreshold>) -> Body<'a> {
        let is_chosen = retrieval != EvalRetrieval::Server;
        let pipeline = (is_chosen || threshold.is_some()).then(|| Pipeline {
            retrieval: is_chosen.then(|| retrieval.to_string()),
            threshold: threshold.map(|threshold| threshold.to_string()),
        });
        let explain = threshold.is_some().then_some(true);
        Body { index_name: &self.index, query, max_node_count: self.top_k, pipeline, explain }
    }

    fn failure(&self, error: &reqwest::Error) -> ClientError {
        if error.is_timeout() {
            self.transport("the request timed out: --timeout-seconds gives it more time".to_owned())
        } else {
            ClientError::of_request(self.url.as_str(), error)
        }
    }

    fn transport(&self, reason: String) -> ClientError {
        ClientError::Transport { url: self.url.to_string(), reason }
    }
}

/// The innermost cause, without the address that reqwest includes.
fn reason(error: &reqwest::Error) -> String {
    let mut inner = error.source();
    let mut shown = error.to_string();
    while let Some(cause) = inner {
        shown = cause.to_string();
        inner = cause.source();
    }
    shown
}

/// The server's message, from JSON or from plain text.
fn refusal(bytes: &[u8]) -> String {
    let body: serde_json::Value = serde_json::from_slice(bytes).unwrap_or_default();
    let message = match &body["detail"] {
        serde_json::Value::String(detail) => detail.clone(),
        serde_json::Value::Null => String::from_utf8_lossy(bytes).into_owned(),
        fields => fields.to_string(),
    };
    message.chars().take(MAX_REFUSAL_CHARACTERS).collect()
}

#[cfg(test)]
mod tests;
