//! Models of generations that still serve while the server's own model is another.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ragengine_settings::EmbeddingSource;
use tokio::sync::watch;
use tracing::{info, warn};

use super::{Embedding, LoadError, Loading, load};
use crate::logging::Logged as _;
use crate::metrics::Metrics;

/// The first pause before a model is tried again, and the longest.
const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// What the vectors of an index need, as its record says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelKey {
    /// Everything that its vectors depend on.
    pub fingerprint: String,
    /// The width of its vectors.
    pub dimensions: usize,
}

impl ModelKey {
    fn is_of(&self, embedding: &Embedding) -> bool {
        self.fingerprint == embedding.fingerprint() && self.dimensions == embedding.dimensions()
    }
}

/// A model that an index needs.
#[derive(Debug, Clone)]
pub struct Needed {
    /// What it must be.
    pub key: ModelKey,
    /// Its name, for people.
    pub name: String,
    /// Where it comes from. None: nobody has kept that.
    pub source: Option<EmbeddingSource>,
}

#[derive(Clone)]
enum Older {
    Loading,
    Missing(String),
    Ready(Embedding),
}

/// The server's model, and those of older generations.
pub struct Embeddings {
    current: Embedding,
    models_directory: PathBuf,
    metrics: Arc<Metrics>,
    older: Mutex<HashMap<ModelKey, watch::Sender<Older>>>,
}

impl Embeddings {
    /// The server's model alone.
    pub fn new(current: Embedding, models_directory: PathBuf, metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self { current, models_directory, metrics, older: Mutex::default() })
    }

    /// The server's model.
    pub fn current(&self) -> &Embedding {
        &self.current
    }

    /// The model of these vectors.
    ///
    /// # Errors
    ///
    /// Why it is not there, in words.
    pub fn of(&self, key: &ModelKey) -> Result<Embedding, String> {
        if key.is_of(&self.current) {
            return Ok(self.current.clone());
        }
        let older = self.older.lock().get(key).map(|older| older.borrow().clone());
        match older {
            Some(Older::Ready(embedding)) => Ok(embedding),
            Some(Older::Missing(reason)) => Err(reason),
            Some(Older::Loading) | None => Err("it is being loaded".to_owned()),
        }
    }

    /// Loads what is needed and is not there, and lets go of what nobody needs.
    pub fn keep(self: &Arc<Self>, needed: Vec<Needed>) {
        let needed: HashMap<ModelKey, Needed> = needed
            .into_iter()
            .filter(|needed| !needed.key.is_of(&self.current))
            .map(|needed| (needed.key.clone(), needed))
            .collect();
        let mut older = self.older.lock();
        older.retain(|key, _| needed.contains_key(key));
        for (key, needed) in needed {
            older.entry(key).or_insert_with(|| {
                tokio::spawn(Arc::clone(self).load(needed));
                watch::Sender::new(Older::Loading)
            });
        }
    }

    /// Waits until each older model has been tried once, a bounded time.
    pub async fn tried(&self, at_most: Duration) {
        let waiting: Vec<_> = self.older.lock().values().map(watch::Sender::subscribe).collect();
        let all = async {
            for mut older in waiting {
                // Gone: nobody needs it any more.
                drop(older.wait_for(|older| !matches!(older, Older::Loading)).await);
            }
        };
        drop(tokio::time::timeout(at_most, all).await);
    }

    /// Tries until it is there, or nobody needs it.
    async fn load(self: Arc<Self>, needed: Needed) {
        let mut pause = RETRY.0;
        while self.is_needed(&needed.key) {
            match self.try_to_load(&needed).await {
                Ok(embedding) => {
                    info!(model = needed.name, "the model of an older generation is loaded");
                    self.set(&needed.key, Older::Ready(embedding));
                    return;
                }
                Err(missing) => {
                    warn!(
                        model = needed.name,
                        reason = missing.for_log(),
                        retry_in_s = pause.as_secs(),
                        "no model for an older generation"
                    );
                    self.set(&needed.key, Older::Missing(missing.to_string()));
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY.1);
        }
    }

    async fn try_to_load(&self, needed: &Needed) -> Result<Embedding, LoadError> {
        let source = needed.source.as_ref().ok_or(LoadError::UnknownSource)?;
        let progress = &mut |_: Loading| {};
        let loading = load(source, &self.models_directory, Arc::clone(&self.metrics), progress);
        let embedding = loading.await?;
        match needed.key.is_of(&embedding) {
            true => Ok(embedding),
            false => Err(LoadError::OtherModel),
        }
    }

    fn is_needed(&self, key: &ModelKey) -> bool {
        self.older.lock().contains_key(key)
    }

    fn set(&self, key: &ModelKey, older: Older) {
        if let Some(known) = self.older.lock().get(key) {
            known.send_replace(older);
        }
    }
}
