use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ragengine_events::{EventMetrics, EventOptions, Events};
use ragengine_guardrails::PolicyFile;
use ragengine_settings::{AuthMode, Guardrails, InferenceService, Settings};
use ragengine_stores::{SessionTokens, StoreMetrics};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tracing::{error, info};

use super::bootstrap;
use super::external;
use super::heal;
use super::stage::Stage;
use super::volume::Volume;
use super::{App, Generations, Loaded, StageTimeouts};
use crate::access::{AccessControl, Rate, WriteToken};
use crate::admission::Admission;
use crate::converse::{self, WindowLog};
use crate::embedding::{self, Embeddings, Loading};
use crate::language_model::{LanguageModel, Upstream};
use crate::retrieval::preparation::QueryRules;
use crate::retrieval::rerank::Reranker;
use crate::secrets;
use crate::stores::{self, OpenError, Stores};
use crate::telemetry::metrics::{AdmissionMetrics, Metrics};
use ragengine_embedding::Embedding;
use ragengine_engine::Catalog;
use ragengine_errors::Logged as _;
use ragengine_index::catalog::{Catalog as LocalCatalog, CatalogOptions};
use ragengine_index::search::SearchPool;
use ragengine_index::{IndexError, SearchSettings, StoreError};
use ragengine_traces::{TraceMetrics, TraceOptions, Traces};

/// The first and the longest pause before loading is retried.
pub(super) const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// Concurrent copies of indexes. Each uses the full speed of the disk.
const TRANSFERS: usize = 2;

/// Histories of conversations that are read at the same time. Each may have some megabytes.
const HISTORY_READS: usize = 2;

/// Errors that prevent the start of the server.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The settings are invalid, or name a missing file or variable.
    #[error("{0}")]
    Settings(String),
    /// Another process uses the data folder.
    #[error(
        "the data folder {folder} is in use by another process ({holder}): stop that process, or set dataDir (or \
         DATA_DIR) to another folder"
    )]
    DataInUse {
        /// The folder.
        folder: String,
        /// The process that uses it.
        holder: String,
    },
    /// A newer version of this program wrote a store.
    #[error("{0}")]
    NewerStore(String),
}

impl App {
    /// Creates the state of a server, with nothing loaded.
    ///
    /// # Errors
    ///
    /// [`StartError::Settings`] when a secret or an address cannot be used.
    pub fn new(settings: Settings) -> Result<Arc<Self>, StartError> {
        let timeout = Duration::from_secs(settings.inference_service.timeout_seconds);
        let metrics = Metrics::new(timeout).map_err(|error| StartError::Settings(error.to_string()))?;
        let write_token = WriteToken::read(&settings.auth)
            .map_err(|error| StartError::Settings(format!("auth.writeToken: {error}")))?;
        let metrics = Arc::new(metrics);
        Ok(Arc::new(Self {
            admission: Admission::new(&settings.limits, Arc::clone(&metrics)),
            write_token: write_token.map(Arc::new),
            access: OnceLock::new(),
            settings_fingerprint: fingerprint(&settings),
            events: OnceLock::new(),
            guardrails: guardrails(&settings.guardrails),
            traces: traces(&settings, &metrics)?,
            rate: Rate::new(settings.limits.chats_per_minute_per_caller),
            query_rules: QueryRules::new(&settings).map_err(StartError::Settings)?,
            reranker: Reranker::new(&settings.rerank).map_err(StartError::Settings)?,
            stage_timeouts: StageTimeouts::default(),
            open_turns: Arc::default(),
            history_reads: Semaphore::new(HISTORY_READS),
            window_log: WindowLog::default(),
            language_model: Arc::new(language_model(
                &settings.inference_service,
                settings.extractive,
                &metrics.admission,
            )?),
            metrics,
            transfers: Arc::new(Semaphore::new(TRANSFERS)),
            loaded: OnceLock::new(),
            progress: parking_lot::RwLock::default(),
            volume: Volume::default(),
            is_grace_over: AtomicBool::new(false),
            settings,
        }))
    }
}

/// A hash of the settings.
fn fingerprint(settings: &Settings) -> String {
    let json = serde_json::to_vec(settings).unwrap_or_default();
    hex::encode(Sha256::digest([env!("CARGO_PKG_VERSION").as_bytes(), &json].concat()))
}

/// Starts the task that publishes events, if the settings have an address.
fn start_events(app: &App) -> Result<(), StartError> {
    let Some(url) = app.settings.events.url.clone() else { return Ok(()) };
    let settings = &app.settings.events;
    let password = settings.password.as_ref().map(secrets::read).transpose();
    let password = password.map_err(|error| StartError::Settings(format!("events.password: {error}")))?;
    let options = EventOptions {
        url,
        password: password.map(|password| password.expose().to_owned()),
        exchange: settings.exchange.clone(),
        source: format!("/ragengine/{}", app.settings.state_namespace),
    };
    let events = Events::start(&options, EventMetrics::clone(&app.metrics.events))
        .map_err(|error| StartError::Settings(format!("events: {error}")))?;
    let is_first = app.events.set(Arc::new(events)).is_ok();
    debug_assert!(is_first, "a server is started once");
    Ok(())
}

