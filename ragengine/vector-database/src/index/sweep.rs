//! Deleting what writers left that were stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use uuid::Uuid;

use super::Index;
use crate::VectorDatabaseError;
use crate::collection_name::CollectionName;
use crate::document;
use crate::generation::Generation;
use crate::object::{Found, Order, Search};
use crate::predicate::Predicate;
use crate::property::Property;

/// Objects that are looked at together.
const AT_ONCE: usize = 500;

/// What a sweep does with an index that has no document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutDocuments {
    /// It keeps everything: the documents may have been lost.
    Keep,
    /// It deletes what is old: the last document was deleted.
    Delete,
}

impl Index {
    /// Deletes chunks and texts that belong to no document, except those of the last `grace`, whose writers may still
    /// be writing. It must be longer than any write can last. Returns how many objects were deleted.
    ///
    /// # Errors
    ///
    /// If the vector database fails, and [`VectorDatabaseError::Unowned`] if there are old chunks or texts but no
    /// documents, or not even their collection.
    pub async fn sweep(&self, grace: Duration, without: WithoutDocuments) -> Result<u64, VectorDatabaseError> {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        let now_ms = Generation::new().time_ms().unwrap_or_default();
        let cutoff_ms = now_ms.saturating_sub(grace_ms);
        let mut deleted = 0;
        for collection in [&self.collections.chunks, &self.collections.texts] {
            deleted += self.sweep_collection(collection, cutoff_ms, without).await?;
        }
        Ok(deleted)
    }

    async fn sweep_collection(
        &self,
        collection: &CollectionName,
        cutoff_ms: u64,
        without: WithoutDocuments,
    ) -> Result<u64, VectorDatabaseError> {
        let (mut after, mut deleted) = (None, 0);
        loop {
            let search = Search {
                collection,
                predicate: &Predicate::Everything,
                order: Order::Id(after),
                limit: AT_ONCE,
                properties: &[Property::DOCUMENT, Property::GENERATION],
                has_vectors: false,
            };
            let found = self.database.search(&search).await?;
            let Some(last) = found.last() else { return Ok(deleted) };
            after = Some(last.id);
            let predicate = self.left_over(&found, cutoff_ms).await?;
            if predicate == Predicate::Nothing {
                continue;
            }
            self.require_documents(without).await?;
            deleted += self.database.delete_and_count(collection, &predicate).await?.objects;
        }
    }

    /// Fails if there are no documents. In a collection that is gone, Weaviate finds no document either, so what was
    /// read before this says nothing then.
    async fn require_documents(&self, without: WithoutDocuments) -> Result<(), VectorDatabaseError> {
        let documents = &self.collections.documents;
        if self.database.collection(documents).await?.is_none() {
            return Err(VectorDatabaseError::Unowned("no collection of documents"));
        }
        if without == WithoutDocuments::Delete {
            return Ok(());
        }
        match self.database.sums(documents, &Predicate::Everything, &[]).await?.count {
            0 => Err(VectorDatabaseError::Unowned("no document")),
            _ => Ok(()),
        }
    }

    /// The objects of old generations that no document has.
    async fn left_over(&self, found: &[Found], cutoff_ms: u64) -> Result<Predicate, VectorDatabaseError> {
        let mut written: BTreeMap<Uuid, BTreeSet<Generation>> = BTreeMap::new();
        for Found { properties, .. } in found {
            let text = |property| document::optional_text(properties, property);
            // An object that is not whole says nothing.
            let (Some(document), Some(generation)) = (text(Property::DOCUMENT), text(Property::GENERATION)) else {
                continue;
            };
            let generation = Generation::stored(generation);
            if let Ok(document) = document.parse()
                && generation.time_ms().is_some_and(|time_ms| time_ms < cutoff_ms)
            {
                written.entry(document).or_default().insert(generation);
            }
        }
        let ids: Vec<Uuid> = written.keys().copied().collect();
        for record in self.records_on_all_replicas(&ids).await? {
            written.entry(record.id).or_default().remove(&record.generation);
        }
        let of_document = |(document, generations): (Uuid, BTreeSet<Generation>)| {
            let generations = generations.iter().map(|generation| generation.as_str().to_owned()).collect();
            Predicate::all([
                Predicate::is(Property::DOCUMENT, document.to_string()),
                Predicate::is_in(Property::GENERATION, generations),
            ])
        };
        Ok(Predicate::any(written.into_iter().map(of_document)))
    }
}

#[cfg(test)]
mod tests;
