mod queries;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use sqlx::{query, query_as};

use super::nearest::{Nearest, Question};
use super::{Interaction, MAX_OF_OWNER, Similar};
use crate::clock::representable;
use crate::expiry::Cutoffs;
use crate::postgres::{text, texts};
use crate::{Postgres, StoreError, vector};

/// Id, question, answer, provider, category, chunks, time in milliseconds since 1970.
type Row = (String, String, String, String, String, Vec<String>, i64);

/// Interactions in PostgreSQL.
pub(super) struct PostgresInteractions {
    postgres: Arc<Postgres>,
}

impl PostgresInteractions {
    pub fn new(postgres: Arc<Postgres>) -> Self {
        Self { postgres }
    }

    pub async fn keep(&self, interaction: Interaction) -> Result<(), StoreError> {
        let engine = self.postgres.engine();
        let owner = text(&interaction.owner);
        let insert = query(queries::INSERT)
            .bind(engine)
            .bind(&*owner)
            .bind(text(&interaction.id))
            .bind(text(&interaction.index_name))
            .bind(text(&interaction.fingerprint))
            .bind(vector::encode(&interaction.vector))
            .bind(text(&interaction.user_input))
            .bind(text(&interaction.ai_response))
            .bind(text(&interaction.ai_provider))
            .bind(text(&interaction.task_category))
            .bind(texts(&interaction.node_ids))
            .bind(representable(interaction.created_at_ms));
        let keep = |pool: sqlx::PgPool| async move {
            let mut transaction = pool.begin().await?;
            query(queries::LOCK_OWNER).bind(engine).bind(&*owner).execute(&mut *transaction).await?;
            insert.execute(&mut *transaction).await?;
            let max = i64::try_from(MAX_OF_OWNER).unwrap_or(i64::MAX);
            let drop_oldest = query(queries::DELETE_OLDEST).bind(engine).bind(&*owner).bind(max);
            drop_oldest.execute(&mut *transaction).await?;
            Ok(transaction.commit().await?)
        };
        self.postgres.run(keep).await
    }

    pub async fn nearest(&self, question: Question) -> Result<Vec<Similar>, StoreError> {
        let vectors = query_as::<_, (String, Vec<u8>)>(queries::VECTORS)
            .bind(self.postgres.engine())
            .bind(text(&question.owner))
            .bind(text(&question.index_name))
            .bind(text(&question.fingerprint))
            .bind(question.created_after_ms)
            .bind(question.provider.as_deref().map(text));
        let vectors = self.postgres.run(|pool| async move { Ok(vectors.fetch_all(&pool).await?) }).await?;
        if vectors.is_empty() {
            return Ok(Vec::new());
        }
        let owner = text(&question.owner).into_owned();
        let compare = move || {
            let mut nearest = Nearest::to(&question);
            for (id, vector) in vectors {
                nearest.compare(&id, &vector);
            }
            nearest.into_best()
        };
        // 1,000 vectors take milliseconds, which is too long for a thread of the runtime.
        let best = tokio::task::spawn_blocking(compare).await;
        let best = best.map_err(|_| StoreError::Unavailable("the server is shutting down".to_owned()))?;
        let ids: Vec<&String> = best.iter().map(|(id, _)| id).collect();
        let rows = query_as::<_, Row>(queries::ROWS).bind(self.postgres.engine()).bind(owner).bind(ids);
        let rows = self.postgres.run(|pool| async move { Ok(rows.fetch_all(&pool).await?) }).await?;
        let mut rows: HashMap<String, Row> = rows.into_iter().map(|row| (row.0.clone(), row)).collect();
        // A row may be gone by now.
        Ok(best
            .into_iter()
            .filter_map(|(id, similarity)| rows.remove(&id).map(|row| similar(similarity, row)))
            .collect())
    }

    pub async fn ids_of_providers(
        &self,
        owner: &str,
        providers: &[String],
        created_after_ms: i64,
    ) -> Result<BTreeMap<String, Vec<String>>, StoreError> {
        let ids = query_as::<_, (String, Vec<String>)>(queries::IDS_OF_PROVIDERS)
            .bind(self.postgres.engine())
            .bind(text(owner))
            .bind(texts(providers))
            .bind(created_after_ms);
        let rows = self.postgres.run(|pool| async move { Ok(ids.fetch_all(&pool).await?) }).await?;
        Ok(rows.into_iter().collect())
    }

    pub async fn remove_all(&self, owner: &str) -> Result<u64, StoreError> {
        let (engine, owner) = (self.postgres.engine(), text(owner));
        let remove = |pool: sqlx::PgPool| async move {
            let mut transaction = pool.begin().await?;
            query(queries::LOCK_OWNER).bind(engine).bind(&*owner).execute(&mut *transaction).await?;
            let delete = query(queries::DELETE_ALL).bind(engine).bind(&*owner);
            let deleted = delete.execute(&mut *transaction).await?.rows_affected();
            transaction.commit().await?;
            Ok(deleted)
        };
        self.postgres.run(remove).await
    }

    /// One step. Returns the number of deleted interactions, and whether nothing is left to delete.
    pub async fn sweep(&self, cutoffs: Cutoffs, limit: usize) -> Result<(u64, bool), StoreError> {
        let sweep = query(queries::SWEEP)
            .bind(self.postgres.engine())
            .bind(cutoffs.interaction_ms)
            .bind(i64::try_from(limit).unwrap_or(i64::MAX));
        let deleted = self.postgres.run(|pool| async move { Ok(sweep.execute(&pool).await?.rows_affected()) }).await?;
        Ok((deleted, deleted == 0))
    }
}

fn similar(similarity: f32, row: Row) -> Similar {
    let (id, user_input, ai_response, ai_provider, task_category, node_ids, created_at_ms) = row;
    Similar { id, similarity, user_input, ai_response, ai_provider, task_category, node_ids, created_at_ms }
}
