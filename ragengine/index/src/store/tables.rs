use redb::{TableDefinition, WriteTransaction};

use super::StoreError;

/// The format, the index's record, the next numbers.
pub(super) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// The key in [`META`] of the row that is given next.
pub(super) const NEXT_ROW: &str = "next_row";
/// A document's number → its record.
pub(super) const DOCUMENTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("documents");
/// A document's number → its text. Apart, because most readers of a document want all but the text.
pub(super) const TEXTS: TableDefinition<'_, u64, &str> = TableDefinition::new("texts");
/// A document's id → its number.
pub(super) const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
/// A row → its chunk.
pub(super) const CHUNKS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("chunks");
/// A row → its vector: 32-bit floats, little endian.
pub(super) const VECTORS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("vectors");
/// The hash of what was embedded and a row: a chunk that is there already needs no embedding.
pub(super) const HASHES: TableDefinition<'_, (&[u8; 32], u64), ()> = TableDefinition::new("hashes");
/// A row and a tokenizer → the tokens of the row's rendered block.
pub(super) const TOKEN_COUNTS: TableDefinition<'_, (u64, u64), u32> = TableDefinition::new("token_counts");
/// A document's number → what its source calls this state of it.
pub(super) const REVISIONS: TableDefinition<'_, u64, &str> = TableDefinition::new("revisions");
/// A row → the page that its chunk stands on.
pub(super) const PAGES: TableDefinition<'_, u64, u32> = TableDefinition::new("pages");
/// A source → its latest synchronisation that has ended, as JSON.
pub(super) const SYNCS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("syncs");

/// Makes every table, so that readers seldom meet a missing one: an older index lacks those that came later until something is
/// put there.
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
