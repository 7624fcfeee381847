//! A typed client of Weaviate's HTTP interface.
//!
//! Writes wait for all replicas while all of them answer, else for a majority. Objects are read from a
//! majority. Only requests that may be made twice are made again after a failure: reads, writes of objects with ids of
//! their own, and deletions.

mod body;
mod conditions;
mod deletion;
mod objects;
mod query;
mod replicas;
mod schema;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use replicas::{MAX_READ_WAIT, MAX_WRITE_WAIT, Missing, Replicas, Write};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Method, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::VectorDatabaseError;
use crate::api_key::ApiKey;
use crate::metrics::VectorDatabaseMetrics;
use crate::options::ClientOptions;

/// The wait before the second attempt. It doubles for the third.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// Requests that a client sends at the same time. Others wait.
const CONCURRENT_REQUESTS: usize = 128;

/// A client. Clones share connections.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    url: Url,
    api_key: Option<ApiKey>,
    /// The time limit for one attempt of a request.
    timeout: Duration,
    max_reply_bytes: usize,
    attempts: u32,
    /// The requests that may run at the same time.
    turns: Arc<Semaphore>,
    /// Whether writes wait for all replicas.
    missing: Arc<Missing>,
    metrics: Option<Arc<VectorDatabaseMetrics>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

/// Whether a request may be made again after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repeat {
    Yes,
    No,
}

/// A request.
struct Request<'a> {
    method: Method,
    path: &'a [&'a str],
    query: &'a [(&'a str, &'a str)],
    /// The replicas that must have done it. None: one, or what the request itself says.
    replicas: Option<Replicas>,
    body: Option<Value>,
    repeat: Repeat,
}

impl<'a> Request<'a> {
    fn get(path: &'a [&'a str]) -> Self {
        Self { method: Method::GET, path, query: &[], replicas: None, body: None, repeat: Repeat::Yes }
    }

    /// A read of an object. From a majority, it has every acknowledged write.
    fn get_from(replicas: Replicas, path: &'a [&'a str]) -> Self {
        Self { replicas: Some(replicas), ..Self::get(path) }
    }

    /// What the request does, for labels.
    fn operation(&self) -> &'static str {
        match (self.path.get(1).copied(), &self.method) {
            (Some("graphql"), _) => "query",
            (Some("schema" | ".well-known"), _) => "schema",
            (_, &Method::DELETE) => "delete",
            (_, &Method::GET) => "read",
            _ => "write",
        }
    }
}

impl Client {
    /// A client. Sends nothing.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::Setting`].
    ///
    /// # Panics
    ///
    /// If the process has not installed a rustls provider.
    pub fn new(options: ClientOptions) -> Result<Self, VectorDatabaseError> {
        let url = options.base_url()?;
        let http = reqwest::Client::builder()
            .connect_timeout(options.connect_timeout)
            .timeout(options.timeout)
            .redirect(reqwest::redirect::Policy::none())
            .default_headers(headers(options.api_key.as_ref())?)
            .build()
            .map_err(|error| VectorDatabaseError::Unreachable(body::describe(error)))?;
        let ClientOptions { api_key, timeout, max_reply_bytes, attempts, metrics, .. } = options;
        Ok(Self {
            http,
            url,
            api_key,
            timeout,
            max_reply_bytes,
            attempts: attempts.max(1),
            turns: Arc::new(Semaphore::new(CONCURRENT_REQUESTS)),
            missing: Arc::default(),
            metrics,
        })
    }

    /// Succeeds if Weaviate is ready.
    ///
    /// # Errors
    ///
    /// Why it is not.
    pub async fn ready(&self) -> Result<(), VectorDatabaseError> {
        let request = Request { repeat: Repeat::No, ..Request::get(&["v1", ".well-known", "ready"]) };
        self.send(&request).await.map(|_| ())
    }

