//! The state of the server, which every request can access.

mod bootstrap;
mod condition;
mod external;
mod generations;
mod heal;
mod shut_down;
mod stage;
mod stage_timeouts;
mod start;
mod volume;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

pub use generations::{Generations, run_detached};
use parking_lot::RwLock;
use ragengine_events::Events;
use ragengine_guardrails::PolicyFile;
use ragengine_settings::Settings;
use stage::Stage;
pub use stage_timeouts::StageTimeouts;
pub use start::{StartError, start};
use tokio::sync::Semaphore;

use crate::access::{AccessControl, Action, Caller, Rate, WriteToken, may};
use crate::admission::Admission;
use crate::chat::OpenTurns;
use crate::converse::WindowLog;
use crate::error::ApiError;
use crate::language_model::LanguageModel;
use crate::retrieval::preparation::QueryRules;
use crate::retrieval::rerank::Reranker;
use crate::stores::Stores;
use crate::telemetry::metrics::Metrics;
use ragengine_embedding::Embedding;
use ragengine_engine::{Catalog, Index};
use ragengine_index::archive::MAX_BLOCK_BYTES;
use ragengine_index::search::SearchPool;
use ragengine_traces::Traces;

/// The state of the server. It exists as soon as the server listens; [`Loaded`] is added later.
pub struct App {
    /// The settings.
    pub settings: Settings,
    /// All metrics.
    pub metrics: Arc<Metrics>,
    /// Queues and limits for requests.
    pub admission: Admission,
    /// What is done to a query before the search.
    pub query_rules: Arc<QueryRules>,
    /// What puts the best chunks in order.
    pub reranker: Reranker,
    /// Time limits of the stages that ask a model or a store.
    pub stage_timeouts: StageTimeouts,
    /// Turns of conversations whose answers are not finished.
    pub open_turns: Arc<OpenTurns>,
    /// Limits the number of histories that are read at the same time.
    pub history_reads: Semaphore,
    /// Logs the context window of the language model.
    pub window_log: WindowLog,
    /// The language model.
    pub language_model: Arc<LanguageModel>,
    /// The token for writes. `None`: writes need no token.
    pub write_token: Option<Arc<WriteToken>>,
    /// Who callers are, and what they may do. Empty until it is loaded, and if everybody may do everything.
    pub access: OnceLock<AccessControl>,
    /// The limit of chats of each caller.
    pub rate: Rate,
    /// What tells these settings from others, for answers that are given again.
    pub settings_fingerprint: String,
    /// Where events are published. Empty until it is started, and without `events.url`.
    pub events: OnceLock<Arc<Events>>,
    /// The policy that answers must hold, if they are checked.
    pub guardrails: Option<Arc<PolicyFile>>,
    /// Traces of requests, if they are sent somewhere.
    pub traces: Option<Arc<Traces>>,
    /// Limits the number of concurrent copies of indexes.
    pub transfers: Arc<Semaphore>,
    loaded: OnceLock<Loaded>,
    progress: RwLock<Progress>,
    volume: volume::Volume,
    is_grace_over: AtomicBool,
}

/// The state that must be loaded before an index can be used.
pub struct Loaded {
    /// The embedding model.
    pub embedding: Embedding,
    /// The indexes.
    pub catalog: Catalog,
    /// Builds of next generations, and the embedding models of older ones.
    pub generations: Arc<Generations>,
    /// The threads for searches.
    pub search_pool: SearchPool,
    /// What is kept besides indexes.
    pub stores: Stores,
}

impl Loaded {
    /// Returns an index, if the caller may perform the action on it.
    ///
    /// # Errors
    ///
    /// [`ApiError`] when the caller may not, or there is no such index.
    pub async fn index(&self, caller: &Caller, action: Action, name: &str) -> Result<Index, ApiError> {
        may(caller, action, Some(name))?;
        Ok(self.catalog.get(name).await?)
    }
}

/// Progress of loading.
#[derive(Default)]
struct Progress {
    model: Stage,
    indexes: Stage,
}

/// How much longer a block of a copy may be than the largest request body that added its documents.
const BLOCK_MARGIN_BYTES: u64 = 1 << 20;

impl App {
    /// The longest block that is read from a copy of indexes, in bytes.
    pub fn max_block_bytes(&self) -> u64 {
        MAX_BLOCK_BYTES.max(self.settings.limits.max_body_bytes.saturating_add(BLOCK_MARGIN_BYTES))
    }

    /// Returns the loaded state.
    ///
    /// # Errors
    ///
    /// [`ApiError::NotReady`], with the steps that are not done.
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
