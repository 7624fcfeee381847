mod queries;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use sqlx::{query, query_as, query_scalar};

use super::collect::{Found, answers_with_vectors, by_chunk};
use super::{Answer, ChunkVote, ListedVote, MAX_UNVOTED, MAX_VOTES, NewVote, Rating, VotePage, VoteQuery};
use crate::clock::representable;
use crate::expiry::Cutoffs;
use crate::postgres::{text, texts};
use crate::{Postgres, StoreError, vector};

/// Answers and votes in PostgreSQL.
pub(super) struct PostgresFeedback {
    postgres: Arc<Postgres>,
}

impl PostgresFeedback {
    pub fn new(postgres: Arc<Postgres>) -> Self {
        Self { postgres }
    }

    pub async fn record_answer(&self, answer: Answer) -> Result<(), StoreError> {
        let insert = query(queries::INSERT_ANSWER)
            .bind(self.postgres.engine())
            .bind(text(&answer.id))
            .bind(text(&answer.owner))
            .bind(text(&answer.index_name))
            .bind(text(&answer.question))
            .bind(text(&answer.fingerprint))
            .bind(vector::encode(&answer.vector))
            .bind(texts(&answer.node_ids))
            .bind(answer.cache_key.as_deref().map(text))
            .bind(representable(answer.created_at_ms));
        self.postgres.run(|pool| async move { Ok(insert.execute(&pool).await.map(drop)?) }).await
    }

    pub async fn vote(&self, owner: &str, vote: NewVote, now_ms: i64) -> Result<(), StoreError> {
        let cutoffs = Cutoffs::at(now_ms);
        let vote = query_scalar::<_, i64>(queries::VOTE)
            .bind(self.postgres.engine())
            .bind(text(&vote.answer_id))
            .bind(text(owner))
            .bind(cutoffs.answer_ms)
            .bind(cutoffs.vote_ms)
            .bind(text(&vote.voter))
            .bind(vote.rating.as_str())
            .bind(vote.comment.as_deref().map(text))
            .bind(representable(vote.voted_at_ms));
        let voted = self.postgres.run(|pool| async move { Ok(vote.fetch_one(&pool).await?) }).await?;
        if voted == 0 { Err(StoreError::NotFound) } else { Ok(()) }
    }

    pub async fn index_of(&self, owner: &str, answer_id: &str) -> Result<String, StoreError> {
        let index = query_scalar::<_, String>(queries::INDEX_OF)
            .bind(self.postgres.engine())
            .bind(text(answer_id))
            .bind(text(owner));
        let found = self.postgres.run(|pool| async move { Ok(index.fetch_optional(&pool).await?) }).await?;
        found.ok_or(StoreError::NotFound)
    }

    pub async fn cache_key(&self, answer_id: &str) -> Result<Option<String>, StoreError> {
        let key =
            query_scalar::<_, Option<String>>(queries::CACHE_KEY).bind(self.postgres.engine()).bind(text(answer_id));
        let found = self.postgres.run(|pool| async move { Ok(key.fetch_optional(&pool).await?) }).await?;
        Ok(found.flatten())
    }

    pub async fn was_voted_down(&self, key_end: &str, since_ms: i64) -> Result<bool, StoreError> {
        let voted = query_scalar::<_, bool>(queries::WAS_VOTED_DOWN)
            .bind(self.postgres.engine())
            .bind(representable(since_ms))
            .bind(i64::try_from(MAX_VOTES).unwrap_or(i64::MAX))
            .bind(text(key_end));
        self.postgres.run(|pool| async move { Ok(voted.fetch_one(&pool).await?) }).await
    }

    pub async fn remove_vote(&self, owner: &str, answer_id: &str, voter: &str, now_ms: i64) -> Result<(), StoreError> {
        let (cutoffs, engine, answer_id) = (Cutoffs::at(now_ms), self.postgres.engine(), text(answer_id));
        let remove = |pool: sqlx::PgPool| async move {
            let mut transaction = pool.begin().await?;
            let lock = query(queries::LOCK_ANSWER)
                .bind(engine)
                .bind(&*answer_id)
                .bind(text(owner))
                .bind(cutoffs.answer_ms)
                .bind(cutoffs.vote_ms);
            if lock.fetch_optional(&mut *transaction).await?.is_none() {
                return Err(StoreError::NotFound.into());
            }
            let delete = query(queries::DELETE_VOTE).bind(engine).bind(&*answer_id).bind(text(voter));
            if delete.execute(&mut *transaction).await?.rows_affected() == 0 {
                return Err(StoreError::NotFound.into());
            }
            let forget = query(queries::FORGET_CHUNKS_WITHOUT_VOTES).bind(engine).bind(&*answer_id);
            forget.execute(&mut *transaction).await?;
            Ok(transaction.commit().await?)
        };
        self.postgres.run(remove).await
    }

