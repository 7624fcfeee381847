//! What is kept besides indexes: sessions, answers and votes on them, and interactions.

mod background;
mod interactions;
mod sweep;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ragengine_settings::{AuthMode, SessionStore as SessionBackend, Settings, StateStore};
use ragengine_stores::{
    Embedded, FeedbackStore, Flights, InteractionStore, Postgres, PostgresOptions, Redis, RedisOptions, ResponseCache,
    SessionStore, StoreError, StoreMetrics,
};

pub use self::background::Background;
pub use self::interactions::KeptInteractions;
pub use self::sweep::sweep;
pub use crate::chat::Entry;
use crate::secrets;

const SECONDS_PER_DAY: u64 = 86_400;

/// The stores of a server. One that is switched off is not there.
pub struct Stores {
    sessions: Arc<SessionStore>,
    feedback: Option<Arc<FeedbackStore>>,
    interactions: Option<Arc<KeptInteractions>>,
    cache: Option<Arc<AnswerCache>>,
    postgres: Option<Arc<Postgres>>,
    redis: Option<Arc<Redis>>,
    background: Background,
}

/// Answers that are given again, and the questions that wait for one.
pub struct AnswerCache {
    /// The answers.
    pub answers: ResponseCache,
    /// Questions that are being answered.
    pub flights: Flights<Entry>,
    /// Answers that are being kept.
    pub background: Background,
}

/// Why the stores cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A setting or a secret cannot be used.
    #[error("{0}")]
    Settings(String),
    /// A newer version wrote the tables.
    #[error("{0}")]
    Newer(StoreError),
    /// The file cannot be opened now.
    #[error("{0}")]
    Store(StoreError),
}

impl Stores {
    /// Opens the stores that the settings turn on. A database that is out of reach does not prevent that.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    pub async fn open(settings: &Settings, metrics: &Arc<StoreMetrics>) -> Result<Self, OpenError> {
        let (feedback, interactions) = (&settings.feedback, &settings.interactions);
        let wanted = [(feedback.enabled, feedback.store), (interactions.enabled, interactions.store)];
        let needs = |store| wanted.contains(&(true, store));
        let sessions = settings.sessions.store;
        let needs_postgres = needs(StateStore::Postgres)
            || sessions == SessionBackend::Postgres
            || settings.cache.enabled && settings.postgres.url.is_some()
            || settings.vector_db.is_external();
        let embedded = if needs(StateStore::Redb) { Some(embedded(&settings.data_dir).await?) } else { None };
        let postgres = if needs_postgres { Some(postgres(settings).await?) } else { None };
        let needs_redis = sessions == SessionBackend::Redis
            || settings.auth.modes.contains(&AuthMode::SessionToken)
            || settings.cache.enabled && settings.redis.url.is_some();
        let redis = if needs_redis { Some(redis(settings).await?) } else { None };
        let expiry = Duration::from_secs(settings.sessions.expiry_seconds);
        let sessions = match (
            redis.clone().filter(|_| sessions == SessionBackend::Redis),
            postgres.clone().filter(|_| sessions == SessionBackend::Postgres),
        ) {
            (Some(redis), _) => SessionStore::redis(redis, expiry, StoreMetrics::clone(metrics)),
            (None, Some(postgres)) => SessionStore::postgres(postgres, expiry, StoreMetrics::clone(metrics)),
            (None, None) => SessionStore::memory(expiry, StoreMetrics::clone(metrics)),
        };
        let backend = |is_enabled: bool, store| match store {
            _ if !is_enabled => (None, None),
            StateStore::Redb => (embedded.clone(), None),
            StateStore::Postgres => (None, postgres.clone()),
        };
        let feedback = match backend(feedback.enabled, feedback.store) {
            (Some(embedded), _) => Some(FeedbackStore::embedded(embedded, StoreMetrics::clone(metrics))),
            (None, Some(postgres)) => Some(FeedbackStore::postgres(postgres, StoreMetrics::clone(metrics))),
            (None, None) => None,
        };
        let interactions = match backend(interactions.enabled, interactions.store) {
            (Some(embedded), _) => Some(InteractionStore::embedded(embedded, StoreMetrics::clone(metrics))),
            (None, Some(postgres)) => Some(InteractionStore::postgres(postgres, StoreMetrics::clone(metrics))),
            (None, None) => None,
        };
        let background = Background::default();
        let cache = settings.cache.enabled.then(|| {
            let expiry = Duration::from_secs(u64::from(settings.cache.ttl_days) * SECONDS_PER_DAY);
            let answers = ResponseCache::new(redis.clone(), postgres.clone(), expiry, StoreMetrics::clone(metrics));
            Arc::new(AnswerCache { answers, flights: Flights::default(), background: background.clone() })
        });
        let kept = |store| Arc::new(KeptInteractions::new(store, background.clone(), Arc::clone(metrics)));
        Ok(Self {
            sessions: Arc::new(sessions),
            redis,
            feedback: feedback.map(Arc::new),
            interactions: interactions.map(kept),
            cache,
            postgres,
            background,
        })
    }

    /// The store of sessions.
    pub fn sessions(&self) -> &Arc<SessionStore> {
        &self.sessions
    }

    /// The store of answers and votes.
    pub fn feedback(&self) -> Option<&Arc<FeedbackStore>> {
        self.feedback.as_ref()
    }

    /// The store of interactions.
    pub fn interactions(&self) -> Option<&Arc<KeptInteractions>> {
        self.interactions.as_ref()
    }

    /// The database, if a store or the list of indexes is in it.
    pub fn postgres(&self) -> Option<&Arc<Postgres>> {
        self.postgres.as_ref()
    }

    /// Redis, if a store or the callers' sessions are in it.
    pub fn redis(&self) -> Option<&Arc<Redis>> {
        self.redis.as_ref()
    }

    /// The answers that are given again.
    pub fn cache(&self) -> Option<&Arc<AnswerCache>> {
        self.cache.as_ref()
    }

    /// Work that no reply waits for to its end.
    pub fn background(&self) -> &Background {
        &self.background
    }

    /// What is wrong with the database now.
    pub fn postgres_problem(&self) -> Option<String> {
        self.postgres.as_ref()?.problem()
    }

    /// What is wrong with Redis now.
    pub fn redis_problem(&self) -> Option<String> {
        self.redis.as_ref()?.problem()
    }
}

