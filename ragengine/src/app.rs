//! What every request can reach.

mod start;
mod volume;

use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;
use ragengine_client::wire::{Check, Readiness};
use ragengine_settings::Settings;
pub use start::{StartError, start};

use crate::embedding::Embedding;
use crate::error::ApiError;
use crate::index::catalog::Catalog;
use crate::llm::LanguageModel;
use crate::metrics::Metrics;
use crate::search_pool::SearchPool;

/// The server's state. It exists as soon as the server listens; [`Loaded`] comes later.
pub struct App {
    /// The settings.
    pub settings: Settings,
    /// What Prometheus sees.
    pub metrics: Arc<Metrics>,
    /// The language model.
    pub language_model: LanguageModel,
    loaded: OnceLock<Loaded>,
    progress: RwLock<Progress>,
    volume: volume::Volume,
}

/// What has to be loaded before an index can be used.
pub struct Loaded {
    /// The embedding model.
    pub embedding: Embedding,
    /// The indexes.
    pub catalog: Arc<Catalog>,
    /// The threads that search.
    pub search_pool: SearchPool,
}

/// What is being loaded, or is wrong, in words.
#[derive(Debug, Clone, Default)]
struct Progress {
    model: Stage,
    indexes: Stage,
}

#[derive(Debug, Clone)]
struct Stage {
    is_done: bool,
    detail: String,
}

impl Default for Stage {
    fn default() -> Self {
        Self { is_done: false, detail: "not begun".to_owned() }
    }
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
                .filter(|(_, stage)| !stage.is_done)
                .map(|(name, stage)| format!("{name}: {}", stage.detail));
            ApiError::NotReady(words.collect::<Vec<_>>().join("; "))
        })
    }

    /// Whether everything is there that requests need, and what is missing.
    pub async fn readiness(&self) -> Readiness {
        let progress = self.progress.read().clone();
        let volume = match self.volume.check(&self.settings.data_dir).await {
            Ok(()) => Stage { is_done: true, detail: "writable".to_owned() },
            Err(reason) => Stage { is_done: false, detail: reason },
        };
        let indexes = self.failed_index().unwrap_or(progress.indexes);
        let checks = [("indexes", indexes), ("model", progress.model), ("volume", volume)];
        let checks =
            checks.map(|(name, stage)| (name.to_owned(), Check { ready: stage.is_done, detail: stage.detail }));
        Readiness {
            ready: self.loaded.get().is_some() && checks.iter().all(|(_, check)| check.ready),
            checks: checks.into(),
        }
    }

    /// An index that cannot be written any more makes the server not ready: only a new start heals it.
    fn failed_index(&self) -> Option<Stage> {
        let catalog = &self.loaded.get()?.catalog;
        let failed = catalog.all().into_iter().find(|index| index.has_failed())?;
        let detail =
            format!("the disk refused a write to index '{}': start the server again once it is well", failed.name());
        Some(Stage { is_done: false, detail })
    }

    fn model_is(&self, is_done: bool, detail: impl Into<String>) {
        self.progress.write().model = Stage { is_done, detail: detail.into() };
    }

    fn indexes_are(&self, is_done: bool, detail: impl Into<String>) {
        self.progress.write().indexes = Stage { is_done, detail: detail.into() };
    }
}
