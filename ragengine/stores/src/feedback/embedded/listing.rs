use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::Arc;

use redb::{Key, ReadOnlyTable, ReadTransaction, ReadableTable as _, TableDefinition, Value};

use super::super::collect::{Found, answers_with_vectors, by_chunk};
use super::super::{ChunkVote, ListedVote, MAX_VOTES, Rating, VotePage, VoteQuery};
use super::tables::{ANSWERS, AnswerRow, NEWEST_VOTES, VECTORS, VOTED, VOTED_CHUNKS, VOTES, VoteRow};
use super::voting::each_vote;
use crate::embedded::row;
use crate::expiry::Cutoffs;
use crate::{StoreError, vector};

/// A page of votes, the newest first; at the same time, by answer and voter.
pub(super) fn list(reader: &ReadTransaction, query: &VoteQuery, now_ms: i64) -> Result<VotePage, StoreError> {
    let (newest, votes, voted) = (open(reader, NEWEST_VOTES)?, open(reader, VOTES)?, open(reader, VOTED)?);
    let is_current = is_current(&voted, now_ms);
    let page = query.offset..query.offset.saturating_add(query.limit);
    let (mut listed, mut total) = (Vec::new(), 0);
    for entry in newest.iter().map_err(redb::Error::from)? {
        let (key, index_name) = entry.map_err(redb::Error::from)?;
        let ((_, answer_id, voter), index_name) = (key.value(), index_name.value());
        let is_asked_for = query.voter.as_deref().is_none_or(|asked| asked == voter)
            && query.index_name.as_deref().is_none_or(|asked| asked == index_name);
        if !is_asked_for || !is_current(answer_id)? {
            continue;
        }
        if page.contains(&total) {
            let vote = votes.get((answer_id, voter)).map_err(redb::Error::from)?;
            let vote = vote.ok_or_else(|| StoreError::Damaged("a vote is missing".to_owned()))?;
            let VoteRow { is_up, comment, created_at_ms } = row::decode(vote.value())?;
            let (answer_id, voter, index_name) = (answer_id.to_owned(), voter.to_owned(), index_name.to_owned());
            let rating = Rating::of(is_up);
            listed.push(ListedVote { answer_id, rating, voter, comment, created_at_ms, index_name });
        }
        total += 1;
    }
    Ok(VotePage { votes: listed, total: u64::try_from(total).unwrap_or(u64::MAX) })
}

/// The newest votes on answers from these chunks, in the order of [`Found`].
pub(super) fn votes_on(
    reader: &ReadTransaction,
    index_name: &str,
    node_ids: &[String],
    now_ms: i64,
) -> Result<Vec<Found>, StoreError> {
    let (chunks, votes, voted) = (open(reader, VOTED_CHUNKS)?, open(reader, VOTES)?, open(reader, VOTED)?);
    let is_current = is_current(&voted, now_ms);
    // The worst of the newest is on top.
    let mut newest: BinaryHeap<Found> = BinaryHeap::new();
    let mut node_ids: Vec<&String> = node_ids.iter().collect();
    node_ids.sort_unstable();
    node_ids.dedup();
    for node_id in node_ids {
        for entry in chunks.range((index_name, node_id.as_str(), "")..).map_err(redb::Error::from)? {
            let (key, _) = entry.map_err(redb::Error::from)?;
            let (of_index, of_chunk, answer_id) = key.value();
            if (of_index, of_chunk) != (index_name, node_id.as_str()) {
                break;
            }
            if !is_current(answer_id)? {
                continue;
            }
            each_vote(&votes, answer_id, |voter, vote| {
                newest.push(Found {
                    voted_at_ms: Reverse(vote.created_at_ms),
                    answer_id: answer_id.to_owned(),
                    voter: voter.to_owned(),
                    node_id: node_id.clone(),
                    is_up: vote.is_up,
                });
                if newest.len() > MAX_VOTES {
                    newest.pop();
                }
            })?;
        }
    }
    Ok(newest.into_sorted_vec())
}

