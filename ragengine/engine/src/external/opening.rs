//! From a row of the catalogue to an index.

use std::sync::Arc;

use ragengine_index::IndexError;
use ragengine_index::record::IndexRecord;
use ragengine_stores::CatalogueIndex;
use ragengine_vector_database::{Index as Engine, VectorDatabaseError};

use super::fault::of_engine;
use super::{ExternalCatalog, ExternalIndex};

impl ExternalCatalog {
    /// The index of a row, which is opened once.
    pub(super) async fn opened(&self, row: CatalogueIndex) -> Result<Arc<ExternalIndex>, IndexError> {
        if let Some(known) = self.known.read().get(&row.name)
            && known.is_of(&row)
        {
            return Ok(Arc::clone(known));
        }
        let (database, namespace) = (self.options.vector_database.clone(), &self.options.namespace);
        let engine = Engine::open(database, namespace, &name_in_engine(&row)).await.map_err(|error| match error {
            // The catalogue has it, so it is not the caller's mistake.
            VectorDatabaseError::NoSuchIndex(_) => IndexError::Unavailable {
                index: row.name.clone(),
                reason: "the vector database does not have it: restore its backup, or delete the index".to_owned(),
            },
            other => of_engine(other),
        })?;
        Ok(self.shown(self.index_of(&row, engine)?))
    }

    /// The index of a row, which is in this collection of the vector database.
    pub(super) fn index_of(&self, row: &CatalogueIndex, engine: Engine) -> Result<Arc<ExternalIndex>, IndexError> {
        let record = read_record(row)?;
        let embedding = row.embedding.as_deref().and_then(|json| serde_json::from_str(json).ok());
        Ok(Arc::new(ExternalIndex {
            name: row.name.clone(),
            number: row.number,
            store_id: row.store_id.parse().map_err(|_| unreadable(row))?,
            record,
            embedding,
            engine,
            catalogue: Arc::clone(&self.options.catalogue),
            analyzer: self.analyzer.clone(),
            background: Default::default(),
            writing: Default::default(),
            is_left_open: Default::default(),
            cursors: Default::default(),
            seen: Default::default(),
        }))
    }

    /// The index that requests get from now on: the one that is known, if it is the same.
    pub(super) fn shown(&self, index: Arc<ExternalIndex>) -> Arc<ExternalIndex> {
        let mut known = self.known.write();
        let kept = known.entry(index.name.clone()).or_insert_with(|| Arc::clone(&index));
        if !kept.is_same(&index) {
            *kept = index;
        }
        Arc::clone(kept)
    }
}

/// The digits of a store's id in a name: with the longest name of an index, as many as the databases have room for.
const STORE_DIGITS: usize = 16;

/// The name in the vector database. An index that is made again has another one, so that a late write of the old one
/// cannot reach it. The number in the catalogue would come again after a restore of the database.
pub(super) fn name_in_engine(row: &CatalogueIndex) -> String {
    let digits: String = row.store_id.chars().filter(char::is_ascii_hexdigit).take(STORE_DIGITS).collect();
    format!("{}~{digits}", row.name)
}

/// The settings with which an index was made.
pub(super) fn read_record(row: &CatalogueIndex) -> Result<IndexRecord, IndexError> {
    serde_json::from_str(&row.record).map_err(|_| unreadable(row))
}

fn unreadable(row: &CatalogueIndex) -> IndexError {
    IndexError::Unavailable {
        index: row.name.clone(),
        reason: "its record in PostgreSQL cannot be read: a newer version of the server may have written it".to_owned(),
    }
}
