use sqlx::{PgPool, query, query_as};

use super::{IndexCatalogue, SourceSyncRow, queries};
use crate::StoreError;
use crate::clock::representable;
use crate::postgres::text;

impl IndexCatalogue {
    /// The sources of the index of this number, by name.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn syncs(&self, number: i64) -> Result<Vec<SourceSyncRow>, StoreError> {
        let syncs = query_as::<_, (String, String, i64, Option<i64>)>(queries::SYNCS);
        let syncs = syncs.bind(self.postgres.engine()).bind(number);
        let rows = self.run(|pool| async move { Ok(syncs.fetch_all(&pool).await?) }).await?;
        Ok(rows.into_iter().map(|(source, sync, began, leased_until)| row(source, sync, began, leased_until)).collect())
    }

    /// The sources of all indexes that are ready, by the names of the indexes, which come first, and of the sources.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn all_syncs(&self) -> Result<Vec<(String, SourceSyncRow)>, StoreError> {
        let syncs = query_as::<_, (String, String, String, i64, Option<i64>)>(queries::ALL_SYNCS);
        let syncs = syncs.bind(self.postgres.engine());
        let rows = self.run(|pool| async move { Ok(syncs.fetch_all(&pool).await?) }).await?;
        let named = |(name, source, sync, began, leased_until)| (name, row(source, sync, began, leased_until));
        Ok(rows.into_iter().map(named).collect())
    }

    /// Replaces the row of a source of the index of this number by what `update` makes of it, and returns that. None is
    /// a source that has no row yet. If `update` refuses, nothing changes, and its error is returned.
    ///
    /// The row is locked meanwhile, also one that is missing: of several servers that update a source at the same time,
    /// each gets the row that the one before has left. So `update` should return soon. The name that it returns is not
    /// used.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] if the index is gone or being deleted, and those of the store. After an error of the
    /// store, the change may have been made nevertheless.
    pub async fn update_sync<E>(
        &self,
        number: i64,
        source: &str,
        update: impl FnOnce(Option<SourceSyncRow>) -> Result<SourceSyncRow, E> + Send,
    ) -> Result<Result<SourceSyncRow, E>, StoreError> {
        let (engine, source) = (self.postgres.engine(), text(source));
        let source = &*source;
        let lock = query_as::<_, (Option<String>, i64, Option<i64>)>(queries::LOCK_SYNC);
        let lock = lock.bind(engine).bind(number).bind(source);
        let work = |pool: PgPool| async move {
            let mut transaction = pool.begin().await?;
            let locked = lock.fetch_optional(&mut *transaction).await?;
            let Some((sync, began, leased_until)) = locked else {
                transaction.rollback().await?;
                return Err(StoreError::NotFound.into());
            };
            let found = sync.map(|sync| row(source.to_owned(), sync, began, leased_until));
            let updated = match update(found) {
                Ok(updated) => updated,
                Err(refused) => {
                    transaction.rollback().await?;
                    return Ok(Err(refused));
                }
            };
            let (began, leased_until) = (representable(updated.began_ms), updated.leased_until_ms.map(representable));
            let stored = row(source.to_owned(), text(&updated.sync).into_owned(), began, leased_until);
            let store = query(queries::STORE_SYNC).bind(engine).bind(number).bind(source);
            let store = store.bind(&stored.sync).bind(stored.began_ms).bind(stored.leased_until_ms);
            store.execute(&mut *transaction).await?;
            transaction.commit().await?;
            Ok(Ok(stored))
        };
        self.run(work).await
    }

    /// Deletes the row of a source of the index of this number.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn forget_sync(&self, number: i64, source: &str) -> Result<(), StoreError> {
        let forget = query(queries::FORGET_SYNC).bind(self.postgres.engine()).bind(number).bind(text(source));
        self.run(|pool| async move { Ok(forget.execute(&pool).await.map(drop)?) }).await
    }
}

fn row(source: String, sync: String, began_ms: i64, leased_until_ms: Option<i64>) -> SourceSyncRow {
    SourceSyncRow { source, sync, began_ms, leased_until_ms }
}
