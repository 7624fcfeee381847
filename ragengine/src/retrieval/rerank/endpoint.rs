//! A reranker at an address, with the API of Cohere (Jina, vLLM, llama.cpp) or of Text Embeddings Inference (TEI).
//!
//! <https://docs.cohere.com/reference/rerank>,
//! <https://huggingface.github.io/text-embeddings-inference/#/Text%20Embeddings%20Inference/rerank>

use std::error::Error as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use ragengine_embedding::Secret;
use ragengine_pipeline::side_prompt::first_chars;
use ragengine_settings::Rerank;
use reqwest::{Client, Response, Url};

use super::error::RerankError;
use super::wire::{self, Request};
use crate::secrets;

/// The longest text and question that are sent, in characters. Rerankers read about 500 tokens of a pair.
const MAX_TEXT_CHARS: usize = 2_000;

/// The longest reply, in bytes. Some rerankers repeat the texts.
const MAX_REPLY_BYTES: usize = 1 << 20;

/// A part of the time limit of the stage, so that an address where nothing answers is reported as such.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// A reranker.
pub(super) struct Endpoint {
    url: Url,
    client: Client,
    model: Option<String>,
    /// Whether it refused the fields of Cohere's API and took those of TEI.
    is_tei: AtomicBool,
}

impl Endpoint {
    /// Prepares the client. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// A message if the address or the key is invalid.
    pub fn new(settings: &Rerank) -> Result<Self, String> {
        // The address is not quoted, because it may contain a password.
        let url = settings.url.as_deref().and_then(|url| Url::parse(url).ok());
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let url = url.filter(|url| url.username().is_empty() && url.password().is_none());
        let url = url.ok_or("rerank.url is not an address such as http://reranker:8080/rerank")?;
        let key = settings.api_key.as_ref().map(secrets::read).transpose();
        let key = key.map_err(|error| format!("rerank.apiKey: {error}"))?;
        let client = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .retry(reqwest::retry::never())
            // A redirect would send the texts to another server.
            .redirect(reqwest::redirect::Policy::none())
            .default_headers(headers(key.as_ref())?)
            .build()
            .map_err(|error| format!("rerank: {error}"))?;
        Ok(Self { url, client, model: settings.model.clone(), is_tei: AtomicBool::new(false) })
    }

    /// The positions of the texts, the best first, without those that the reranker left out. The caller limits the
    /// time.
    ///
    /// # Errors
    ///
    /// [`RerankError`] if there is no usable reply.
    pub async fn order(&self, question: &str, texts: &[&str]) -> Result<Vec<usize>, RerankError> {
        let question = first_chars(question, MAX_TEXT_CHARS);
        let texts: Vec<&str> = texts.iter().map(|text| first_chars(text, MAX_TEXT_CHARS)).collect();
        let cohere = Request::cohere(self.model.as_deref(), question, &texts);
        let tei = Request::tei(question, &texts);
        if self.is_tei.load(Ordering::Relaxed) {
            // After a failure, another server may be at this address.
            let reply = self.send(&tei).await.inspect_err(|_| self.is_tei.store(false, Ordering::Relaxed));
            return wire::order(&reply?, texts.len());
        }
        match self.send(&cohere).await {
            // TEI misses its field `texts`. No request has the fields of both: some servers refuse unknown fields.
            Err(RerankError::Refused { status: 422 }) => {
                let reply = self.send(&tei).await?;
                self.is_tei.store(true, Ordering::Relaxed);
                wire::order(&reply, texts.len())
            }
            reply => wire::order(&reply?, texts.len()),
        }
    }

    async fn send(&self, request: &Request<'_>) -> Result<Vec<u8>, RerankError> {
        let sending = self.client.post(self.url.clone()).json(request).send();
        let response = sending.await.map_err(|error| unreachable(&error))?;
        match response.status() {
            StatusCode::OK => read(response).await,
            status => Err(RerankError::Refused { status: status.as_u16() }),
        }
    }
}

async fn read(mut response: Response) -> Result<Vec<u8>, RerankError> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| unreachable(&error))? {
        if body.len() + piece.len() > MAX_REPLY_BYTES {
            return Err(RerankError::Malformed(format!("it has more than {MAX_REPLY_BYTES} bytes")));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// The innermost cause, without the address, because its query may contain a key.
fn unreachable(error: &reqwest::Error) -> RerankError {
    let mut cause = error.source();
    while let Some(inner) = cause.and_then(|cause| cause.source()) {
        cause = Some(inner);
    }
    RerankError::Unreachable(cause.map_or_else(|| "the connection broke".to_owned(), ToString::to_string))
}

fn headers(key: Option<&Secret>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    if let Some(key) = key {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
            .map_err(|_| "rerank.apiKey has characters that no header can hold".to_owned())?;
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_address_is_refused_without_showing_it() {
        drop(rustls::crypto::ring::default_provider().install_default());
        for url in ["", "reranker:8080", "ftp://r", "/rerank", "http://me:hunter2@r/rerank", "http:///me@r/rerank"] {
            let settings = Rerank { url: Some(url.to_owned()), ..Rerank::default() };
            let error = Endpoint::new(&settings).err().unwrap();
            assert!(error.contains("rerank.url") && !error.contains("hunter2"), "{url}: {error}");
        }
        let settings = Rerank { url: Some("http://r/v1/rerank?key=1".to_owned()), ..Rerank::default() };
        assert_eq!(Endpoint::new(&settings).ok().unwrap().url.as_str(), "http://r/v1/rerank?key=1");
    }
}
