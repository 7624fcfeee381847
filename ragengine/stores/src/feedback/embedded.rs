mod answers;
mod listing;
mod tables;
mod voting;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use self::tables::create_tables;
use super::{Answer, ChunkVote, MAX_UNVOTED, NewVote, VotePage, VoteQuery};
use crate::expiry::Cutoffs;
use crate::{Embedded, StoreError};

/// Answers and votes in the file of the data folder.
pub(super) struct EmbeddedFeedback {
    embedded: Arc<Embedded>,
    /// Answers without votes at most.
    max_unvoted: u64,
}

impl EmbeddedFeedback {
    pub fn new(embedded: Arc<Embedded>) -> Self {
        Self { embedded, max_unvoted: MAX_UNVOTED }
    }

    pub async fn record_answer(&self, answer: Answer) -> Result<(), StoreError> {
        let max_unvoted = self.max_unvoted;
        self.embedded.write(move |transaction| answers::record(transaction, answer, max_unvoted)).await
    }

    pub async fn vote(&self, owner: &str, vote: NewVote, now_ms: i64) -> Result<(), StoreError> {
        let owner = owner.to_owned();
        self.embedded.write(move |transaction| voting::vote(transaction, &owner, vote, now_ms)).await
    }

    pub async fn index_of(&self, owner: &str, answer_id: &str) -> Result<String, StoreError> {
        let (owner, answer_id) = (owner.to_owned(), answer_id.to_owned());
        self.embedded.read(move |reader| listing::index_of(reader, &owner, &answer_id)).await
    }

    pub async fn cache_key(&self, answer_id: &str) -> Result<Option<String>, StoreError> {
        let answer_id = answer_id.to_owned();
        self.embedded.read(move |reader| listing::cache_key(reader, &answer_id)).await
    }

    pub async fn was_voted_down(&self, key_end: &str, since_ms: i64) -> Result<bool, StoreError> {
        let key_end = key_end.to_owned();
        self.embedded.read(move |reader| listing::was_voted_down(reader, &key_end, since_ms)).await
    }

    pub async fn remove_vote(&self, owner: &str, answer_id: &str, voter: &str, now_ms: i64) -> Result<(), StoreError> {
        let (owner, answer_id, voter) = (owner.to_owned(), answer_id.to_owned(), voter.to_owned());
        self.embedded.write(move |transaction| voting::remove(transaction, &owner, (&answer_id, &voter), now_ms)).await
    }

    pub async fn list(&self, query: VoteQuery, now_ms: i64) -> Result<VotePage, StoreError> {
        self.embedded.read(move |reader| listing::list(reader, &query, now_ms)).await
    }

    pub async fn votes_on(
        &self,
        index_name: &str,
        fingerprint: &str,
        node_ids: &[String],
        now_ms: i64,
    ) -> Result<BTreeMap<String, Vec<ChunkVote>>, StoreError> {
        let (index_name, fingerprint, node_ids) = (index_name.to_owned(), fingerprint.to_owned(), node_ids.to_vec());
        self.embedded
            .read(move |reader| {
                let found = listing::votes_on(reader, &index_name, &node_ids, now_ms)?;
                listing::with_vectors(reader, found, &fingerprint)
            })
            .await
    }

    pub async fn ratings(
        &self,
        answer_ids: &[String],
        now_ms: i64,
    ) -> Result<BTreeMap<String, (u64, u64)>, StoreError> {
        let answer_ids = answer_ids.to_vec();
        self.embedded.read(move |reader| listing::ratings(reader, &answer_ids, now_ms)).await
    }

    /// One step. Returns the number of deleted answers, and whether nothing is left to delete.
    pub async fn sweep(&self, cutoffs: Cutoffs, limit: usize) -> Result<(u64, bool), StoreError> {
        self.embedded.write(move |transaction| answers::sweep(transaction, cutoffs, limit)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::Rating;

    #[tokio::test]
    async fn the_oldest_answers_without_votes_go_when_there_are_too_many() {
        let folder = tempfile::tempdir().unwrap();
        let store = EmbeddedFeedback { embedded: Embedded::open(folder.path()).unwrap(), max_unvoted: 3 };
        let vote = |id: &str| NewVote {
            answer_id: id.to_owned(),
            voter: "v".to_owned(),
            rating: Rating::Up,
            comment: None,
            voted_at_ms: 1,
        };
        for number in 0..6 {
            let answer = Answer {
                id: format!("a{number}"),
                owner: "-".to_owned(),
                index_name: "docs".to_owned(),
                question: "Why?".to_owned(),
                fingerprint: "f".to_owned(),
                vector: vec![1.0],
                node_ids: vec!["n".to_owned()],
                cache_key: None,
                created_at_ms: number,
            };
            store.record_answer(answer).await.unwrap();
            if number == 0 {
                store.vote("-", vote("a0"), 1).await.unwrap();
            }
        }
        // The first one has a vote; 1 and 2 are the oldest of the others.
        for (id, is_there) in [("a0", true), ("a1", false), ("a2", false), ("a3", true), ("a5", true)] {
            assert_eq!(store.vote("-", vote(id), 1).await.is_ok(), is_there, "{id}");
        }
    }
}
