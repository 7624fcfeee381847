use std::ops::Deref;
use std::sync::Arc;

use ragengine_errors::Logged as _;
use ragengine_stores::{Interaction, InteractionStore, StoreMetrics};
use tokio::sync::Semaphore;
use tracing::warn;

use super::Background;

/// Interactions that wait for the store. Further ones are dropped.
const MAX_WAITING: usize = 256;

/// The store of interactions, with a queue for new ones.
pub struct KeptInteractions {
    store: InteractionStore,
    places: Arc<Semaphore>,
    background: Background,
    metrics: Arc<StoreMetrics>,
}

impl KeptInteractions {
    /// A queue before this store.
    pub fn new(store: InteractionStore, background: Background, metrics: Arc<StoreMetrics>) -> Self {
        Self { store, places: Arc::new(Semaphore::new(MAX_WAITING)), background, metrics }
    }

    /// Keeps an interaction soon. If too many wait, it is dropped and counted.
    pub fn keep_later(self: &Arc<Self>, interaction: Interaction) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            self.metrics.dropped("interactions");
            return;
        };
        let kept = Arc::clone(self);
        drop(self.background.spawn(async move {
            if let Err(error) = kept.store.keep(interaction).await {
                warn!(kind = error.kind(), reason = error.for_log(), "interaction not kept");
            }
            drop(place);
        }));
    }
}

impl Deref for KeptInteractions {
    type Target = InteractionStore;

    fn deref(&self) -> &InteractionStore {
        &self.store
    }
}