/// The votes by chunk, with the vectors of this embedding model.
pub(super) fn with_vectors(
    reader: &ReadTransaction,
    found: Vec<Found>,
    fingerprint: &str,
) -> Result<BTreeMap<String, Vec<ChunkVote>>, StoreError> {
    let table = open(reader, VECTORS)?;
    let mut vectors: HashMap<String, Arc<[f32]>> = HashMap::new();
    for id in answers_with_vectors(&found) {
        if let Some(value) = table.get(id.as_str()).map_err(redb::Error::from)? {
            let (made_with, bytes) = value.value();
            if made_with == fingerprint {
                vectors.insert(id, vector::decode(bytes));
            }
        }
    }
    Ok(by_chunk(found, &vectors))
}

/// Whether one of the newest votes, at or after `since_ms`, is a down vote on an answer whose key in the response cache
/// has this end.
pub(super) fn was_voted_down(reader: &ReadTransaction, key_end: &str, since_ms: i64) -> Result<bool, StoreError> {
    let (newest, votes) = (open(reader, NEWEST_VOTES)?, open(reader, VOTES)?);
    // Times are negative there, so that the newest are first.
    let until = (since_ms.saturating_neg().saturating_add(1), "", "");
    for entry in newest.range(..until).map_err(redb::Error::from)?.take(MAX_VOTES) {
        let (key, _) = entry.map_err(redb::Error::from)?;
        let (_, answer_id, voter) = key.value();
        let vote = votes.get((answer_id, voter)).map_err(redb::Error::from)?;
        let vote = vote.map(|vote| row::decode::<VoteRow>(vote.value())).transpose()?;
        if vote.is_some_and(|vote| !vote.is_up)
            && cache_key(reader, answer_id)?.is_some_and(|key| key.ends_with(key_end))
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The index of an answer, unless it is another owner's.
pub(super) fn index_of(reader: &ReadTransaction, owner: &str, answer_id: &str) -> Result<String, StoreError> {
    let answers = open(reader, ANSWERS)?;
    let answer = answers.get(answer_id).map_err(redb::Error::from)?.ok_or(StoreError::NotFound)?;
    let answer: AnswerRow = row::decode(answer.value())?;
    if answer.owner == owner { Ok(answer.index_name) } else { Err(StoreError::NotFound) }
}

/// The key of an answer in the response cache.
pub(super) fn cache_key(reader: &ReadTransaction, answer_id: &str) -> Result<Option<String>, StoreError> {
    let answers = open(reader, ANSWERS)?;
    let answer = answers.get(answer_id).map_err(redb::Error::from)?;
    let answer = answer.map(|answer| row::decode::<AnswerRow>(answer.value())).transpose()?;
    Ok(answer.and_then(|answer| answer.cache_key))
}

/// The up and down votes on answers.
pub(super) fn ratings(
    reader: &ReadTransaction,
    answer_ids: &[String],
    now_ms: i64,
) -> Result<BTreeMap<String, (u64, u64)>, StoreError> {
    let (votes, voted) = (open(reader, VOTES)?, open(reader, VOTED)?);
    let is_current = is_current(&voted, now_ms);
    let mut ratings = BTreeMap::new();
    for id in answer_ids {
        if is_current(id)? {
            let (mut ups, mut downs) = (0, 0);
            each_vote(&votes, id, |_, vote| if vote.is_up { ups += 1 } else { downs += 1 })?;
            ratings.insert(id.clone(), (ups, downs));
        }
    }
    Ok(ratings)
}

/// Whether an answer has votes and has not expired.
fn is_current<'a>(
    voted: &'a ReadOnlyTable<&'static str, i64>,
    now_ms: i64,
) -> impl Fn(&str) -> Result<bool, StoreError> + 'a {
    let cutoff_ms = Cutoffs::at(now_ms).vote_ms;
    move |id| Ok(voted.get(id).map_err(redb::Error::from)?.is_some_and(|latest_ms| latest_ms.value() > cutoff_ms))
}

fn open<K: Key + 'static, V: Value + 'static>(
    reader: &ReadTransaction,
    definition: TableDefinition<'static, K, V>,
) -> Result<ReadOnlyTable<K, V>, StoreError> {
    Ok(reader.open_table(definition).map_err(redb::Error::from)?)
}
