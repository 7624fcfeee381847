//! Connections to Qdrant, and the generated clients of its services over them. The crate's own client bounds no reply.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use qdrant_client::qdrant::collections_client::CollectionsClient;
use qdrant_client::qdrant::points_client::PointsClient;
use qdrant_client::qdrant::qdrant_client::QdrantClient;
use reqwest::Url;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};

use crate::VectorDatabaseError;
use crate::api_key::ApiKey;
use crate::options::ClientOptions;

/// How many connections there are. Each carries many requests at a time.
const CONNECTIONS: usize = 3;

/// The header of the key.
const KEY_HEADER: &str = "api-key";

/// What the server is told about the client.
const USER_AGENT: &str = concat!("ragengine/", env!("CARGO_PKG_VERSION"));

/// Connections to one address.
pub struct Connections {
    endpoint: Endpoint,
    /// Each is made when it is used first.
    channels: Mutex<[Option<Channel>; CONNECTIONS]>,
    next: AtomicUsize,
    key: Key,
    max_reply_bytes: usize,
}

impl Connections {
    /// Connects to nothing yet.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::Setting`].
    pub fn new(url: &Url, options: &ClientOptions) -> Result<Self, VectorDatabaseError> {
        let ClientOptions { connect_timeout, timeout, max_reply_bytes, .. } = *options;
        let unusable = |error: tonic::transport::Error| VectorDatabaseError::Setting {
            setting: "vectorDB.url",
            reason: error.to_string(),
        };
        let endpoint = Endpoint::from_shared(url.to_string()).and_then(|endpoint| endpoint.user_agent(USER_AGENT));
        let mut endpoint = endpoint.map_err(unusable)?.connect_timeout(connect_timeout).timeout(timeout);
        if url.scheme() == "https" {
            endpoint = endpoint.tls_config(ClientTlsConfig::new().with_native_roots()).map_err(unusable)?;
        }
        let key = options.api_key.as_ref().map(key_header).transpose()?;
        Ok(Self { endpoint, channels: Mutex::default(), next: AtomicUsize::new(0), key: Key(key), max_reply_bytes })
    }

    /// The longest reply, in bytes.
    pub fn max_reply_bytes(&self) -> usize {
        self.max_reply_bytes
    }

    /// The next connection in turn. Must be called in a tokio runtime.
    pub fn next(&self) -> Connection {
        let number = self.next.fetch_add(1, Ordering::Relaxed) % CONNECTIONS;
        let channel = self.channels.lock()[number].get_or_insert_with(|| self.endpoint.connect_lazy()).clone();
        let service = InterceptedService::new(channel, self.key.clone());
        Connection { number, service, max_reply_bytes: self.max_reply_bytes }
    }

    /// Gives up a connection that does not answer: the name of the server may be another one's by now. Requests that
    /// use it end as they would.
    pub fn give_up(&self, number: usize) {
        self.channels.lock()[number] = None;
    }
}

/// A connection.
pub struct Connection {
    /// Its number, for [`Connections::give_up`].
    pub number: usize,
    service: InterceptedService<Channel, Key>,
    max_reply_bytes: usize,
}

impl Connection {
    /// Requests for points.
    pub fn points(&self) -> PointsClient<InterceptedService<Channel, Key>> {
        PointsClient::new(self.service.clone()).max_decoding_message_size(self.max_reply_bytes)
    }

    /// Requests for collections.
    pub fn collections(&self) -> CollectionsClient<InterceptedService<Channel, Key>> {
        CollectionsClient::new(self.service.clone()).max_decoding_message_size(self.max_reply_bytes)
    }

    /// Requests for the server.
    pub fn server(&self) -> QdrantClient<InterceptedService<Channel, Key>> {
        QdrantClient::new(self.service.clone()).max_decoding_message_size(self.max_reply_bytes)
    }
}

/// Adds the key to requests. It is not printed.
#[derive(Clone)]
pub struct Key(Option<MetadataValue<Ascii>>);

impl Interceptor for Key {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(key) = &self.0 {
            request.metadata_mut().insert(KEY_HEADER, key.clone());
        }
        Ok(request)
    }
}

fn key_header(key: &ApiKey) -> Result<MetadataValue<Ascii>, VectorDatabaseError> {
    key.check()?;
    let unusable = |_| VectorDatabaseError::Setting { setting: "vectorDB.apiKey", reason: "no header has it".into() };
    let mut value = MetadataValue::try_from(key.expose()).map_err(unusable)?;
    value.set_sensitive(true);
    Ok(value)
}