    pub async fn list(&self, list: VoteQuery, now_ms: i64) -> Result<VotePage, StoreError> {
        let (engine, voted_after) = (self.postgres.engine(), Cutoffs::at(now_ms).vote_ms);
        let (index_name, voter) = (list.index_name.as_deref().map(text), list.voter.as_deref().map(text));
        let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let read = |pool: sqlx::PgPool| async move {
            let count = query_scalar::<_, i64>(queries::COUNT_VOTES);
            let count = count.bind(engine).bind(index_name.as_deref()).bind(voter.as_deref()).bind(voted_after);
            let total = count.fetch_one(&pool).await?.unsigned_abs();
            let page = query_as::<_, (String, bool, String, Option<String>, i64, String)>(queries::LIST_VOTES)
                .bind(engine)
                .bind(index_name.as_deref())
                .bind(voter.as_deref())
                .bind(voted_after)
                .bind(number(list.limit))
                .bind(number(list.offset));
            Ok((total, page.fetch_all(&pool).await?))
        };
        let (total, rows) = self.postgres.run(read).await?;
        let votes = rows.into_iter().map(|(answer_id, is_up, voter, comment, created_at_ms, index_name)| ListedVote {
            answer_id,
            rating: Rating::of(is_up),
            voter,
            comment,
            created_at_ms,
            index_name,
        });
        Ok(VotePage { votes: votes.collect(), total })
    }

    pub async fn votes_on(
        &self,
        index_name: &str,
        fingerprint: &str,
        node_ids: &[String],
        now_ms: i64,
    ) -> Result<BTreeMap<String, Vec<ChunkVote>>, StoreError> {
        let (engine, voted_after) = (self.postgres.engine(), Cutoffs::at(now_ms).vote_ms);
        let read = |pool: sqlx::PgPool| async move {
            let votes = query_as::<_, (String, String, String, bool, i64)>(queries::VOTES_ON)
                .bind(engine)
                .bind(text(index_name))
                .bind(texts(node_ids))
                .bind(voted_after)
                .bind(i64::try_from(MAX_VOTES).unwrap_or(i64::MAX));
            let found: Vec<_> = votes.fetch_all(&pool).await?.into_iter().map(found).collect();
            if found.is_empty() {
                return Ok((found, Vec::new()));
            }
            let vectors = query_as::<_, (String, Vec<u8>)>(queries::VECTORS)
                .bind(engine)
                .bind(answers_with_vectors(&found))
                .bind(text(fingerprint));
            Ok((found, vectors.fetch_all(&pool).await?))
        };
        let (found, vectors) = self.postgres.run(read).await?;
        let vectors: HashMap<_, Arc<[f32]>> =
            vectors.into_iter().map(|(id, bytes)| (id, vector::decode(&bytes))).collect();
        Ok(by_chunk(found, &vectors))
    }

    pub async fn ratings(
        &self,
        answer_ids: &[String],
        now_ms: i64,
    ) -> Result<BTreeMap<String, (u64, u64)>, StoreError> {
        let ratings = query_as::<_, (String, i64, i64)>(queries::RATINGS)
            .bind(self.postgres.engine())
            .bind(texts(answer_ids))
            .bind(Cutoffs::at(now_ms).vote_ms);
        let rows = self.postgres.run(|pool| async move { Ok(ratings.fetch_all(&pool).await?) }).await?;
        Ok(rows.into_iter().map(|(id, ups, downs)| (id, (ups.unsigned_abs(), downs.unsigned_abs()))).collect())
    }

    /// One step. Returns the number of deleted answers, and whether nothing is left to delete.
    pub async fn sweep(&self, cutoffs: Cutoffs, limit: usize) -> Result<(u64, bool), StoreError> {
        let sweep = query(queries::SWEEP)
            .bind(self.postgres.engine())
            .bind(cutoffs.answer_ms)
            .bind(cutoffs.vote_ms)
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .bind(MAX_UNVOTED.cast_signed());
        let deleted = self.postgres.run(|pool| async move { Ok(sweep.execute(&pool).await?.rows_affected()) }).await?;
        Ok((deleted, deleted == 0))
    }
}

fn found((node_id, answer_id, voter, is_up, voted_at_ms): (String, String, String, bool, i64)) -> Found {
    Found { voted_at_ms: Reverse(voted_at_ms), answer_id, voter, node_id, is_up }
}
