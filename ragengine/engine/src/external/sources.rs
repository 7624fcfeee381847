use std::collections::BTreeMap;

use ragengine_client::wire::{PutSourceSync, SourceDescription};
use ragengine_index::sources::{Moment, SharedSync, Syncs, log_sync};
use ragengine_index::{IndexError, IndexSize};
use ragengine_stores::{SourceSyncRow, StoreError};
use ragengine_vector_database::Selection;

use super::ExternalIndex;
use super::fault::{of_catalogue, of_engine};
use super::index::size_of;

/// The state of a source in a row. None if a newer version wrote it.
pub(super) fn shared(row: &SourceSyncRow) -> Option<SharedSync> {
    let latest = serde_json::from_str(&row.sync).ok()?;
    Some(SharedSync { latest, began_ms: row.began_ms, leased_until_ms: row.leased_until_ms })
}

pub(super) fn row_of(source: &str, shared: SharedSync) -> SourceSyncRow {
    SourceSyncRow {
        source: source.to_owned(),
        // Serialising texts and numbers cannot fail.
        sync: serde_json::to_string(&shared.latest).unwrap_or_default(),
        began_ms: shared.began_ms,
        leased_until_ms: shared.leased_until_ms,
    }
}

fn description(name: String, size: IndexSize, sync: Option<SharedSync>) -> SourceDescription {
    let IndexSize { documents, chunks, text_bytes } = size;
    SourceDescription { name, documents, chunks, bytes: text_bytes, sync: sync.map(|sync| sync.latest) }
}

impl ExternalIndex {
    /// All sources with documents or a synchronisation record, ordered by name.
    ///
    /// # Errors
    ///
    /// If the vector database or PostgreSQL fails.
    pub async fn sources(&self) -> Result<Vec<SourceDescription>, IndexError> {
        let syncs = async { self.catalogue.syncs(self.number).await.map_err(of_catalogue) };
        let sizes = async { self.engine.sources().await.map_err(of_engine) };
        let (syncs, sizes) = tokio::try_join!(syncs, sizes)?;
        let mut sources: BTreeMap<String, (IndexSize, Option<SharedSync>)> =
            sizes.into_iter().map(|(name, size)| (name, (size_of(size), None))).collect();
        for row in syncs {
            sources.entry(row.source.clone()).or_default().1 = shared(&row);
        }
        Ok(sources.into_iter().map(|(name, (size, sync))| description(name, size, sync)).collect())
    }

    /// Describes a source. An unknown source is empty.
    ///
    /// # Errors
    ///
    /// If the vector database or PostgreSQL fails.
    pub async fn source(&self, name: &str) -> Result<SourceDescription, IndexError> {
        let rows = self.catalogue.syncs(self.number).await.map_err(of_catalogue)?;
        let sync = rows.iter().find(|row| row.source == name).and_then(shared);
        self.described(name, sync).await
    }

    async fn described(&self, name: &str, sync: Option<SharedSync>) -> Result<SourceDescription, IndexError> {
        let size = self.size_of(Selection::Source(name)).await?;
        Ok(description(name.to_owned(), size, sync))
    }

    /// Records the state of a source's synchronisation. All servers know it when this returns.
    ///
    /// # Errors
    ///
    /// [`IndexError::SourceHeld`] while another synchronisation has the source, or if the vector database or the
    /// database fails.
    pub async fn put_sync(
        &self,
        source: &str,
        put: PutSourceSync,
        now: &Moment,
    ) -> Result<SourceDescription, IndexError> {
        let mut logged = None;
        let update = |known: Option<SourceSyncRow>| {
            // The lease of another server must hold, also of a newer one.
            let known = known.map(|row| shared(&row).ok_or_else(|| self.unreadable(source))).transpose()?;
            let syncs = Syncs::shared(known.map(|sync| (source.to_owned(), sync)), now);
            let update = syncs.update(source, put, now)?;
            let new = row_of(source, update.shared(now));
            logged = Some(update);
            Ok::<_, IndexError>(new)
        };
        let updated = self.catalogue.update_sync(self.number, source, update).await;
        let row = match updated {
            Err(StoreError::NotFound) => return Err(self.absence().await),
            updated => updated.map_err(of_catalogue)??,
        };
        logged.iter().for_each(|update| log_sync(&self.name, source, update));
        self.described(source, shared(&row)).await
    }

    fn unreadable(&self, source: &str) -> IndexError {
        let reason = format!("a newer version of the server wrote the record of its source '{source}'");
        IndexError::Unavailable { index: self.name.clone(), reason }
    }

    /// Deletes a source's documents, and then its synchronisation record. Returns the number of documents.
    ///
    /// # Errors
    ///
    /// If the vector database or PostgreSQL fails. Documents deleted before the error stay deleted.
    pub async fn delete_source(self: &std::sync::Arc<Self>, source: &str) -> Result<u64, IndexError> {
        let wanted = source.to_owned();
        let deleted = self
            .changing(move |index| async move { index.engine.delete_source(&wanted).await.map_err(of_engine) })
            .await?;
        self.catalogue.forget_sync(self.number, source).await.map_err(of_catalogue)?;
        Ok(deleted)
    }
}
