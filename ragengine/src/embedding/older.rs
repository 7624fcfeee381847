//! Models of generations that still serve while the server's own model is another.
//!
//! An index is embedded by the settings that it has itself. Those of a copy may be anybody's, and a fingerprint does not say where an endpoint
//! is: if settings were shared by it, the questions of one index would go where another one says. So indexes share a model when all of its
//! settings are the same. An index without any, of a version that kept none, has the local model of its fingerprint that another index
//! names: that fingerprint is made of the model's files, and its questions stay in this server.

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

/// The first pause before a model is tried again, and the longest.
const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// What the vectors of an index need, as its record says.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// The index.
    pub index: String,
    /// What the model must be.
    pub key: ModelKey,
    /// Its name, for people.
    pub name: String,
    /// Where it comes from, as the index says. None: the index does not say.
    pub source: Option<EmbeddingSource>,
}

/// A model, and the indexes that are embedded by it.
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

    /// Whether it is the one that the index is embedded by.
    fn is_for(&self, needed: &Needed) -> bool {
        let is_local = matches!(self.source, Some(EmbeddingSource::Local(_)));
        self.key == needed.key && (self.source == needed.source || (needed.source.is_none() && is_local))
    }

    fn is_same(&self, other: &Self) -> bool {
        self.key == other.key && self.source == other.source
    }
}

/// The models that are needed, each once.
fn models(needed: Vec<Needed>) -> Vec<Model> {
    // Those that say where their models come from come first: the others look for theirs among them.
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

/// A model that is kept, and how far it is. Its loading goes on for as long as somebody looks.
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
    /// The server's model alone.
    pub fn new(current: Embedding, models_directory: PathBuf, metrics: EmbeddingMetrics) -> Arc<Self> {
        Arc::new(Self { current, models_directory, metrics, older: Mutex::default() })
    }

    /// The server's model.
    pub fn current(&self) -> &Embedding {
        &self.current
    }

    /// The model of an index's vectors.
    ///
    /// # Errors
    ///
    /// Why it is not there, in words.
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

    /// Loads what is needed and is not there, and lets go of what nobody needs.
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
            warn!(model = model.name, reason = missing, "no model for an older generation");
            return watch::channel(Older::Missing(missing)).1;
        };
        let (state, seen) = watch::channel(Older::Loading);
        tokio::spawn(Arc::clone(self).load(model.clone(), source, state));
        seen
    }

    /// Waits until each older model has been tried once, a bounded time.
    pub async fn tried(&self, at_most: Duration) {
        let waiting: Vec<_> = self.older.lock().iter().map(|kept| kept.state.clone()).collect();
        let all = async {
            for mut older in waiting {
                // Gone: nobody needs it any more.
                drop(older.wait_for(|older| !matches!(older, Older::Loading)).await);
            }
        };
        drop(tokio::time::timeout(at_most, all).await);
    }

    /// Tries until it is there, or nobody needs it.
    async fn load(self: Arc<Self>, model: Model, source: EmbeddingSource, state: watch::Sender<Older>) {
        let mut pause = RETRY.0;
        loop {
            match self.try_to_load(&model.key, &source).await {
                Ok(embedding) => {
                    info!(model = model.name, "the model of an older generation is loaded");
                    state.send_replace(Older::Ready(embedding));
                    return;
                }
                Err(missing) => {
                    warn!(
                        model = model.name,
                        reason = missing.for_log(),
                        retry_in_s = pause.as_secs(),
                        "no model for an older generation"
                    );
                    state.send_replace(Older::Missing(missing.to_string()));
                }
            }
            let is_let_go = tokio::time::timeout(pause, state.closed()).await.is_ok();
            if is_let_go {
                return;
            }
            pause = (pause * 2).min(RETRY.1);
        }
    }

    async fn try_to_load(&self, key: &ModelKey, source: &EmbeddingSource) -> Result<Embedding, LoadError> {
        let progress = &mut |_: Loading| {};
        let loading = load(source, &self.models_directory, self.metrics.clone(), progress);
        let embedding = loading.await?;
        match key.is_of(&embedding) {
            true => Ok(embedding),
            false => Err(LoadError::OtherModel),
        }
    }
}

#[cfg(test)]
mod tests;
