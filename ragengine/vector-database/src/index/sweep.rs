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

impl Index {
    /// Deletes chunks and texts that belong to no document, except those of the last `grace`, whose writers may still
    /// be writing. It must be longer than any write can last. Returns how many objects were deleted.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn sweep(&self, grace: Duration) -> Result<u64, VectorDatabaseError> {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        let now_ms = Generation::new().time_ms().unwrap_or_default();
        let cutoff_ms = now_ms.saturating_sub(grace_ms);
        let mut deleted = 0;
        for collection in [&self.collections.chunks, &self.collections.texts] {
            deleted += self.sweep_collection(collection, cutoff_ms).await?;
        }
        Ok(deleted)
    }

    async fn sweep_collection(&self, collection: &CollectionName, cutoff_ms: u64) -> Result<u64, VectorDatabaseError> {
        let (mut after, mut deleted) = (None, 0);
        loop {
            let search = Search {
                collection,
                predicate: &Predicate::Everything,
                order: Order::Id(after),
                limit: AT_ONCE,
                properties: &[Property::DOCUMENT, Property::GENERATION],
                has_vectors: false,
                is_replicated: self.is_replicated,
            };
            let found = self.database.search(&search).await?;
            let Some(last) = found.last() else { return Ok(deleted) };
            after = Some(last.id);
            let predicate = self.left_over(&found, cutoff_ms).await?;
            deleted += self.database.delete_where(collection, &predicate).await?.objects;
        }
    }

    /// The objects of old generations that no document has.
    async fn left_over(&self, found: &[Found], cutoff_ms: u64) -> Result<Predicate, VectorDatabaseError> {
        let mut written: BTreeMap<Uuid, BTreeSet<Generation>> = BTreeMap::new();
        for object in found {
            let generation = Generation::stored(document::text(&object.properties, Property::GENERATION)?);
            let document = document::text(&object.properties, Property::DOCUMENT)?;
            if let Ok(document) = document.parse()
                && generation.time_ms().is_some_and(|time_ms| time_ms < cutoff_ms)
            {
                written.entry(document).or_default().insert(generation);
            }
        }
        let ids: Vec<Uuid> = written.keys().copied().collect();
        for record in self.records_of(&ids).await?.into_iter().flatten() {
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
