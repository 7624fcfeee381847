//! Qdrant, by the generated clients of its official crate.
//!
//! Writes wait until every replica that Qdrant keeps in use has them, and that is a majority at least. So reads ask one
//! of these replicas: no consistency is set for them. Every request may be made twice, because objects have ids of their
//! own; those that failed for now are made again.

mod collections;
mod conditions;
mod connections;
mod payload;
mod points;
mod search;
mod sums;
mod words;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use connections::{Connection, Connections};
use qdrant_client::qdrant::{HealthCheckRequest, ListCollectionsRequest};
use reqwest::Url;
use tokio::sync::Semaphore;
use tonic::{Code, Response, Status};

use crate::VectorDatabaseError;
use crate::api_key::ApiKey;
use crate::metrics::VectorDatabaseMetrics;
use crate::options::ClientOptions;

/// The name of the vector of an object's embedded text.
const EMBEDDING: &str = "embedding";

/// The name of the sparse vector of an object's words.
const WORDS: &str = "words";

/// The wait before the second attempt. It doubles for the third.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// Requests that a client sends at the same time. Others wait.
const CONCURRENT_REQUESTS: usize = 128;

/// The longest message that is kept, in characters.
const MAX_MESSAGE_CHARACTERS: usize = 500;

/// The first version that has what is needed: facets, UUID indexes and queries.
const LEAST_VERSION: &str = "1.13";

/// The longest version that is repeated, in characters.
const MAX_VERSION_CHARACTERS: usize = 30;

/// What a request does, for labels.
#[derive(Debug, Clone, Copy)]
enum Operation {
    Query,
    Write,
    Read,
    Delete,
    Schema,
}

impl Operation {
    fn label(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Write => "write",
            Self::Read => "read",
            Self::Delete => "delete",
            Self::Schema => "schema",
        }
    }
}

