mod answers;
mod listing;
mod tables;
mod voting;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use self::tables::create_tables;
use super::{Answer, ChunkVote, NewVote, VotePage, VoteQuery};
use crate::expiry::Cutoffs;
use crate::{Embedded, StoreError};

/// Answers and votes in the file of the data folder.
pub(super) struct EmbeddedFeedback {
    embedded: Arc<Embedded>,
}

impl EmbeddedFeedback {
    pub fn new(embedded: Arc<Embedded>) -> Self {
        Self { embedded }
    }

    pub async fn record_answer(&self, answer: Answer) -> Result<(), StoreError> {
        self.embedded.write(move |transaction| answers::record(transaction, answer)).await
    }

    pub async fn vote(&self, owner: &str, vote: NewVote, now_ms: i64) -> Result<(), StoreError> {
        let owner = owner.to_owned();
        self.embedded.write(move |transaction| voting::vote(transaction, &owner, vote, now_ms)).await
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
