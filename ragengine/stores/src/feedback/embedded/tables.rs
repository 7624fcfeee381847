use redb::{TableDefinition, WriteTransaction};
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// An answer's id → [`AnswerRow`].
pub(super) const ANSWERS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("answer");
/// An answer's id → its embedding model's fingerprint, and its vector: 32-bit floats, little endian. A separate table,
/// because most readers of an answer do not need its vector.
pub(super) const VECTORS: TableDefinition<'_, &str, (&str, &[u8])> = TableDefinition::new("answer_vector");
/// An answer's id and a voter → [`VoteRow`].
pub(super) const VOTES: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("vote");
/// An answer's id → when its latest vote was given. Only answers with votes.
pub(super) const VOTED: TableDefinition<'_, &str, i64> = TableDefinition::new("voted_answer");
/// An index, a chunk, and an answer with votes that was given from it.
pub(super) const VOTED_CHUNKS: TableDefinition<'_, (&str, &str, &str), ()> = TableDefinition::new("voted_chunk");
/// When a vote was given, as a negative number, its answer, its voter → the answer's index. This is the order of lists.
pub(super) const NEWEST_VOTES: TableDefinition<'_, (i64, &str, &str), &str> = TableDefinition::new("newest_vote");
/// When an answer was given, and its id. Only answers without votes.
pub(super) const UNVOTED_BY_AGE: TableDefinition<'_, (i64, &str), ()> = TableDefinition::new("unvoted_answer_by_age");
/// When an answer's latest vote was given, and the answer's id.
pub(super) const VOTED_BY_AGE: TableDefinition<'_, (i64, &str), ()> = TableDefinition::new("voted_answer_by_age");

/// The columns of an answer that are in no other table. Times are in milliseconds since 1970.
#[derive(Serialize, Deserialize)]
pub(super) struct AnswerRow {
    pub owner: String,
    pub index_name: String,
    pub question: String,
    pub node_ids: Vec<String>,
    pub cache_key: Option<String>,
    pub created_at_ms: i64,
}

/// The columns of a vote.
#[derive(Serialize, Deserialize)]
pub(super) struct VoteRow {
    pub is_up: bool,
    pub comment: Option<String>,
    pub created_at_ms: i64,
}

/// Creates the tables that are missing.
pub(crate) fn create_tables(transaction: &WriteTransaction) -> Result<(), StoreError> {
    transaction.open_table(ANSWERS).map_err(redb::Error::from)?;
    transaction.open_table(VECTORS).map_err(redb::Error::from)?;
    transaction.open_table(VOTES).map_err(redb::Error::from)?;
    transaction.open_table(VOTED).map_err(redb::Error::from)?;
    transaction.open_table(VOTED_CHUNKS).map_err(redb::Error::from)?;
    transaction.open_table(NEWEST_VOTES).map_err(redb::Error::from)?;
    transaction.open_table(UNVOTED_BY_AGE).map_err(redb::Error::from)?;
    transaction.open_table(VOTED_BY_AGE).map_err(redb::Error::from)?;
    Ok(())
}
