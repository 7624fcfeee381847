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

/// How long the endpoint may take to say what it serves.
const FACTS_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest list of models.
pub const MAX_FACTS_BYTES: usize = 4 << 20;

/// When the endpoint is asked again, because another model may be served by then.
const FACTS_VALIDITY: Duration = Duration::from_secs(60);

/// When an endpoint that did not say is asked again.
const FACTS_RETRY: Duration = Duration::from_secs(30);

/// What asking the endpoint takes, and what it said.
pub struct Endpoint {
    pub http: reqwest::Client,
    pub addresses: Addresses,
    pub api_key: Option<Secret>,
    authorization: Option<HeaderValue>,
    facts: RwLock<Option<(Arc<Facts>, Instant)>>,
    /// The models that it listed last, to whomever.
    listed: RwLock<HashSet<String>>,
    /// Held by whoever asks the endpoint what it serves.
    asking: Mutex<()>,
}

impl Endpoint {
    /// An endpoint that has not been asked anything.
    ///
    /// # Errors
    ///
    /// In words, when the address or the key cannot be used.
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

    /// What the endpoint serves. It is asked when nothing is known; later, requests go on with what is known while one task asks.
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

    /// Asks, unless somebody else does; then it waits for that one when nothing is known.
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
        // An endpoint that says nothing for a moment still serves what it served.
        let facts = if facts.first_model().is_some() { facts } else { old.unwrap_or(facts) };
        *self.facts.write() = Some((facts, Instant::now()));
    }

    async fn asked(&self) -> Facts {
        let (models, props) = tokio::join!(self.get(&self.addresses.models), self.get(&self.addresses.props));
        let models = models.unwrap_or_default();
        let running = match facts::is_ollama(&models) {
            true => self.get(&self.addresses.running).await,
            false => None,
        };
        Facts::read(&models, props.as_ref(), running.as_ref())
    }

    /// Takes note of the models that it lists.
    pub fn lists<'a>(&self, models: impl Iterator<Item = &'a str>) {
        let models: HashSet<String> = models.map(str::to_owned).collect();
        // One that is silent for a moment still has what it had.
        if !models.is_empty() {
            *self.listed.write() = models;
        }
    }

    /// Whether it has listed this model.
    pub fn has_listed(&self, model: &str) -> bool {
        self.listed.read().contains(model)
    }

    /// The JSON at one of the addresses.
    async fn get(&self, url: &Url) -> Option<Value> {
        let request = self.http.get(url.clone()).headers(self.authorization()).timeout(FACTS_TIMEOUT);
        let response = request.send().await.ok()?.error_for_status().ok()?;
        let body = read_bounded(response.bytes_stream(), MAX_FACTS_BYTES).await?;
        serde_json::from_slice(&body).ok()
    }

    /// The header with the key, when there is one.
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
