//! What chunks cost in tokens of the language models that have been asked. It is derived: losing it costs time, nothing else.

use redb::{Durability, ReadableTable as _, TableError};

use super::tables::{CHUNKS, TOKEN_COUNTS};
use super::{Store, StoreError};

impl Store {
    /// What these rows cost, in their order: none where it has not been counted by this tokenizer.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn token_counts(&self, tokenizer: u64, rows: &[u64]) -> Result<Vec<Option<u32>>, StoreError> {
        use redb::ReadableDatabase as _;
        let reader = self.database.get()?.begin_read().map_err(redb::Error::from)?;
        let table = match reader.open_table(TOKEN_COUNTS) {
            Ok(table) => table,
            // An index that was made before there were counts.
            Err(TableError::TableDoesNotExist(_)) => return Ok(vec![None; rows.len()]),
            Err(error) => return Err(redb::Error::from(error).into()),
        };
        let count = |row: &u64| {
            let stored = table.get((*row, tokenizer)).map_err(redb::Error::from)?;
            Ok(stored.map(|tokens| tokens.value()))
        };
        rows.iter().map(count).collect()
    }

    /// Keeps what rows cost. A row that has been deleted meanwhile is left out. It is on disk with the next change of documents: a
    /// question must not wait for the disk.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
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
