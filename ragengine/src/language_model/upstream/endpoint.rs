use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderValue, header};
use parking_lot::RwLock;
use ragengine_embedding::Secret;
use reqwest::Url;
use serde_json::Value;
use tokio::sync::Mutex;
use tracing::info;

use super::reply::read_bounded;
use crate::language_model::address::Addresses;
use crate::language_model::facts::{self, Facts};

/// The time limit for fetching what the endpoint serves.
const FACTS_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest list of models, in bytes.
pub const MAX_FACTS_BYTES: usize = 4 << 20;

/// The age after which the facts are fetched again, because the endpoint may serve another model by then.
const FACTS_VALIDITY: Duration = Duration::from_secs(60);

/// The time before a failed fetch is repeated.
const FACTS_RETRY: Duration = Duration::from_secs(30);

/// The connection to the endpoint and the facts that it reported.
pub struct Endpoint {
    pub http: reqwest::Client,
    pub addresses: Addresses,
    pub api_key: Option<Secret>,
    authorization: Option<HeaderValue>,
    facts: RwLock<Option<(Arc<Facts>, Instant)>>,
    /// The models that it listed last, for any caller.
    listed: RwLock<HashSet<String>>,
    /// Held while the facts are fetched, so that one task fetches them at a time.
    asking: Mutex<()>,
}

impl Endpoint {
    /// Prepares an endpoint. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// A message if the address or the key is invalid.
    pub fn new(http: reqwest::Client, url: &str, api_key: Option<Secret>) -> Result<Self, String> {
        Ok(Self {
            http,
            addresses: Addresses::new(url)?,
            authorization: api_key.as_ref().map(bearer).transpose()?,
            api_key,
            facts: RwLock::new(None),
            listed: RwLock::default(),
            asking: Mutex::new(()),
        })
    }

    /// What the endpoint serves. The first call waits for it. Later calls return the known facts while one task
    /// refreshes them.
    pub async fn facts(self: &Arc<Self>) -> Arc<Facts> {
        match self.known() {
            Some((facts, asked)) => {
                let validity = if facts.first_model().is_some() { FACTS_VALIDITY } else { FACTS_RETRY };
                if asked.elapsed() >= validity {
                    let endpoint = Arc::clone(self);
                    tokio::spawn(async move { endpoint.ask().await });
                }
                facts
            }
            None => {
                self.ask().await;
                self.known().map(|(facts, _)| facts).unwrap_or_default()
            }
        }
    }

    fn known(&self) -> Option<(Arc<Facts>, Instant)> {
        self.facts.read().clone()
    }

    /// Fetches the facts unless another task does. If no facts are known, it waits for that task.
    async fn ask(&self) {
        let before = self.known().map(|(_, asked)| asked);
        let _asking = match (before, self.asking.try_lock()) {
            (_, Ok(asking)) => asking,
            (None, Err(_)) => self.asking.lock().await,
            (Some(_), Err(_)) => return,
        };
        if self.known().map(|(_, asked)| asked) != before {
            return;
        }
        let facts = Arc::new(self.asked().await);
        self.lists(facts.models.iter().map(String::as_str));
        let old = self.known().map(|(facts, _)| facts);
        if old.as_ref() != Some(&facts) {
            info!(
                model = facts.first_model().unwrap_or("unknown"),
                "asked the language model's endpoint what it serves"
            );
        }
        // An endpoint that fails to answer once still serves the same models.
        let facts = if facts.first_model().is_some() { facts } else { old.unwrap_or(facts) };
        *self.facts.write() = Some((facts, Instant::now()));
    }

    async fn asked(&self) -> Facts {
        let (models, props) = tokio::join!(self.get(&self.addresses.models), self.get(&self.addresses.props));
        let models = models.unwrap_or_default();
        let running = if facts::is_ollama(&models) { self.get(&self.addresses.running).await } else { None };
        Facts::read(&models, props.as_ref(), running.as_ref())
    }

    /// Stores the models that the endpoint lists.
    pub fn lists<'a>(&self, models: impl Iterator<Item = &'a str>) {
        let models: HashSet<String> = models.map(str::to_owned).collect();
        // An endpoint that fails to answer once still has the same models.
        if !models.is_empty() {
            *self.listed.write() = models;
        }
    }

    /// Whether the endpoint has listed this model.
    pub fn has_listed(&self, model: &str) -> bool {
        self.listed.read().contains(model)
    }

    /// The JSON at an address. None if it cannot be read.
    async fn get(&self, url: &Url) -> Option<Value> {
        let request = self.http.get(url.clone()).headers(self.authorization()).timeout(FACTS_TIMEOUT);
        let response = request.send().await.ok()?.error_for_status().ok()?;
        let body = read_bounded(response.bytes_stream(), MAX_FACTS_BYTES).await?;
        serde_json::from_slice(&body).ok()
    }

    /// The header with the key. Empty if there is no key.
    pub fn authorization(&self) -> HeaderMap {
        self.authorization.iter().map(|value| (header::AUTHORIZATION, value.clone())).collect()
    }
}

fn bearer(key: &Secret) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
        .map_err(|_| "the key for the language model has characters that no header can hold".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}
