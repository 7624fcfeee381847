use sqlx::{PgPool, query, query_as, query_scalar};

use super::indexes::{Row, index};
use super::{CatalogueIndex, IndexCatalogue, NewIndex, Published, queries};
use crate::StoreError;
use crate::postgres::text;

impl IndexCatalogue {
    /// Begins an index from a copy. It is not shown before it is published, also if there is one of its name.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn stage(&self, new: NewIndex) -> Result<CatalogueIndex, StoreError> {
        let stage = query_as::<_, Row>(queries::STAGE)
            .bind(self.postgres.engine())
            .bind(text(&new.name))
            .bind(text(&new.store_id))
            .bind(text(&new.record))
            .bind(new.embedding.as_deref().map(text));
        self.run(|pool| async move { Ok(index(stage.fetch_one(&pool).await?)) }).await
    }

    /// A staged index is not wanted: it is being deleted from now on. Returns whether it is: not if it was published,
    /// perhaps by a call whose reply was lost, or is gone.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn abandon(&self, number: i64) -> Result<bool, StoreError> {
        Ok(self.change(queries::ABANDON, number).await? > 0)
    }

    /// The names of staged indexes that are there already.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn there(&self, numbers: &[i64]) -> Result<Vec<String>, StoreError> {
        let there = query_scalar::<_, String>(queries::THERE).bind(self.postgres.engine()).bind(numbers);
        self.run(|pool| async move { Ok(there.fetch_all(&pool).await?) }).await
    }

    /// Shows staged indexes, all at once or none. With `replaces`, those of the same names are being deleted from then
    /// on.
    ///
    /// # Errors
    ///
    /// Those of the store, and [`StoreError::NotFound`] if one is not staged any more. They may have been published
    /// after a timeout.
    pub async fn publish(&self, numbers: &[i64], replaces: bool, max_indexes: u32) -> Result<Published, StoreError> {
        let engine = self.postgres.engine();
        let there = query_scalar::<_, String>(queries::THERE).bind(engine).bind(numbers);
        let count = query_scalar::<_, i64>(queries::COUNT).bind(engine);
        let replace = query_as::<_, Row>(queries::REPLACE).bind(engine).bind(numbers);
        let publish = query(queries::PUBLISH).bind(engine).bind(numbers);
        let work = |pool: PgPool| async move {
            let mut transaction = pool.begin().await?;
            query(queries::LOCK).bind(engine).execute(&mut *transaction).await?;
            let there = there.fetch_all(&mut *transaction).await?;
            if !there.is_empty() && !replaces {
                return Ok(Published::Exists(there));
            }
            let after = count.fetch_one(&mut *transaction).await? + numbers.len() as i64 - there.len() as i64;
            if after > i64::from(max_indexes) {
                return Ok(Published::TooMany);
            }
            let replaced = replace.fetch_all(&mut *transaction).await?;
            if publish.execute(&mut *transaction).await?.rows_affected() != numbers.len() as u64 {
                return Err(StoreError::NotFound.into());
            }
            transaction.commit().await?;
            Ok(Published::Done(replaced.into_iter().map(index).collect()))
        };
        self.run(work).await
    }
}