/// Prepares to send traces, if the settings have an address.
fn traces(settings: &Settings, metrics: &Metrics) -> Result<Option<Arc<Traces>>, StartError> {
    let Some(endpoint) = settings.tracing.otlp_endpoint.clone() else { return Ok(None) };
    let options = TraceOptions {
        endpoint,
        sample_ratio: settings.tracing.sample_ratio,
        version: env!("CARGO_PKG_VERSION"),
        instance: settings.state_namespace.clone(),
    };
    let traces = Traces::start(&options, TraceMetrics::clone(&metrics.traces));
    traces
        .map(|traces| Some(Arc::new(traces)))
        .map_err(|error| StartError::Settings(format!("tracing.otlpEndpoint: {error}")))
}

/// Reads the policy. One that is missing or invalid is read again until it is valid.
fn guardrails(settings: &Guardrails) -> Option<Arc<PolicyFile>> {
    let path = settings.policy_file.as_ref().filter(|_| settings.enabled)?;
    Some(Arc::new(PolicyFile::open(path)))
}

fn language_model(
    service: &InferenceService,
    extractive: bool,
    metrics: &AdmissionMetrics,
) -> Result<LanguageModel, StartError> {
    let Some(url) = &service.url else {
        return Ok(if extractive { LanguageModel::Extractive } else { LanguageModel::None });
    };
    let key = service
        .api_key
        .as_ref()
        .map(secrets::read)
        .transpose()
        .map_err(|error| StartError::Settings(error.to_string()))?;
    let upstream = Upstream::new(service, url, key, metrics).map_err(StartError::Settings)?;
    Ok(LanguageModel::Upstream(Arc::new(upstream)))
}

/// Loads the embedding model and the indexes. Failures, such as a full disk, are retried: the server is not ready until
/// then, and reports the reason.
///
/// # Errors
///
/// [`StartError::DataInUse`], because two processes must never write to one folder, [`StartError::NewerStore`], and
/// [`StartError::Settings`] when the database's address or password cannot be used.
pub async fn start(app: &Arc<App>) -> Result<(), StartError> {
    spawn_watchers(app);
    start_events(app)?;
    let (catalog, stores) = if app.settings.vector_db.is_external() {
        let stores = open_stores(app).await?;
        (external::open_indexes(app, &stores).await?, stores)
    } else {
        (Catalog::Local(load_indexes(app).await?), open_stores(app).await?)
    };
    load_access(app, &stores).await?;
    let embedding = load_model(app).await;
    let search_pool = SearchPool::new(app.settings.search.threads as usize);
    let models = app.settings.data_dir.join("models");
    let embeddings = Embeddings::new(embedding.clone(), models, app.metrics.embedding.clone());
    let generations =
        Generations::new(catalog.clone(), embeddings, app.settings.embedding.source(), Arc::clone(&app.metrics.index));
    generations.start().await;
    let model_id = embedding.model_id().to_owned();
    let is_first = app.loaded.set(Loaded { embedding, catalog, generations, search_pool, stores }).is_ok();
    debug_assert!(is_first, "a server is started once");
    // The last step, so that there is a reason to report as long as the server is not ready.
    app.progress.write().model = Stage::Done(model_id);
    info!("ready");
    tokio::spawn(heal::watch(Arc::clone(app)));
    tokio::spawn(stores::sweep(Arc::clone(app)));
    tokio::spawn(converse::at_start(Arc::clone(app)));
    Ok(())
}

/// Starts the tasks that watch the write token and the language model, and that load a local reranker.
fn spawn_watchers(app: &App) {
    app.reranker.start(&app.settings.data_dir);
    if let Some(write_token) = &app.write_token {
        tokio::spawn(Arc::clone(write_token).watch());
    }
    if let LanguageModel::Upstream(upstream) = &*app.language_model {
        tokio::spawn(Arc::clone(upstream).watch());
    }
    if let Some(guardrails) = &app.guardrails {
        tokio::spawn(Arc::clone(guardrails).watch());
    }
}

async fn load_indexes(app: &Arc<App>) -> Result<Arc<LocalCatalog>, StartError> {
    let mut pause = RETRY.0;
    loop {
        let app_for_load = Arc::clone(app);
        let reason = match tokio::task::spawn_blocking(move || open_catalog(&app_for_load)).await {
            Ok(Ok(catalog)) => {
                restore_backup(app, &catalog).await;
                return Ok(catalog);
            }
            Ok(Err(IndexError::Store(StoreError::InUse(holder)))) => {
                let folder = app.settings.data_dir.display().to_string();
                return Err(StartError::DataInUse { folder, holder });
            }
            Ok(Err(error)) => error.to_string(),
            Err(panic) => panic.to_string(),
        };
        app.progress.write().indexes = Stage::Failed(reason.clone());
        wait_before_retry(&reason, &mut pause).await;
    }
}

