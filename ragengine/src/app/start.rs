use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ragengine_settings::{InferenceService, Settings};
use tracing::{error, info};

use super::volume::Volume;
use super::{App, Loaded};
use crate::embedding;
use crate::index::catalog::{Catalog, CatalogOptions};
use crate::index::store::StoreError;
use crate::index::{IndexError, SearchSettings};
use crate::llm::{LanguageModel, Upstream};
use crate::metrics::Metrics;
use crate::search_pool::SearchPool;
use crate::secrets;

/// The first pause before loading is tried again, and the longest.
const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// Why the server cannot start at all.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The settings name something that is not there.
    #[error("{0}")]
    Settings(String),
    /// Another process has the data folder.
    #[error(
        "the data folder {0} is in use by another process: stop that one, or set dataDir (or DATA_DIR) to another folder"
    )]
    DataInUse(String),
}

impl App {
    /// The state of a server that has loaded nothing yet.
    ///
    /// # Errors
    ///
    /// [`StartError::Settings`] when a secret or an address cannot be used.
    pub fn new(settings: Settings) -> Result<Arc<Self>, StartError> {
        let timeout = Duration::from_secs(settings.inference_service.timeout_seconds);
        let metrics = Metrics::new(timeout).map_err(|error| StartError::Settings(error.to_string()))?;
        Ok(Arc::new(Self {
            language_model: language_model(&settings.inference_service, settings.extractive)?,
            metrics: Arc::new(metrics),
            loaded: OnceLock::new(),
            progress: parking_lot::RwLock::default(),
            volume: Volume::default(),
            settings,
        }))
    }
}

fn language_model(service: &InferenceService, extractive: bool) -> Result<LanguageModel, StartError> {
    let Some(url) = &service.url else {
        return Ok(if extractive { LanguageModel::Extractive } else { LanguageModel::None });
    };
    let key = service
        .api_key
        .as_ref()
        .map(secrets::read)
        .transpose()
        .map_err(|error| StartError::Settings(error.to_string()))?;
    let upstream = Upstream::new(service, url, key).map_err(StartError::Settings)?;
    Ok(LanguageModel::Upstream(Arc::new(upstream)))
}

/// Loads the embedding model and the indexes. What fails is tried again: a model that cannot be fetched now, or a disk that is
/// full, is "not ready", in words, and no reason to end.
///
/// # Errors
///
/// [`StartError::DataInUse`]: two processes must never write to one folder.
pub async fn start(app: &Arc<App>) -> Result<(), StartError> {
    let catalog = load_indexes(app).await?;
    let embedding = load_model(app).await;
    let search_pool = SearchPool::new(app.settings.search.threads as usize, Arc::clone(&app.metrics));
    for index in catalog.all() {
        if let Err(error) = index.require_model(&embedding) {
            error!(index = index.name(), %error, "index cannot be used");
        }
    }
    let is_first = app.loaded.set(Loaded { embedding, catalog, search_pool }).is_ok();
    debug_assert!(is_first, "a server is started once");
    info!("ready");
    Ok(())
}

async fn load_indexes(app: &Arc<App>) -> Result<Arc<Catalog>, StartError> {
    let mut pause = RETRY.0;
    loop {
        let app_for_load = Arc::clone(app);
        let loading = tokio::task::spawn_blocking(move || open_catalog(&app_for_load));
        match loading.await {
            Ok(Ok(catalog)) => return Ok(catalog),
            Ok(Err(IndexError::Store(StoreError::InUse))) => {
                return Err(StartError::DataInUse(app.settings.data_dir.display().to_string()));
            }
            Ok(Err(error)) => {
                retry_later(&error.to_string(), |detail| app.indexes_are(false, detail), &mut pause).await
            }
            Err(panic) => retry_later(&panic.to_string(), |detail| app.indexes_are(false, detail), &mut pause).await,
        }
    }
}

fn open_catalog(app: &App) -> Result<Arc<Catalog>, IndexError> {
    let started = Instant::now();
    app.indexes_are(false, "opening the data folder");
    let catalog = Catalog::open(CatalogOptions {
        directory: app.settings.data_dir.clone(),
        search: SearchSettings {
            exact_below_rows: app.settings.search.exact_below_rows as usize,
            ef_search: app.settings.search.ef_search as usize,
        },
        max_indexes: app.settings.limits.max_indexes,
    })?;
    catalog.load(|done, of| app.indexes_are(false, format!("{done} of {of} loaded")))?;
    let count = catalog.names().len();
    app.indexes_are(true, format!("{count} loaded"));
    info!(indexes = count, elapsed_ms = milliseconds(started), data_id = catalog.data_id(), "indexes loaded");
    Ok(Arc::new(catalog))
}

async fn load_model(app: &Arc<App>) -> embedding::Embedding {
    let source = app.settings.embedding.source();
    let directory = app.settings.data_dir.join("models");
    let mut pause = RETRY.0;
    loop {
        let started = Instant::now();
        let progress = &mut |detail: String| app.model_is(false, detail);
        match embedding::load(&source, &directory, Arc::clone(&app.metrics), progress).await {
            Ok(embedding) => {
                app.model_is(true, embedding.model_id());
                let (model, dimensions) = (embedding.model_id(), embedding.dimensions());
                info!(model, dimensions, elapsed_ms = milliseconds(started), "embedding model loaded");
                return embedding;
            }
            Err(error) => retry_later(&error.to_string(), |detail| app.model_is(false, detail), &mut pause).await,
        }
    }
}

async fn retry_later(reason: &str, tell: impl Fn(String), pause: &mut Duration) {
    error!(reason, retry_in_s = pause.as_secs(), "not ready");
    tell(reason.to_owned());
    tokio::time::sleep(*pause).await;
    *pause = (*pause * 2).min(RETRY.1);
}

fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
