//! The catalog on disk: the folders of the indexes, and the plans for their next generations.

use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};
use uuid::Uuid;

use super::Catalog;
use crate::store::StoreError;

pub(super) const META: TableDefinition<'_, &str, &str> = TableDefinition::new("meta");
const FOLDERS: TableDefinition<'_, &str, u64> = TableDefinition::new("indexes");
/// The plans for next generations, as JSON.
pub(super) const PLANS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("generations");
const FORMAT: &str = "1";

/// The catalog's tables in a write transaction.
pub(super) struct Tables<'a> {
    pub(super) folders: redb::Table<'a, &'static str, u64>,
    pub(super) meta: redb::Table<'a, &'static str, &'static str>,
    pub(super) plans: redb::Table<'a, &'static str, &'static [u8]>,
}

impl Catalog {
    pub(super) fn folders(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let read = self.database.get()?.begin_read().map_err(redb::Error::from)?;
        let table = read.open_table(FOLDERS).map_err(redb::Error::from)?;
        let entries = table.iter().map_err(redb::Error::from)?;
        entries
            .map(|entry| {
                let (name, folder) = entry.map_err(redb::Error::from)?;
                Ok((name.value().to_owned(), folder.value()))
            })
            .collect()
    }

    /// Assigns the number of a new folder.
    pub(super) fn take_folder(&self) -> Result<u64, StoreError> {
        self.write(|tables| {
            let meta = &mut tables.meta;
            let next = meta
                .get("next_folder")
                .map_err(redb::Error::from)?
                .and_then(|next| next.value().parse().ok())
                .unwrap_or(1_u64);
            meta.insert("next_folder", (next + 1).to_string().as_str()).map_err(redb::Error::from)?;
            Ok(next)
        })
    }

    /// Runs a change in one transaction.
    pub(super) fn write<T>(
        &self,
        change: impl FnOnce(&mut Tables<'_>) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        let mut transaction = self.database.get()?.begin_write().map_err(redb::Error::from)?;
        transaction.set_quick_repair(true);
        let result = {
            change(&mut Tables {
                folders: transaction.open_table(FOLDERS).map_err(redb::Error::from)?,
                meta: transaction.open_table(META).map_err(redb::Error::from)?,
                plans: transaction.open_table(PLANS).map_err(redb::Error::from)?,
            })?
        };
        transaction.commit().map_err(redb::Error::from)?;
        Ok(result)
    }
}

/// Creates the tables of a new catalog and returns the id of the data folder, generating it if necessary.
pub(super) fn initialise(database: &Database) -> Result<String, StoreError> {
    let mut transaction = database.begin_write().map_err(redb::Error::from)?;
    transaction.set_quick_repair(true);
    let data_id = {
        let mut meta = transaction.open_table(META).map_err(redb::Error::from)?;
        let format = meta.get("format").map_err(redb::Error::from)?.map(|format| format.value().to_owned());
        match format {
            Some(format) if format != FORMAT => return Err(StoreError::Format(format)),
            _ => meta.insert("format", FORMAT).map_err(redb::Error::from)?,
        };
        transaction.open_table(FOLDERS).map_err(redb::Error::from)?;
        transaction.open_table(PLANS).map_err(redb::Error::from)?;
        let known = meta.get("data_id").map_err(redb::Error::from)?.map(|id| id.value().to_owned());
        let data_id = known.unwrap_or_else(|| Uuid::new_v4().to_string());
        meta.insert("data_id", data_id.as_str()).map_err(redb::Error::from)?;
        data_id
    };
    transaction.commit().map_err(redb::Error::from)?;
    Ok(data_id)
}
