mod queries;

use std::sync::Arc;

use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row as _, query, query_as, query_scalar};

use super::{Joined, Lifetime, MAX_TURNS, Newest, SessionKey, TAKEN, Turn};
use crate::clock::representable;
use crate::expiry::SWEEP_ROWS;
use crate::postgres::text;
use crate::{Postgres, StoreError};

/// Turns that a step of a sweep deletes at most.
const SWEEP_TURNS: i64 = 5_000;

/// Sessions in PostgreSQL.
pub(super) struct PostgresSessions {
    postgres: Arc<Postgres>,
}

impl PostgresSessions {
    pub fn new(postgres: Arc<Postgres>) -> Self {
        Self { postgres }
    }

    pub async fn join(&self, key: &SessionKey, newest: Newest, lifetime: Lifetime) -> Result<Joined, StoreError> {
        let first_number = lifetime.first_number();
        let join = query(queries::JOIN)
            .bind(self.postgres.engine())
            .bind(text(&key.owner))
            .bind(text(&key.id))
            .bind(lifetime.now_ms)
            .bind(lifetime.expires_at_ms())
            .bind(limit(newest.turns))
            .bind(limit(newest.bytes))
            .bind(number(first_number));
        let joined = |pool: PgPool| async move {
            let rows = join.fetch_all(&pool).await?;
            let first = rows.first().ok_or(sqlx::Error::RowNotFound)?;
            let seq = first.try_get::<i64, _>("before")?.unsigned_abs();
            let has_turns = first.try_get::<Option<i64>, _>("seq")?.is_some();
            let turns = rows.iter().filter(|_| has_turns).map(turn).collect::<Result<Vec<Turn>, _>>()?;
            Ok(Joined { seq, turns, is_new: seq == first_number })
        };
        self.postgres.run(joined).await
    }

    pub async fn add(&self, key: &SessionKey, turn: Turn, lifetime: Lifetime) -> Result<bool, StoreError> {
        let (owner, id) = (text(&key.owner), text(&key.id));
        let (owner, id) = (&*owner, &*id);
        let engine = self.postgres.engine();
        let (now_ms, expires_at_ms) = (lifetime.now_ms, lifetime.expires_at_ms());
        let (seq, latest) = (number(turn.seq), number(turn.seq.saturating_add(TAKEN)));
        let add = || {
            query_as::<_, (bool, bool)>(queries::ADD)
                .bind(engine)
                .bind(owner)
                .bind(id)
                .bind(now_ms)
                .bind(expires_at_ms)
                .bind(limit(MAX_TURNS))
                .bind(seq)
                .bind(text(&turn.question))
                .bind(text(&turn.answer))
                .bind(text(&turn.sources))
                .bind(i64::try_from(turn.response_time_ms).unwrap_or(i64::MAX))
                .bind(turn.model.as_deref().map(text))
                .bind(turn.answer_id.as_deref().map(text))
                .bind(turn.complete)
                .bind(representable(turn.created_at_ms))
        };
        let work = |pool: PgPool| async move {
            let (is_kept, may_be_long) = match add().fetch_optional(&pool).await? {
                Some(added) => added,
                None => {
                    let delete = query(queries::DELETE_EXPIRED).bind(engine).bind(owner).bind(id).bind(now_ms);
                    delete.execute(&pool).await?;
                    let begin = query(queries::BEGIN).bind(engine).bind(owner).bind(id);
                    begin.bind(now_ms).bind(expires_at_ms).bind(latest).execute(&pool).await?;
                    add().fetch_one(&pool).await?
                }
            };
            if may_be_long {
                // A later statement also sees the turns that were added while the first one waited.
                let shorten = query(queries::SHORTEN).bind(engine).bind(owner).bind(id).bind(limit(MAX_TURNS));
                shorten.execute(&pool).await?;
            }
            Ok(is_kept)
        };
        self.postgres.run(work).await
    }

    pub async fn history(&self, key: &SessionKey, newest: Newest, now_ms: i64) -> Result<Vec<Turn>, StoreError> {
        let history = query(queries::HISTORY)
            .bind(self.postgres.engine())
            .bind(text(&key.owner))
            .bind(text(&key.id))
            .bind(now_ms)
            .bind(limit(newest.turns))
            .bind(limit(newest.bytes));
        let read = |pool: PgPool| async move {
            let rows = history.fetch_all(&pool).await?;
            Ok(rows.iter().map(turn).collect::<Result<Vec<Turn>, _>>()?)
        };
        self.postgres.run(read).await
    }

    pub async fn clear(&self, key: &SessionKey, lifetime: Lifetime) -> Result<(), StoreError> {
        let (owner, id) = (text(&key.owner), text(&key.id));
        let (owner, id) = (&*owner, &*id);
        let engine = self.postgres.engine();
        let clear = query_scalar::<_, i64>(queries::CLEAR)
            .bind(engine)
            .bind(owner)
            .bind(id)
            .bind(lifetime.now_ms)
            .bind(lifetime.expires_at_ms());
        let work = |pool: PgPool| async move {
            if let Some(cleared) = clear.fetch_optional(&pool).await? {
                // A later statement also sees a turn that was added while the first one waited.
                let delete = query(queries::DELETE_TURNS).bind(engine).bind(owner).bind(id).bind(cleared);
                delete.execute(&pool).await?;
            }
            Ok(())
        };
        self.postgres.run(work).await
    }

    /// One step. Returns the number of deleted sessions, and whether nothing is left to delete.
    pub async fn sweep(&self, now_ms: i64) -> Result<(u64, bool), StoreError> {
        let sweep = query_as::<_, (i64, i64)>(queries::SWEEP)
            .bind(self.postgres.engine())
            .bind(representable(now_ms))
            .bind(limit(SWEEP_ROWS))
            .bind(SWEEP_TURNS);
        let deleted = self.postgres.run(|pool| async move { Ok(sweep.fetch_one(&pool).await?) }).await?;
        Ok((deleted.1.unsigned_abs(), deleted == (0, 0)))
    }
}

fn limit(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The turn of a row.
fn turn(row: &PgRow) -> Result<Turn, sqlx::Error> {
    let number = |name| row.try_get::<i64, _>(name);
    Ok(Turn {
        seq: number("seq")?.unsigned_abs(),
        question: row.try_get("question")?,
        answer: row.try_get("answer")?,
        sources: row.try_get("sources")?,
        response_time_ms: number("response_time_ms")?.unsigned_abs(),
        model: row.try_get("model")?,
        answer_id: row.try_get("answer_id")?,
        complete: row.try_get("complete")?,
        created_at_ms: number("created_at_ms")?,
    })
}
