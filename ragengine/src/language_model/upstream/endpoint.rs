use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderValue, header};
use parking_lot::RwLock;
use ragengine_embedding::Secret;
use reqwest::Url;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::timeout;
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

/// How long a call waits for a repeated fetch.
const FACTS_RETRY_WAIT: Duration = Duration::from_secs(1);

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

    /// What the endpoint serves. A call waits for it if nothing is known, but not within [`FACTS_RETRY`] after a
    /// failure, and then not longer than [`FACTS_RETRY_WAIT`]. Other calls return the known facts while one task refreshes them.
    pub async fn facts(self: &Arc<Self>) -> Arc<Facts> {
        match self.known() {
            Some((facts, asked)) if asked.elapsed() < validity(&facts) => facts,
            Some((facts, _)) if has_models(&facts) => {
                let endpoint = Arc::clone(self);
                tokio::spawn(async move { endpoint.ask().await });
                facts
            }
            // The endpoint may answer by now. Without its facts, a chat would get the window of an unknown model. But an
            // endpoint that never lists its models must not hold up chats again and again.
            Some(_) => {
                let endpoint = Arc::clone(self);
                drop(timeout(FACTS_RETRY_WAIT, tokio::spawn(async move { endpoint.ask().await })).await);
                self.known().map(|(facts, _)| facts).unwrap_or_default()
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

    /// Drops the facts if the endpoint did not tell any, so that the next call asks again.
    pub fn drop_empty_facts(&self) {
        let mut known = self.facts.write();
        if known.as_ref().is_some_and(|(facts, _)| !has_models(facts)) {
            *known = None;
        }
    }

    /// Fetches the facts unless another task does. If no facts are known, it waits for that task.
    async fn ask(&self) {
        let before = self.known();
        let is_known = before.as_ref().is_some_and(|(facts, _)| has_models(facts));
        let _asking = match self.asking.try_lock() {
            Ok(asking) => asking,
            Err(_) if is_known => return,
            Err(_) => self.asking.lock().await,
        };
        let asked_before = before.map(|(_, asked)| asked);
        if self.known().is_some_and(|(_, asked)| Some(asked) != asked_before) {
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
        let facts = if has_models(&facts) { facts } else { old.filter(|old| has_models(old)).unwrap_or(facts) };
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

fn has_models(facts: &Facts) -> bool {
    facts.first_model().is_some()
}

/// The age after which facts are fetched again.
fn validity(facts: &Facts) -> Duration {
    if has_models(facts) { FACTS_VALIDITY } else { FACTS_RETRY }
}

fn bearer(key: &Secret) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
        .map_err(|_| "the key for the language model has characters that no header can hold".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests;
