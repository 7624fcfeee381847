mod changes;
mod reads;
mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use self::tables::create_tables;
use super::nearest::Question;
use super::{Interaction, Similar};
use crate::expiry::Cutoffs;
use crate::{Embedded, StoreError};

/// Interactions in the file of the data folder.
pub(super) struct EmbeddedInteractions {
    embedded: Arc<Embedded>,
}

impl EmbeddedInteractions {
    pub fn new(embedded: Arc<Embedded>) -> Self {
        Self { embedded }
    }

    pub async fn keep(&self, interaction: Interaction) -> Result<(), StoreError> {
        self.embedded.write(move |transaction| changes::keep(transaction, interaction)).await
    }

    pub async fn nearest(&self, question: Question) -> Result<Vec<Similar>, StoreError> {
        self.embedded.read(move |reader| reads::nearest(reader, &question)).await
    }

    pub async fn ids_of_providers(
        &self,
        owner: &str,
        providers: &[String],
        created_after_ms: i64,
    ) -> Result<BTreeMap<String, Vec<String>>, StoreError> {
        let (owner, providers) = (owner.to_owned(), providers.iter().cloned().collect());
        self.embedded.read(move |reader| reads::ids_of_providers(reader, &owner, &providers, created_after_ms)).await
    }

    pub async fn remove_all(&self, owner: &str) -> Result<u64, StoreError> {
        let owner = owner.to_owned();
        self.embedded.write(move |transaction| changes::remove_all(transaction, &owner)).await
    }

    /// One step. Returns the number of deleted interactions, and whether nothing is left to delete.
    pub async fn sweep(&self, cutoffs: Cutoffs, limit: usize) -> Result<(u64, bool), StoreError> {
        self.embedded.write(move |transaction| changes::sweep(transaction, cutoffs.interaction_ms, limit)).await
    }
}
