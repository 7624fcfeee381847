use redb::{TableDefinition, WriteTransaction};

use super::StoreError;

/// The format, the index's record, and the counters.
pub(super) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// The key of the next row in [`META`].
pub(super) const NEXT_ROW: &str = "next_row";
/// A document's number → its record.
pub(super) const DOCUMENTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("documents");
/// A document's number → its text. A separate table, because most readers of a document do not need its text.
pub(super) const TEXTS: TableDefinition<'_, u64, &str> = TableDefinition::new("texts");
/// A document's id → its number.
pub(super) const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
/// A row → its chunk.
pub(super) const CHUNKS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("chunks");
/// A row → its vector: 32-bit floats, little endian.
pub(super) const VECTORS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("vectors");
/// The hash of a chunk's embedded text and its row, for finding vectors that can be reused.
pub(super) const HASHES: TableDefinition<'_, (&[u8; 32], u64), ()> = TableDefinition::new("hashes");
/// A row and a tokenizer → the tokens of the row's rendered block.
pub(super) const TOKEN_COUNTS: TableDefinition<'_, (u64, u64), u32> = TableDefinition::new("token_counts");
/// A document's number → the revision that its source reported.
pub(super) const REVISIONS: TableDefinition<'_, u64, &str> = TableDefinition::new("revisions");
/// A row → the page of its chunk.
pub(super) const PAGES: TableDefinition<'_, u64, u32> = TableDefinition::new("pages");
/// A source → its last finished synchronisation, as JSON.
pub(super) const SYNCS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("syncs");

/// Creates every table. Older indexes lack tables that were introduced later, until something is written to them.
pub(super) fn create_all(transaction: &WriteTransaction) -> Result<(), StoreError> {
    transaction.open_table(META).map_err(redb::Error::from)?;
    transaction.open_table(DOCUMENTS).map_err(redb::Error::from)?;
    transaction.open_table(TEXTS).map_err(redb::Error::from)?;
    transaction.open_table(NUMBERS).map_err(redb::Error::from)?;
    transaction.open_table(CHUNKS).map_err(redb::Error::from)?;
    transaction.open_table(VECTORS).map_err(redb::Error::from)?;
    transaction.open_table(HASHES).map_err(redb::Error::from)?;
    transaction.open_table(TOKEN_COUNTS).map_err(redb::Error::from)?;
    transaction.open_table(REVISIONS).map_err(redb::Error::from)?;
    transaction.open_table(PAGES).map_err(redb::Error::from)?;
    transaction.open_table(SYNCS).map_err(redb::Error::from)?;
    Ok(())
}
