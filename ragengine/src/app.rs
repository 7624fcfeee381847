//! What every request can reach.

mod condition;
mod generations;
mod heal;
mod rest;
mod stage;
mod start;
mod volume;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

pub use generations::{Generations, to_its_end};
use parking_lot::RwLock;
use ragengine_settings::Settings;
use stage::Stage;
pub use start::{StartError, start};
use tokio::sync::Semaphore;

use crate::access::WriteToken;
use crate::admission::Admission;
use crate::error::ApiError;
use crate::language_model::LanguageModel;
use crate::telemetry::metrics::Metrics;
use ragengine_embedding::Embedding;
use ragengine_index::catalog::Catalog;
use ragengine_index::search::SearchPool;

/// The server's state. It exists as soon as the server listens; [`Loaded`] comes later.
pub struct App {
    /// The settings.
    pub settings: Settings,
    /// What Prometheus sees.
    pub metrics: Arc<Metrics>,
    /// Who is let in.
    pub admission: Admission,
    /// The language model.
    pub language_model: Arc<LanguageModel>,
    /// The token that writes want. None: everybody may write.
    pub write_token: Option<Arc<WriteToken>>,
    /// Copies of indexes that may be made or read at a time.
    pub transfers: Arc<Semaphore>,
    loaded: OnceLock<Loaded>,
    progress: RwLock<Progress>,
    volume: volume::Volume,
    is_grace_over: AtomicBool,
}

/// What has to be loaded before an index can be used.
pub struct Loaded {
    /// The embedding model.
    pub embedding: Embedding,
    /// The indexes.
    pub catalog: Arc<Catalog>,
    /// What they become, and the models of their vectors.
    pub generations: Arc<Generations>,
    /// The threads that search.
    pub search_pool: SearchPool,
}

/// How far loading has come.
#[derive(Default)]
struct Progress {
    model: Stage,
    indexes: Stage,
}

impl App {
    /// What has been loaded.
    ///
    /// # Errors
    ///
    /// [`ApiError::NotReady`] with what it waits for.
    pub fn loaded(&self) -> Result<&Loaded, ApiError> {
        self.loaded.get().ok_or_else(|| {
            let progress = self.progress.read();
            let waiting = [("the embedding model", &progress.model), ("the indexes", &progress.indexes)];
            let words = waiting
                .iter()
                .filter(|(_, stage)| !stage.is_done())
                .map(|(name, stage)| format!("{name}: {}", stage.words()));
            ApiError::NotReady(words.collect::<Vec<_>>().join("; "))
        })
    }
}
