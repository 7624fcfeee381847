mod deletions;

use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use ragengine_errors::Logged as _;
use ragengine_stores::{Interaction, InteractionStore, StoreError, StoreMetrics};
use tokio::sync::{RwLock, Semaphore};
use tracing::warn;

use self::deletions::Deletions;
use super::Background;

/// Interactions that wait for the store. Further ones are dropped.
const MAX_WAITING: usize = 256;

/// The store of interactions, with a queue for new ones.
pub struct KeptInteractions {
    store: InteractionStore,
    places: Arc<Semaphore>,
    background: Background,
    /// Locked while interactions are deleted, so that none is kept at the same time.
    deletions: RwLock<Deletions>,
    metrics: Arc<StoreMetrics>,
}

impl KeptInteractions {
    /// A queue before this store.
    pub fn new(store: InteractionStore, background: Background, metrics: Arc<StoreMetrics>) -> Self {
        let (places, deletions) = (Arc::new(Semaphore::new(MAX_WAITING)), RwLock::default());
        Self { store, places, background, deletions, metrics }
    }

    /// Keeps an interaction soon, unless its owner has deleted all since it began. If too many wait, it is dropped and
    /// counted.
    pub fn keep_later(self: &Arc<Self>, interaction: Interaction) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            self.metrics.dropped("interactions");
            return;
        };
        let kept = Arc::clone(self);
        drop(self.background.spawn(async move {
            let deletions = kept.deletions.read().await;
            if deletions.concern(&interaction.owner, interaction.created_at_ms) {
                return;
            }
            if let Err(error) = kept.store.keep(interaction).await {
                warn!(kind = error.kind(), reason = error.for_log(), "interaction not kept");
            }
            drop((deletions, place));
        }));
    }

    /// Deletes all interactions of an owner, also those that wait for the store, and those whose answers are not
    /// finished. Returns the number of those that were kept already.
    ///
    /// # Errors
    ///
    /// Those of the store. The interactions that are not kept yet are not kept then, either.
    pub async fn remove_all(&self, owner: &str) -> Result<u64, StoreError> {
        let mut deletions = self.deletions.write().await;
        deletions.note(owner, Timestamp::now().as_millisecond());
        self.store.remove_all(owner).await
    }
}

impl Deref for KeptInteractions {
    type Target = InteractionStore;

    fn deref(&self) -> &InteractionStore {
        &self.store
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ragengine_metrics::Builder;
    use ragengine_stores::Embedded;

    use super::*;

    fn interaction(owner: &str, id: &str, created_at_ms: i64) -> Interaction {
        Interaction {
            owner: owner.to_owned(),
            id: id.to_owned(),
            index_name: "docs".to_owned(),
            fingerprint: "minilm".to_owned(),
            vector: vec![1.0],
            user_input: "Why?".to_owned(),
            ai_response: "So.".to_owned(),
            ai_provider: "p".to_owned(),
            task_category: "general".to_owned(),
            node_ids: Vec::new(),
            created_at_ms,
        }
    }

    #[tokio::test]
    async fn an_interaction_from_before_the_deletion_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let metrics = StoreMetrics::new(&mut Builder::new(Duration::from_secs(1)).unwrap()).unwrap();
        let store = InteractionStore::embedded(Embedded::open(folder.path()).unwrap(), metrics.clone());
        let background = Background::default();
        let kept = Arc::new(KeptInteractions::new(store, background.clone(), Arc::new(metrics)));
        let began_ms = Timestamp::now().as_millisecond();
        kept.keep_later(interaction("ann", "waits for the store", began_ms));
        kept.remove_all("ann").await.unwrap();
        kept.keep_later(interaction("ann", "was being answered", began_ms));
        kept.keep_later(interaction("ann", "later", began_ms + 60_000));
        kept.keep_later(interaction("eve", "another owner's", began_ms));
        assert!(background.has_ended(Duration::from_secs(10)).await);
        for (owner, expected) in [("ann", "later"), ("eve", "another owner's")] {
            let providers = kept.ids_of_providers(owner, &["p".to_owned()]).await.unwrap();
            assert_eq!(providers["p"], [expected], "{owner}");
        }
    }
}