/// Restores the backup that the settings name for an empty data folder. A failure is tried again, because a server that
/// begins without its indexes would answer wrongly.
async fn restore_backup(app: &Arc<App>, catalog: &Arc<LocalCatalog>) {
    let mut pause = RETRY.0;
    while let Err(error) = bootstrap::restore(app, catalog).await {
        let reason = format!("{error:#}");
        app.progress.write().indexes = Stage::Failed(reason.clone());
        wait_before_retry(&reason, &mut pause).await;
    }
    app.progress.write().indexes = Stage::Done(format!("{} loaded", catalog.names().len()));
}

fn open_catalog(app: &App) -> Result<Arc<LocalCatalog>, IndexError> {
    let started = Instant::now();
    let tries = |doing: String| app.progress.write().indexes.tries(doing);
    tries("opening the data folder".to_owned());
    let catalog = LocalCatalog::open(CatalogOptions {
        directory: app.settings.data_dir.clone(),
        search: SearchSettings {
            exact_below_rows: app.settings.search.exact_below_rows as usize,
            ef_search: app.settings.search.ef_search as usize,
            n_probe: app.settings.search.n_probe.map(|lists| lists as usize),
            language: app.settings.retrieval.language,
        },
        max_indexes: app.settings.limits.max_indexes,
        embedding: app.settings.embedding.source(),
        metrics: Arc::clone(&app.metrics.index),
    })?;
    catalog.load(|loading| tries(loading.to_string()))?;
    let count = catalog.names().len();
    app.progress.write().indexes = Stage::Done(format!("{count} loaded"));
    info!(indexes = count, elapsed_ms = milliseconds(started), data_id = catalog.data_id(), "indexes loaded");
    Ok(Arc::new(catalog))
}

/// Opens the stores. A file that cannot be opened is tried again.
async fn open_stores(app: &App) -> Result<Stores, StartError> {
    let mut pause = RETRY.0;
    loop {
        match Stores::open(&app.settings, &app.metrics.stores).await {
            Ok(stores) => return Ok(stores),
            Err(OpenError::Settings(message)) => return Err(StartError::Settings(message)),
            Err(OpenError::Newer(error)) => return Err(StartError::NewerStore(error.to_string())),
            Err(OpenError::Store(error)) => {
                let reason = error.to_string();
                app.progress.write().indexes = Stage::Failed(reason.clone());
                wait_before_retry(&reason, &mut pause).await;
            }
        }
    }
}

/// Reads the rules of indexes and the keys of callers. Those that cannot be read now are read later.
async fn load_access(app: &App, stores: &Stores) -> Result<(), StartError> {
    let auth = &app.settings.auth;
    let sessions = stores.redis().filter(|_| auth.modes.contains(&AuthMode::SessionToken)).map(|redis| {
        let prefix = auth.session_token.key_prefix.clone();
        SessionTokens::new(Arc::clone(redis), prefix, StoreMetrics::clone(&app.metrics.stores))
    });
    if let Some(control) = AccessControl::open(auth, sessions).await.map_err(StartError::Settings)? {
        let is_first = app.access.set(control).is_ok();
        debug_assert!(is_first, "a server is started once");
    }
    Ok(())
}

async fn load_model(app: &Arc<App>) -> Embedding {
    let source = app.settings.embedding.source();
    let directory = app.settings.data_dir.join("models");
    let mut pause = RETRY.0;
    loop {
        let started = Instant::now();
        let progress = &mut |loading: Loading| match loading {
            Loading::Tries(doing) => app.progress.write().model.tries(doing),
            Loading::Advances(doing) => app.progress.write().model.advances(doing),
        };
        match embedding::load(&source, &directory, app.metrics.embedding.clone(), progress).await {
            Ok(embedding) => {
                let (model, dimensions) = (embedding.model_id(), embedding.dimensions());
                info!(model, dimensions, elapsed_ms = milliseconds(started), "embedding model loaded");
                return embedding;
            }
            Err(error) => {
                app.progress.write().model = Stage::Failed(error.to_string());
                wait_before_retry(&error.for_log(), &mut pause).await;
            }
        }
    }
}

pub(super) async fn wait_before_retry(reason: &str, pause: &mut Duration) {
    error!(reason, retry_in_s = pause.as_secs(), "not ready");
    tokio::time::sleep(*pause).await;
    *pause = (*pause * 2).min(RETRY.1);
}

fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