/// A client. Clones share connections.
#[derive(Clone)]
pub struct Client {
    connections: Arc<Connections>,
    url: String,
    api_key: Option<ApiKey>,
    attempts: u32,
    timeout: Duration,
    ef_search: Option<u32>,
    /// The requests that may run at the same time.
    turns: Arc<Semaphore>,
    metrics: Option<Arc<VectorDatabaseMetrics>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Client {
    /// A client. Sends nothing.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::Setting`].
    pub fn new(options: ClientOptions) -> Result<Self, VectorDatabaseError> {
        let url = address(options.base_url()?)?;
        let connections = Arc::new(Connections::new(&url, &options)?);
        let ClientOptions { api_key, attempts, ef_search, metrics, timeout, .. } = options;
        let (url, attempts) = (url.to_string(), attempts.max(1));
        let turns = Arc::new(Semaphore::new(CONCURRENT_REQUESTS));
        Ok(Self { connections, url, api_key, attempts, timeout, ef_search, turns, metrics })
    }

    /// Succeeds if Qdrant is ready, has a version that is known to have what is needed, and takes the key.
    ///
    /// # Errors
    ///
    /// Why it is not.
    pub async fn ready(&self) -> Result<(), VectorDatabaseError> {
        let check = |connection: Connection| async move {
            let request = HealthCheckRequest {};
            connection.server().health_check(request).await
        };
        let reply = self.attempt(Operation::Schema, &check).await?;
        if !is_new_enough(&reply.version) {
            let version: String = reply.version.chars().take(MAX_VERSION_CHARACTERS).collect();
            return Err(VectorDatabaseError::Version { version, least: LEAST_VERSION });
        }
        // The check of the health needs no key.
        let list =
            |connection: Connection| async move { connection.collections().list(ListCollectionsRequest {}).await };
        self.attempt(Operation::Schema, &list).await.map(drop)
    }

    /// The time that Qdrant has for a request, in seconds.
    fn timeout_seconds(&self) -> u64 {
        self.timeout.as_secs().max(1)
    }

    /// Sends a request, and sends it again if that may help.
    async fn send<T, Sending: Future<Output = Result<Response<T>, Status>>>(
        &self,
        operation: Operation,
        request: impl Fn(Connection) -> Sending,
    ) -> Result<T, VectorDatabaseError> {
        let started = Instant::now();
        let mut attempt = 1;
        let result = loop {
            match self.attempt(operation, &request).await {
                Err(error) if error.is_temporary() && attempt < self.attempts => {
                    let wait = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(attempt - 1));
                    // Random parts keep clients from coming at the same time.
                    tokio::time::sleep(wait.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
                    attempt += 1;
                }
                result => break result,
            }
        };
        if let Some(metrics) = &self.metrics {
            let seconds = metrics.vector_engine_request_seconds.with_label_values(&[operation.label()]);
            seconds.observe(started.elapsed().as_secs_f64());
        }
        result
    }

    async fn attempt<T, Sending: Future<Output = Result<Response<T>, Status>>>(
        &self,
        operation: Operation,
        request: &impl Fn(Connection) -> Sending,
    ) -> Result<T, VectorDatabaseError> {
        // The semaphore is never closed.
        let _turn = self.turns.acquire().await;
        let connection = self.connections.next();
        let number = connection.number;
        let result = match tokio::time::timeout(self.timeout, request(connection)).await {
            Ok(Ok(reply)) => Ok(reply.into_inner()),
            Ok(Err(status)) => Err(self.failure(&status)),
            Err(_) => Err(VectorDatabaseError::Timeout),
        };
        if let Err(VectorDatabaseError::Unreachable(_) | VectorDatabaseError::Timeout) = result {
            self.connections.give_up(number);
        }
        if let Some(metrics) = &self.metrics {
            let outcome = result.as_ref().err().map_or("done", VectorDatabaseError::kind);
            metrics.vector_engine_requests_total.with_label_values(&[operation.label(), outcome]).inc();
        }
        result
    }

    /// The error of a request, without the key.
    fn failure(&self, status: &Status) -> VectorDatabaseError {
        match status.code() {
            // No request of this client has a range that Qdrant could refuse.
            Code::OutOfRange => VectorDatabaseError::LongReply { max_bytes: self.connections.max_reply_bytes() },
            _ => of_status(status, self.api_key.as_ref()),
        }
    }
}

/// Sends a request by the client of a service, and again if that may help.
macro_rules! send {
    ($client:expr, $operation:expr, $service:ident.$method:ident($request:expr)) => {{
        let request = $request;
        $client.send($operation, move |connection| {
            let request = request.clone();
            async move { connection.$service().$method(request).await }
        })
    }};
}

use send;

/// The address. Services have paths of their own.
fn address(url: Url) -> Result<Url, VectorDatabaseError> {
    if url.path() == "/" {
        return Ok(url);
    }
    let reason = "it has a path, which the gRPC of Qdrant does not use".to_owned();
    Err(VectorDatabaseError::Setting { setting: "vectorDB.url", reason })
}

/// Whether a version is at least [`LEAST_VERSION`]. One that cannot be read is let pass.
fn is_new_enough(version: &str) -> bool {
    let parts = |version: &str| version.split('.').map_while(|part| part.parse::<u64>().ok()).collect::<Vec<_>>();
    let version = parts(version);
    version.is_empty() || version >= parts(LEAST_VERSION)
}

fn of_status(status: &Status, api_key: Option<&ApiKey>) -> VectorDatabaseError {
    let (code, message) = (status.code(), shortened(&described(status), api_key));
    let number = u16::try_from(i32::from(code)).unwrap_or_default();
    match code {
        Code::Unavailable | Code::Unknown => VectorDatabaseError::Unreachable(message),
        Code::DeadlineExceeded | Code::Cancelled => VectorDatabaseError::Timeout,
        // A replica that is being moved or recovered fails a precondition.
        Code::Internal | Code::ResourceExhausted | Code::Aborted | Code::FailedPrecondition => {
            VectorDatabaseError::Unavailable { status: number, message }
        }
        _ => VectorDatabaseError::Refused { status: number, message },
    }
}

/// What a status says, with the first cause of a connection that failed.
fn described(status: &Status) -> String {
    let mut causes = std::iter::successors(std::error::Error::source(status), |cause| cause.source());
    match causes.by_ref().last() {
        Some(cause) => format!("{}: {cause}", status.message()),
        None => status.message().to_owned(),
    }
}

/// Whether an error says that there is no such collection or object.
fn is_not_found(error: &VectorDatabaseError) -> bool {
    matches!(error, VectorDatabaseError::Refused { status, .. } if i32::from(*status) == i32::from(Code::NotFound))
}

fn shortened(message: &str, api_key: Option<&ApiKey>) -> String {
    let message = api_key.map_or_else(|| message.to_owned(), |key| key.redact(message));
    message.chars().take(MAX_MESSAGE_CHARACTERS).collect()
}

#[cfg(test)]
mod tests;
