use redb::{ReadableTable, WriteTransaction};

use super::super::{NewVote, Rating};
use super::answers::forget_chunks;
use super::tables::{
    ANSWERS, AnswerRow, NEWEST_VOTES, UNVOTED_BY_AGE, VOTED, VOTED_BY_AGE, VOTED_CHUNKS, VOTES, VoteRow,
};
use crate::clock::representable;
use crate::embedded::row;
use crate::{StoreError, expiry};

/// Adds or replaces a vote.
pub(super) fn vote(transaction: &WriteTransaction, owner: &str, vote: NewVote, now_ms: i64) -> Result<(), StoreError> {
    let NewVote { answer_id, voter, rating, comment, voted_at_ms } = vote;
    let (id, voter) = (answer_id.as_str(), voter.as_str());
    let answer = answer(transaction, owner, id, now_ms)?;
    let vote = VoteRow { is_up: rating == Rating::Up, comment, created_at_ms: representable(voted_at_ms) };
    {
        let mut votes = transaction.open_table(VOTES).map_err(redb::Error::from)?;
        let mut newest = transaction.open_table(NEWEST_VOTES).map_err(redb::Error::from)?;
        if let Some(earlier) = votes.insert((id, voter), row::encode(&vote)?.as_slice()).map_err(redb::Error::from)? {
            let earlier: VoteRow = row::decode(earlier.value())?;
            newest.remove((-earlier.created_at_ms, id, voter)).map_err(redb::Error::from)?;
        }
        newest.insert((-vote.created_at_ms, id, voter), answer.index_name.as_str()).map_err(redb::Error::from)?;
        let mut chunks = transaction.open_table(VOTED_CHUNKS).map_err(redb::Error::from)?;
        for node_id in &answer.node_ids {
            chunks.insert((answer.index_name.as_str(), node_id.as_str(), id), ()).map_err(redb::Error::from)?;
        }
    }
    age(transaction, id, &answer)
}

/// Removes the vote of an answer's id and a voter.
pub(super) fn remove(
    transaction: &WriteTransaction,
    owner: &str,
    (id, voter): (&str, &str),
    now_ms: i64,
) -> Result<(), StoreError> {
    let answer = answer(transaction, owner, id, now_ms)?;
    {
        let mut votes = transaction.open_table(VOTES).map_err(redb::Error::from)?;
        let removed = votes.remove((id, voter)).map_err(redb::Error::from)?.ok_or(StoreError::NotFound)?;
        let removed: VoteRow = row::decode(removed.value())?;
        let mut newest = transaction.open_table(NEWEST_VOTES).map_err(redb::Error::from)?;
        newest.remove((-removed.created_at_ms, id, voter)).map_err(redb::Error::from)?;
    }
    age(transaction, id, &answer)
}

/// The answer with this id, unless it is another owner's or has expired.
fn answer(transaction: &WriteTransaction, owner: &str, id: &str, now_ms: i64) -> Result<AnswerRow, StoreError> {
    let answers = transaction.open_table(ANSWERS).map_err(redb::Error::from)?;
    let answer = answers.get(id).map_err(redb::Error::from)?.ok_or(StoreError::NotFound)?;
    let answer: AnswerRow = row::decode(answer.value())?;
    let voted = transaction.open_table(VOTED).map_err(redb::Error::from)?;
    let latest_vote_ms = voted.get(id).map_err(redb::Error::from)?.map(|latest_ms| latest_ms.value());
    if answer.owner != owner || expiry::of_answer_ms(answer.created_at_ms, latest_vote_ms) <= now_ms {
        return Err(StoreError::NotFound);
    }
    Ok(answer)
}

/// Brings the tables of ages in step with the votes of an answer.
fn age(transaction: &WriteTransaction, id: &str, answer: &AnswerRow) -> Result<(), StoreError> {
    let latest_ms = latest_vote_ms(transaction, id)?;
    let mut voted = transaction.open_table(VOTED).map_err(redb::Error::from)?;
    let mut voted_by_age = transaction.open_table(VOTED_BY_AGE).map_err(redb::Error::from)?;
    let mut unvoted = transaction.open_table(UNVOTED_BY_AGE).map_err(redb::Error::from)?;
    let before_ms = match latest_ms {
        Some(latest_ms) => voted.insert(id, latest_ms),
        None => voted.remove(id),
    };
    if let Some(before_ms) = before_ms.map_err(redb::Error::from)? {
        voted_by_age.remove((before_ms.value(), id)).map_err(redb::Error::from)?;
    }
    match latest_ms {
        Some(latest_ms) => {
            voted_by_age.insert((latest_ms, id), ()).map_err(redb::Error::from)?;
            unvoted.remove((answer.created_at_ms, id)).map_err(redb::Error::from)?;
            Ok(())
        }
        None => {
            unvoted.insert((answer.created_at_ms, id), ()).map_err(redb::Error::from)?;
            forget_chunks(transaction, id, answer)
        }
    }
}

fn latest_vote_ms(transaction: &WriteTransaction, id: &str) -> Result<Option<i64>, StoreError> {
    let votes = transaction.open_table(VOTES).map_err(redb::Error::from)?;
    let mut latest_ms = None;
    each_vote(&votes, id, |_, vote| latest_ms = latest_ms.max(Some(vote.created_at_ms)))?;
    Ok(latest_ms)
}

/// The voters of an answer.
pub(super) fn keys_of_votes(
    votes: &impl ReadableTable<(&'static str, &'static str), &'static [u8]>,
    id: &str,
) -> Result<Vec<String>, StoreError> {
    let mut voters = Vec::new();
    each_vote(votes, id, |voter, _| voters.push(voter.to_owned()))?;
    Ok(voters)
}

/// Calls `visit` with the voter and the row of each vote on an answer.
pub(super) fn each_vote(
    votes: &impl ReadableTable<(&'static str, &'static str), &'static [u8]>,
    id: &str,
    mut visit: impl FnMut(&str, VoteRow),
) -> Result<(), StoreError> {
    for entry in votes.range((id, "")..).map_err(redb::Error::from)? {
        let (key, vote) = entry.map_err(redb::Error::from)?;
        let (answer_id, voter) = key.value();
        if answer_id != id {
            break;
        }
        visit(voter, row::decode(vote.value())?);
    }
    Ok(())
}
