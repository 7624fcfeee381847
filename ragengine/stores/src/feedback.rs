//! Answers, and votes on them.
//!
//! An answer without votes expires after 30 days; one with votes 365 days after the latest, and its votes with it. Of
//! the answers without votes, the latest 100,000 are kept, so that chats cannot fill the disk.

mod collect;
mod embedded;
mod postgres;
mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::embedded::EmbeddedFeedback;
pub(crate) use self::embedded::create_tables;
use self::postgres::PostgresFeedback;
pub use self::types::{Answer, ChunkVote, ListedVote, NewVote, Rating, VotePage, VoteQuery};
use crate::clock::now_ms;
use crate::expiry::{Cutoffs, SWEEP_ROWS};
use crate::operation::Operations;
use crate::{Embedded, Postgres, StoreError, StoreMetrics};

/// Votes that [`FeedbackStore::votes_on`] returns at most: the newest. A vote counts once for each of its chunks.
const MAX_VOTES: usize = 10_000;

/// Answers whose vectors [`FeedbackStore::votes_on`] reads at most: those with the newest votes.
const MAX_VECTORS: usize = 2_000;

/// Answers without votes at most. If there are more, the oldest go.
const MAX_UNVOTED: u64 = 100_000;

/// The longest page of a list.
const MAX_PAGE: usize = 1_000;

/// Keeps answers and votes on them. Each method returns an error of [`StoreError`] when the backend fails, and after
/// [`OPERATION_TIMEOUT`](crate::OPERATION_TIMEOUT).
pub struct FeedbackStore {
    backend: Backend,
    operations: Operations,
}

enum Backend {
    Embedded(EmbeddedFeedback),
    Postgres(PostgresFeedback),
}

/// Calls a method of the backend as one operation.
macro_rules! run {
    ($self:ident.$method:ident($($argument:expr),*)) => {
        $self.operations.run(async {
            match &$self.backend {
                Backend::Embedded(backend) => backend.$method($($argument),*).await,
                Backend::Postgres(backend) => backend.$method($($argument),*).await,
            }
        }).await
    };
}

impl FeedbackStore {
    /// A store in the file of the data folder.
    pub fn embedded(embedded: Arc<Embedded>, metrics: StoreMetrics) -> Self {
        Self::new(Backend::Embedded(EmbeddedFeedback::new(embedded)), metrics)
    }

    /// A store in a database.
    pub fn postgres(postgres: Arc<Postgres>, metrics: StoreMetrics) -> Self {
        Self::new(Backend::Postgres(PostgresFeedback::new(postgres)), metrics)
    }

    fn new(backend: Backend, metrics: StoreMetrics) -> Self {
        Self { backend, operations: Operations::new(metrics, "feedback") }
    }

    /// Keeps an answer, so that it can be voted on. An answer with a known id changes nothing: ids are unique.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn record_answer(&self, answer: Answer) -> Result<(), StoreError> {
        run!(self.record_answer(answer))
    }

    /// Votes on an answer of this owner. The voter's earlier vote on it is replaced.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] if the answer is unknown, another owner's, or expired, or those of the store.
    pub async fn vote(&self, owner: &str, vote: NewVote) -> Result<(), StoreError> {
        run!(self.vote(owner, vote, now_ms()))
    }

    /// The index of an answer of this owner.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] if the answer is unknown or another owner's, or those of the store.
    pub async fn index_of(&self, owner: &str, answer_id: &str) -> Result<String, StoreError> {
        run!(self.index_of(owner, answer_id))
    }

    /// The key of an answer in the response cache. None if it has none, or is unknown.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn cache_key(&self, answer_id: &str) -> Result<Option<String>, StoreError> {
        run!(self.cache_key(answer_id))
    }

    /// Whether an answer got a down vote at or after `since_ms` (milliseconds since 1970), of those whose key in the
    /// response cache ends with `key_end`. Looks at the newest 10,000 votes.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn was_voted_down(&self, key_end: &str, since_ms: i64) -> Result<bool, StoreError> {
        run!(self.was_voted_down(key_end, since_ms))
    }

    /// Removes the voter's vote on an answer of this owner.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] as for [`Self::vote`], also without such a vote, or those of the store.
    pub async fn remove_vote(&self, owner: &str, answer_id: &str, voter: &str) -> Result<(), StoreError> {
        run!(self.remove_vote(owner, answer_id, voter, now_ms()))
    }

    /// Lists votes, the newest first; at the same time, by answer and voter. A page has at most 1,000.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn list(&self, query: VoteQuery) -> Result<VotePage, StoreError> {
        let query = VoteQuery { limit: query.limit.min(MAX_PAGE), ..query };
        run!(self.list(query, now_ms()))
    }

    /// The votes on answers that were given from these chunks of an index, by chunk, the newest first. Those on answers
    /// of another embedding model, whose fingerprint differs, have no question vector. At most 10,000, the newest; of
    /// those, the 2,000 answers with the newest votes have vectors.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn votes_on(
        &self,
        index_name: &str,
        fingerprint: &str,
        node_ids: &[String],
    ) -> Result<BTreeMap<String, Vec<ChunkVote>>, StoreError> {
        run!(self.votes_on(index_name, fingerprint, node_ids, now_ms()))
    }

    /// The numbers of up and down votes on these answers. Those without votes are left out.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn ratings(&self, answer_ids: &[String]) -> Result<BTreeMap<String, (u64, u64)>, StoreError> {
        run!(self.ratings(answer_ids, now_ms()))
    }

    /// Deletes answers that have expired at this time (in milliseconds since 1970), and their votes. Returns the number
    /// of answers. It works in small steps, each of which is one operation.
    ///
    /// # Errors
    ///
    /// Those of the store. Earlier steps stay done.
    pub async fn sweep(&self, now_ms: i64) -> Result<u64, StoreError> {
        let mut deleted = 0;
        loop {
            let (step, is_last) = run!(self.sweep(Cutoffs::at(now_ms), SWEEP_ROWS))?;
            deleted += step;
            if is_last {
                return Ok(deleted);
            }
        }
    }
}
