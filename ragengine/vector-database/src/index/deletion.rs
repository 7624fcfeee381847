//! Deleting documents.

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use uuid::Uuid;

use super::{CONCURRENT_REQUESTS, Index, Selection};
use crate::VectorDatabaseError;
use crate::document::DocumentRecord;

/// Documents of a source that are deleted at once.
const DELETED_AT_ONCE: usize = 200;

/// How often the documents of a source are listed. Others may be writing more of them.
const MAX_PASSES: u32 = 5;

impl Index {
    /// Deletes documents. Returns for each id whether it existed.
    ///
    /// # Errors
    ///
    /// If the vector database fails. Some may be deleted then, each of them wholly.
    pub async fn delete(&self, doc_ids: &[String]) -> Result<Vec<bool>, VectorDatabaseError> {
        let records = self.records(doc_ids).await?;
        self.delete_records(records.iter().flatten()).await?;
        Ok(records.iter().map(Option::is_some).collect())
    }

    /// Deletes the documents of a source, except those that belong to another one by now. Returns how many.
    ///
    /// # Errors
    ///
    /// If the vector database fails, and [`VectorDatabaseError::ReplicaMissing`] if a list may lack documents of the
    /// source. Documents deleted before the error stay deleted.
    pub async fn delete_source(&self, source: &str) -> Result<u64, VectorDatabaseError> {
        let mut deleted = 0;
        // Lists of replicas that are behind differ, so one that has nothing is waited for.
        for _ in 0..MAX_PASSES {
            match self.delete_listed(source).await? {
                0 => break,
                more => deleted += more,
            }
        }
        self.require_all_replicas().await?;
        Ok(deleted)
    }

    /// Deletes the documents of a source that a list has. Returns how many.
    async fn delete_listed(&self, source: &str) -> Result<u64, VectorDatabaseError> {
        let (mut after, mut deleted) = (None, 0);
        loop {
            let page = self.list(Selection::Source(source), after, DELETED_AT_ONCE).await?;
            let ids: Vec<Uuid> = page.documents.iter().map(|record| record.id).collect();
            let records = self.records_of(&ids).await?;
            let of_source = || records.iter().flatten().filter(|record| record.source.as_deref() == Some(source));
            self.delete_records(of_source()).await?;
            deleted += of_source().count() as u64;
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(deleted),
            }
        }
    }

    /// The objects of the documents go first: from then on, their chunks are not shown.
    async fn delete_records<'a>(
        &self,
        records: impl Iterator<Item = &'a DocumentRecord> + Clone,
    ) -> Result<(), VectorDatabaseError> {
        let mut ids: Vec<Uuid> = records.clone().map(|record| record.id).collect();
        ids.sort_unstable();
        ids.dedup();
        let collection = &self.collections.documents;
        stream::iter(ids)
            .map(|id| async move { self.database.delete_object(collection, id).await })
            .buffer_unordered(CONCURRENT_REQUESTS)
            .try_collect::<Vec<()>>()
            .await?;
        self.delete_replaced(records).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
