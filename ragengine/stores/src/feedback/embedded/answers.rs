use redb::{ReadableTable as _, ReadableTableMetadata as _, WriteTransaction};

use super::super::Answer;
use super::tables::{
    ANSWERS, AnswerRow, NEWEST_VOTES, UNVOTED_BY_AGE, VECTORS, VOTED, VOTED_BY_AGE, VOTED_CHUNKS, VOTES, VoteRow,
};
use super::voting::keys_of_votes;
use crate::clock::representable;
use crate::embedded::row;
use crate::expiry::Cutoffs;
use crate::{StoreError, vector};

/// The most answers that make room for a new one, so that it does not take long.
const MAX_REMOVED: u64 = 8;

/// Writes an answer, unless its id is known. If there are more than `max_unvoted` without votes, the oldest go.
pub(super) fn record(transaction: &WriteTransaction, answer: Answer, max_unvoted: u64) -> Result<(), StoreError> {
    let Answer { id, owner, index_name, question, fingerprint, vector, node_ids, cache_key, created_at_ms } = answer;
    let created_at_ms = representable(created_at_ms);
    let answer = AnswerRow { owner, index_name, question, node_ids, cache_key, created_at_ms };
    let mut answers = transaction.open_table(ANSWERS).map_err(redb::Error::from)?;
    if answers.get(id.as_str()).map_err(redb::Error::from)?.is_some() {
        return Ok(());
    }
    answers.insert(id.as_str(), row::encode(&answer)?.as_slice()).map_err(redb::Error::from)?;
    let mut vectors = transaction.open_table(VECTORS).map_err(redb::Error::from)?;
    let value = (fingerprint.as_str(), vector::encode(&vector));
    vectors.insert(id.as_str(), (value.0, value.1.as_slice())).map_err(redb::Error::from)?;
    let mut by_age = transaction.open_table(UNVOTED_BY_AGE).map_err(redb::Error::from)?;
    by_age.insert((created_at_ms, id.as_str()), ()).map_err(redb::Error::from)?;
    let too_many = by_age.len().map_err(redb::Error::from)?.saturating_sub(max_unvoted).min(MAX_REMOVED) as usize;
    let mut oldest = Vec::new();
    for entry in by_age.iter().map_err(redb::Error::from)?.take(too_many) {
        oldest.push(entry.map_err(redb::Error::from)?.0.value().1.to_owned());
    }
    drop((answers, vectors, by_age));
    oldest.iter().try_for_each(|id| delete(transaction, id))
}

/// Deletes some expired answers. Returns their number, and whether nothing is left to delete.
pub(super) fn sweep(transaction: &WriteTransaction, cutoffs: Cutoffs, limit: usize) -> Result<(u64, bool), StoreError> {
    let mut expired = Vec::new();
    for (definition, cutoff_ms) in [(UNVOTED_BY_AGE, cutoffs.answer_ms), (VOTED_BY_AGE, cutoffs.vote_ms)] {
        let table = transaction.open_table(definition).map_err(redb::Error::from)?;
        // Expired are rows at or before the cutoff.
        for entry in table.range(..(cutoff_ms + 1, "")).map_err(redb::Error::from)?.take(limit - expired.len()) {
            expired.push(entry.map_err(redb::Error::from)?.0.value().1.to_owned());
        }
    }
    for id in &expired {
        delete(transaction, id)?;
    }
    Ok((u64::try_from(expired.len()).unwrap_or(u64::MAX), expired.len() < limit))
}

/// Deletes an answer and its votes from all tables.
fn delete(transaction: &WriteTransaction, id: &str) -> Result<(), StoreError> {
    let answer: AnswerRow = {
        let mut answers = transaction.open_table(ANSWERS).map_err(redb::Error::from)?;
        let removed = answers.remove(id).map_err(redb::Error::from)?;
        let removed = removed.ok_or_else(|| StoreError::Damaged("an answer is missing".to_owned()))?;
        row::decode(removed.value())?
    };
    transaction.open_table(VECTORS).map_err(redb::Error::from)?.remove(id).map_err(redb::Error::from)?;
    let mut unvoted = transaction.open_table(UNVOTED_BY_AGE).map_err(redb::Error::from)?;
    unvoted.remove((answer.created_at_ms, id)).map_err(redb::Error::from)?;
    let mut voted = transaction.open_table(VOTED).map_err(redb::Error::from)?;
    if let Some(latest_ms) = voted.remove(id).map_err(redb::Error::from)? {
        let mut voted_by_age = transaction.open_table(VOTED_BY_AGE).map_err(redb::Error::from)?;
        voted_by_age.remove((latest_ms.value(), id)).map_err(redb::Error::from)?;
    }
    delete_votes(transaction, id)?;
    forget_chunks(transaction, id, &answer)
}

fn delete_votes(transaction: &WriteTransaction, id: &str) -> Result<(), StoreError> {
    let mut votes = transaction.open_table(VOTES).map_err(redb::Error::from)?;
    let mut newest = transaction.open_table(NEWEST_VOTES).map_err(redb::Error::from)?;
    for voter in keys_of_votes(&votes, id)? {
        if let Some(vote) = votes.remove((id, voter.as_str())).map_err(redb::Error::from)? {
            let vote: VoteRow = row::decode(vote.value())?;
            newest.remove((-vote.created_at_ms, id, voter.as_str())).map_err(redb::Error::from)?;
        }
    }
    Ok(())
}

/// The answer's chunks are no longer those of an answer with votes.
pub(super) fn forget_chunks(transaction: &WriteTransaction, id: &str, answer: &AnswerRow) -> Result<(), StoreError> {
    let mut chunks = transaction.open_table(VOTED_CHUNKS).map_err(redb::Error::from)?;
    for node_id in &answer.node_ids {
        chunks.remove((answer.index_name.as_str(), node_id.as_str(), id)).map_err(redb::Error::from)?;
    }
    Ok(())
}