    /// Sends a request and reads the reply. None if there is nothing of this name.
    async fn read<T: DeserializeOwned + Send + 'static>(
        &self,
        request: Request<'_>,
    ) -> Result<Option<T>, VectorDatabaseError> {
        match self.send(&request).await {
            Ok(body) => body::parse(body).await.map(Some),
            Err(VectorDatabaseError::Refused { status: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a request whose reply must be there.
    async fn read_reply<T: DeserializeOwned + Send + 'static>(
        &self,
        request: Request<'_>,
    ) -> Result<T, VectorDatabaseError> {
        body::parse(self.send(&request).await?).await
    }

    /// Sends a write to all replicas, or to a majority if not all of them do it.
    async fn send_write(&self, mut request: Request<'_>) -> Result<Vec<u8>, VectorDatabaseError> {
        let mut write = Write::new(self);
        loop {
            request.replicas = Some(write.replicas());
            match self.send(&request).await {
                Err(error) if write.goes_on(&error).await => {}
                Err(error) => return Err(error),
                Ok(body) => {
                    write.has_succeeded();
                    return Ok(body);
                }
            }
        }
    }

    /// A message of Weaviate without the API key.
    fn redacted(&self, message: String) -> String {
        self.api_key.as_ref().map_or_else(|| message.clone(), |key| key.redact(&message))
    }

    fn show_missing(&self, replicas: i64) {
        if let Some(metrics) = &self.metrics {
            metrics.vector_engine_replica_missing.set(replicas);
        }
    }

    /// Sends a request, and measures how long that takes.
    async fn send(&self, request: &Request<'_>) -> Result<Vec<u8>, VectorDatabaseError> {
        let Some(metrics) = &self.metrics else { return self.repeated(request).await };
        let (started, operation) = (Instant::now(), request.operation());
        let result = self.repeated(request).await;
        metrics.vector_engine_request_seconds.with_label_values(&[operation]).observe(started.elapsed().as_secs_f64());
        result
    }

    /// Sends a request, and sends it again if that may help and harms nothing.
    async fn repeated(&self, request: &Request<'_>) -> Result<Vec<u8>, VectorDatabaseError> {
        let mut url = self.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(request.path);
        }
        let level = request.replicas.map(Replicas::consistency_level);
        if level.is_some() || !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(request.query.iter().copied().chain(level));
        }
        let waits_for_all = request.replicas == Some(Replicas::All);
        // The next attempt waits for a majority only, and is another request.
        let may_repeat = request.repeat == Repeat::Yes && !waits_for_all;
        let body = request.body.as_ref().map(Value::to_string);
        let mut attempt = 1;
        loop {
            let mut sending = self.http.request(request.method.clone(), url.clone());
            if let Some(body) = &body {
                sending = sending.header(reqwest::header::CONTENT_TYPE, "application/json").body(body.clone());
            }
            if waits_for_all {
                let is_read = request.method == Method::GET;
                sending = sending.timeout(if is_read { self.timeout.min(MAX_READ_WAIT) } else { MAX_WRITE_WAIT });
            }
            let result = self.attempt(sending).await;
            if let Some(metrics) = &self.metrics {
                let outcome = result.as_ref().err().map_or("done", VectorDatabaseError::kind);
                metrics.vector_engine_requests_total.with_label_values(&[request.operation(), outcome]).inc();
            }
            match result {
                Err(error) if error.is_temporary() && may_repeat && attempt < self.attempts => {
                    self.wait(attempt).await;
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    /// Waits before the next attempt. Random parts keep clients from coming at the same time.
    async fn wait(&self, attempt: u32) {
        let wait = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(attempt - 1));
        tokio::time::sleep(wait.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
    }

    async fn attempt(&self, request: reqwest::RequestBuilder) -> Result<Vec<u8>, VectorDatabaseError> {
        // The semaphore is never closed.
        let _turn = self.turns.acquire().await;
        let mut response = request.send().await.map_err(body::failure)?;
        let status = response.status();
        let body = body::read(&mut response, self.max_reply_bytes).await?;
        if status.is_success() {
            return Ok(body);
        }
        let message = self.redacted(body::message(&body));
        let status = status.as_u16();
        if status == 429 || status >= 500 {
            Err(VectorDatabaseError::Unavailable { status, message })
        } else {
            Err(VectorDatabaseError::Refused { status, message })
        }
    }
}

fn headers(api_key: Option<&ApiKey>) -> Result<HeaderMap, VectorDatabaseError> {
    let mut headers = HeaderMap::new();
    if let Some(key) = api_key {
        key.check()?;
        let unusable =
            |_| VectorDatabaseError::Setting { setting: "vectorDB.apiKey", reason: "no header has it".into() };
        let mut value = HeaderValue::from_str(&key.header()).map_err(unusable)?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

#[cfg(test)]
pub(crate) mod tests;
