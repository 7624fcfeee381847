use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;

use crate::VectorDatabaseError;
use crate::api_key::ApiKey;
use crate::metrics::VectorDatabaseMetrics;

/// How to reach a vector database.
#[derive(Clone)]
pub struct ClientOptions {
    /// The address, such as `http://weaviate.db.svc:8080` or `http://qdrant.db.svc:6334`.
    pub url: String,
    /// The key, if the database wants one.
    pub api_key: Option<ApiKey>,
    /// The time limit for a connection.
    pub connect_timeout: Duration,
    /// The time limit for one attempt of a request.
    pub timeout: Duration,
    /// The longest reply, in bytes. More is an error.
    pub max_reply_bytes: usize,
    /// How many candidates a search of a graph looks at, with Qdrant. Weaviate keeps it with each collection. None: the
    /// database chooses.
    pub ef_search: Option<u32>,
    /// How often a request that may be repeated is made.
    pub attempts: u32,
    /// Where requests are counted.
    pub metrics: Option<Arc<VectorDatabaseMetrics>>,
}

impl ClientOptions {
    /// The usual limits for an address.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            api_key: None,
            connect_timeout: Duration::from_secs(3),
            timeout: Duration::from_secs(30),
            max_reply_bytes: 64 << 20,
            ef_search: None,
            attempts: 3,
            metrics: None,
        }
    }

    /// The address that paths are added to.
    pub(crate) fn base_url(&self) -> Result<Url, VectorDatabaseError> {
        let invalid =
            |reason: &str| VectorDatabaseError::Setting { setting: "vectorDB.url", reason: reason.to_owned() };
        let url = Url::parse(&self.url).map_err(|error| invalid(&error.to_string()))?;
        match url.scheme() {
            "http" | "https" => {}
            _ => return Err(invalid("it must begin with http:// or https://")),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("it has a user or a password: use vectorDB.apiKey"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(invalid("it has a query or a fragment"));
        }
        Ok(url)
    }
}
