//! Token counts of chunks for language models. They are derived data: if they are lost, they are computed again.

use redb::{Durability, ReadableTable as _, TableError};

use super::tables::{CHUNKS, TOKEN_COUNTS};
use super::{Store, StoreError};

impl Store {
    /// The counts of these rows, in order. None where this tokenizer has not counted the row yet.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn token_counts(&self, tokenizer: u64, rows: &[u64]) -> Result<Vec<Option<u32>>, StoreError> {
        use redb::ReadableDatabase as _;
        let reader = self.database.get()?.begin_read().map_err(redb::Error::from)?;
        let table = match reader.open_table(TOKEN_COUNTS) {
            Ok(table) => table,
            // The index was made before counts were saved.
            Err(TableError::TableDoesNotExist(_)) => return Ok(vec![None; rows.len()]),
            Err(error) => return Err(redb::Error::from(error).into()),
        };
        let count = |row: &u64| {
            let stored = table.get((*row, tokenizer)).map_err(redb::Error::from)?;
            Ok(stored.map(|tokens| tokens.value()))
        };
        rows.iter().map(count).collect()
    }

    /// Saves counts. Rows that were deleted in the meantime are skipped. The counts become durable with the next change
    /// of documents, so that a request does not wait for the disk.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn put_token_counts(&self, tokenizer: u64, counts: &[(u64, u32)]) -> Result<(), StoreError> {
        let mut transaction = self.database.get()?.begin_write().map_err(redb::Error::from)?;
        transaction.set_durability(Durability::None).map_err(|error| StoreError::Disk(error.to_string()))?;
        {
            let chunks = transaction.open_table(CHUNKS).map_err(redb::Error::from)?;
            let mut table = transaction.open_table(TOKEN_COUNTS).map_err(redb::Error::from)?;
            for (row, tokens) in counts {
                if chunks.get(row).map_err(redb::Error::from)?.is_some() {
                    table.insert((*row, tokenizer), tokens).map_err(redb::Error::from)?;
                }
            }
        }
        Ok(transaction.commit().map_err(redb::Error::from)?)
    }
}