async fn embedded(data_dir: &Path) -> Result<Arc<Embedded>, OpenError> {
    let data_dir = data_dir.to_owned();
    let opened = tokio::task::spawn_blocking(move || Embedded::open(&data_dir)).await;
    match opened {
        Ok(Ok(embedded)) => Ok(embedded),
        Ok(Err(error @ StoreError::NewerSchema(_))) => Err(OpenError::Newer(error)),
        Ok(Err(error)) => Err(OpenError::Store(error)),
        Err(panic) => Err(OpenError::Store(StoreError::Disk(panic.to_string()))),
    }
}

async fn redis(settings: &Settings) -> Result<Arc<Redis>, OpenError> {
    let password = settings.redis.password.as_ref().map(secrets::read).transpose();
    let password = password.map_err(|error| OpenError::Settings(format!("redis.password: {error}")))?;
    let options = RedisOptions {
        url: settings.redis.url.clone().unwrap_or_default(),
        password: password.map(|password| password.expose().to_owned()),
        engine: settings.state_namespace.clone(),
    };
    Redis::open(&options).await.map_err(|error| OpenError::Settings(error.to_string()))
}

async fn postgres(settings: &Settings) -> Result<Arc<Postgres>, OpenError> {
    let password = settings.postgres.password.as_ref().map(secrets::read).transpose();
    let password = password.map_err(|error| OpenError::Settings(format!("postgres.password: {error}")))?;
    let options = PostgresOptions {
        url: settings.postgres.url.clone().unwrap_or_default(),
        password: password.map(|password| password.expose().to_owned()),
        engine: settings.state_namespace.clone(),
    };
    Postgres::open(&options).await.map_err(|error| match error {
        StoreError::NewerSchema(_) => OpenError::Newer(error),
        error => OpenError::Settings(error.to_string()),
    })
}
