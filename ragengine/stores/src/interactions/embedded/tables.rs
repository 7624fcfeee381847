use redb::{TableDefinition, WriteTransaction};
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// An owner and an id → [`InteractionRow`].
pub(super) const INTERACTIONS: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("interaction");
/// Everything that a search compares.
pub(super) const VECTORS: TableDefinition<'_, VectorKey, VectorValue> = TableDefinition::new("interaction_vector");
/// Owner, when the answer was given, id → its provider.
pub(super) const OF_OWNER: TableDefinition<'_, (&str, i64, &str), &str> = TableDefinition::new("interaction_of_owner");
/// When the answer was given, owner, id.
pub(super) const BY_AGE: TableDefinition<'_, (i64, &str, &str), ()> = TableDefinition::new("interaction_by_age");

/// Owner, index, fingerprint, id.
type VectorKey = (&'static str, &'static str, &'static str, &'static str);
/// When the answer was given, its provider, and the vector: 32-bit floats, little endian.
type VectorValue = (i64, &'static str, &'static [u8]);

/// The columns of an interaction, without its key and its vector. The time is in milliseconds since 1970.
#[derive(Serialize, Deserialize)]
pub(super) struct InteractionRow {
    pub index_name: String,
    pub fingerprint: String,
    pub user_input: String,
    pub ai_response: String,
    pub ai_provider: String,
    pub task_category: String,
    pub node_ids: Vec<String>,
    pub created_at_ms: i64,
}

/// Creates the tables that are missing.
pub(crate) fn create_tables(transaction: &WriteTransaction) -> Result<(), StoreError> {
    transaction.open_table(INTERACTIONS).map_err(redb::Error::from)?;
    transaction.open_table(VECTORS).map_err(redb::Error::from)?;
    transaction.open_table(OF_OWNER).map_err(redb::Error::from)?;
    transaction.open_table(BY_AGE).map_err(redb::Error::from)?;
    Ok(())
}
