//! Models of older generations, which still serve after the server's embedding model has changed.
//!
//! Each index stores the settings of its embedding model. Settings in a restored copy are untrusted, and a fingerprint
//! does not identify an endpoint. If indexes shared a model by fingerprint alone, a copy could redirect the questions
//! of other indexes to its endpoint. So indexes share a model only if all settings are equal. Indexes of older
//! versions have no settings. They use a local model with their fingerprint that another index names. That is safe,
//! because the fingerprint of a local model is computed from its files, and questions do not leave the server.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ragengine_embedding::{Embedding, EmbeddingMetrics};
use ragengine_errors::Logged as _;
use ragengine_settings::EmbeddingSource;
use tokio::sync::watch;
use tracing::{info, warn};

use super::{LoadError, Loading, load};

/// The first and the longest pause before loading a model is retried.
const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// Identifies the embedding model of an index's vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelKey {
    /// Hash of everything that the vectors depend on.
    pub fingerprint: String,
    /// The number of dimensions.
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
    /// The index.
    pub index: String,
    /// The expected fingerprint and dimensions.
    pub key: ModelKey,
    /// The name, for messages.
    pub name: String,
    /// The settings of the model in the index. `None` for indexes of older versions.
    pub source: Option<EmbeddingSource>,
}

/// A model, and the indexes that use it.
#[derive(Debug, Clone)]
struct Model {
    key: ModelKey,
    name: String,
    source: Option<EmbeddingSource>,
    indexes: BTreeSet<String>,
}

impl Model {
    fn of(needed: Needed) -> Self {
        let Needed { index, key, name, source } = needed;
        Self { key, name, source, indexes: BTreeSet::from([index]) }
    }

    /// Whether the index may use this model. See the module documentation.
    fn is_for(&self, needed: &Needed) -> bool {
        let is_local = matches!(self.source, Some(EmbeddingSource::Local(_)));
        self.key == needed.key && (self.source == needed.source || (needed.source.is_none() && is_local))
    }

    fn is_same(&self, other: &Self) -> bool {
        self.key == other.key && self.source == other.source
    }
}

/// Groups indexes by their models.
fn models(needed: Vec<Needed>) -> Vec<Model> {
    // Indexes with settings come first, because indexes without settings use their models.
    let (with_source, without): (Vec<_>, Vec<_>) = needed.into_iter().partition(|needed| needed.source.is_some());
    let mut models: Vec<Model> = Vec::new();
    for needed in with_source.into_iter().chain(without) {
        match models.iter_mut().find(|model| model.is_for(&needed)) {
            Some(model) => {
                model.indexes.insert(needed.index);
            }
            None => models.push(Model::of(needed)),
        }
    }
    models
}

/// A model with its state. Dropping the receiver stops loading.
struct Kept {
    model: Model,
    state: watch::Receiver<Older>,
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
    metrics: EmbeddingMetrics,
    older: Mutex<Vec<Kept>>,
}

impl Embeddings {
    /// Starts with the server's model only.
    pub fn new(current: Embedding, models_directory: PathBuf, metrics: EmbeddingMetrics) -> Arc<Self> {
        Arc::new(Self { current, models_directory, metrics, older: Mutex::default() })
    }

    /// Returns the server's model.
    pub fn current(&self) -> &Embedding {
        &self.current
    }

    /// Returns the model of an index's vectors.
    ///
    /// # Errors
    ///
    /// A message that says why the model is not loaded.
    pub fn of(&self, index: &str, key: &ModelKey) -> Result<Embedding, String> {
        if key.is_of(&self.current) {
            return Ok(self.current.clone());
        }
        let older = self.older.lock();
        let kept = older.iter().find(|kept| kept.model.key == *key && kept.model.indexes.contains(index));
        match kept.map(|kept| kept.state.borrow().clone()) {
            Some(Older::Ready(embedding)) => Ok(embedding),
            Some(Older::Missing(reason)) => Err(reason),
            Some(Older::Loading) | None => Err("it is being loaded".to_owned()),
        }
    }

    /// Loads the needed models, and unloads all others.
    pub fn keep(self: &Arc<Self>, needed: Vec<Needed>) {
        let needed = needed.into_iter().filter(|needed| !needed.key.is_of(&self.current)).collect();
        let mut older = self.older.lock();
        let mut known = std::mem::take(&mut *older);
        for model in models(needed) {
            let state = match known.iter().position(|kept| kept.model.is_same(&model)) {
                Some(place) => known.swap_remove(place).state,
                None => self.begin(&model),
            };
            older.push(Kept { model, state });
        }
    }

    fn begin(self: &Arc<Self>, model: &Model) -> watch::Receiver<Older> {
        let Some(source) = model.source.clone() else {
            let missing = LoadError::UnknownSource.to_string();
            warn!(model = model.name, reason = missing, "embedding model of an older generation not loaded");
            return watch::channel(Older::Missing(missing)).1;
        };
        let (state, seen) = watch::channel(Older::Loading);
        tokio::spawn(Arc::clone(self).load(model.clone(), source, state));
        seen
    }

    /// Waits until loading each older model has been tried once, or the timeout expires.
    pub async fn tried(&self, at_most: Duration) {
        let waiting: Vec<_> = self.older.lock().iter().map(|kept| kept.state.clone()).collect();
        let all = async {
            for mut older in waiting {
                // Fails if the model was unloaded.
                drop(older.wait_for(|older| !matches!(older, Older::Loading)).await);
            }
        };
        drop(tokio::time::timeout(at_most, all).await);
    }

    /// Retries until the model is loaded, or no index needs it.
    async fn load(self: Arc<Self>, model: Model, source: EmbeddingSource, state: watch::Sender<Older>) {
        let mut pause = RETRY.0;
        loop {
            match self.try_to_load(&model.key, &source).await {
                Ok(embedding) => {
                    info!(model = model.name, "embedding model of an older generation loaded");
                    state.send_replace(Older::Ready(embedding));
                    return;
                }
                Err(missing) => {
                    warn!(
                        model = model.name,
                        reason = missing.for_log(),
                        retry_in_s = pause.as_secs(),
                        "embedding model of an older generation not loaded"
                    );
                    state.send_replace(Older::Missing(missing.to_string()));
                }
            }
            let is_unused = tokio::time::timeout(pause, state.closed()).await.is_ok();
            if is_unused {
                return;
            }
            pause = (pause * 2).min(RETRY.1);
        }
    }

    async fn try_to_load(&self, key: &ModelKey, source: &EmbeddingSource) -> Result<Embedding, LoadError> {
        let progress = &mut |_: Loading| {};
        let loading = load(source, &self.models_directory, self.metrics.clone(), progress);
        let embedding = loading.await?;
        if key.is_of(&embedding) { Ok(embedding) } else { Err(LoadError::OtherModel) }
    }
}

#[cfg(test)]
mod tests;
