use sqlx::{PgPool, query, query_as, query_scalar};

use super::{Begun, CatalogueIndex, IndexCatalogue, NewIndex, queries};
use crate::StoreError;
use crate::postgres::text;

/// The columns of an index, whether it is being changed, and whether it is ready.
pub(super) type Row = (String, i64, String, String, Option<String>, i64, Option<bool>, bool);

impl IndexCatalogue {
    /// The indexes that are ready, by name.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn all(&self) -> Result<Vec<CatalogueIndex>, StoreError> {
        self.list(queries::READY).await
    }

    /// The indexes that are being deleted, also those from copies that were abandoned a week ago. Whoever finds one after its deletion was interrupted completes it.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn being_deleted(&self) -> Result<Vec<CatalogueIndex>, StoreError> {
        let abandon = query(queries::ABANDON_OLD).bind(self.postgres.engine());
        self.run(|pool| async move { Ok(abandon.execute(&pool).await.map(drop)?) }).await?;
        self.list(queries::BEING_DELETED).await
    }

    /// The index of this name, if it is ready.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn get(&self, name: &str) -> Result<Option<CatalogueIndex>, StoreError> {
        let find = query_as::<_, Row>(queries::FIND).bind(self.postgres.engine()).bind(text(name));
        let found = self.run(|pool| async move { Ok(find.fetch_optional(&pool).await?) }).await?;
        Ok(found.filter(is_ready).map(index))
    }

    /// Begins an index, unless there is one of its name or as many as allowed. Those that are being deleted do not
    /// count. Of servers that begin an index of the same name at the same time, all get the same one.
    ///
    /// # Errors
    ///
    /// Those of the store. The index may have been begun nevertheless.
    pub async fn begin(&self, new: NewIndex, max_indexes: u32) -> Result<Begun, StoreError> {
        let (engine, name) = (self.postgres.engine(), text(&new.name));
        let name = &*name;
        let find = query_as::<_, Row>(queries::FIND).bind(engine).bind(name);
        let insert = query_as::<_, Row>(queries::INSERT)
            .bind(engine)
            .bind(name)
            .bind(text(&new.store_id))
            .bind(text(&new.record))
            .bind(new.embedding.as_deref().map(text))
            .bind(i64::from(max_indexes));
        let begin = |pool: PgPool| async move {
            let mut transaction = pool.begin().await?;
            query(queries::LOCK).bind(engine).execute(&mut *transaction).await?;
            let row = match find.fetch_optional(&mut *transaction).await? {
                Some(row) => Some(row),
                None => insert.fetch_optional(&mut *transaction).await?,
            };
            transaction.commit().await?;
            Ok(match row {
                Some(row) if is_ready(&row) => Begun::There(index(row)),
                Some(row) => Begun::Made(index(row)),
                None => Begun::TooMany,
            })
        };
        self.run(begin).await
    }

    /// The index of this number was made: it is ready from now on. Returns whether it is: not if it is gone or being
    /// deleted.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn finish(&self, number: i64) -> Result<bool, StoreError> {
        Ok(self.change(queries::FINISH, number).await? > 0)
    }

    /// Begins to delete the index of this name, also one that is being made, and returns it. From now on it is not
    /// shown, and another one of its name may be made.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn begin_deletion(&self, name: &str) -> Result<Option<CatalogueIndex>, StoreError> {
        let begin = query_as::<_, Row>(queries::BEGIN_DELETION).bind(self.postgres.engine()).bind(text(name));
        let begun = self.run(|pool| async move { Ok(begin.fetch_optional(&pool).await?) }).await?;
        Ok(begun.map(index))
    }

    /// Whether the index of this number is there, ready or not, and is not being deleted.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn is_kept(&self, number: i64) -> Result<bool, StoreError> {
        let kept = query_scalar::<_, bool>(queries::IS_KEPT).bind(self.postgres.engine()).bind(number);
        self.run(|pool| async move { Ok(kept.fetch_one(&pool).await?) }).await
    }

    /// The index of this number, which is being deleted, is gone: so are its row and those of its sources. Does nothing
    /// to an index that is not being deleted.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn finish_deletion(&self, number: i64) -> Result<(), StoreError> {
        self.change(queries::FINISH_DELETION, number).await.map(drop)
    }

    /// A change of the index begins. Returns whether the index is there and not being deleted. The counter of changes is
    /// raised, and until [`Self::end_change`] the index is one that is being changed, for an hour at most.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn begin_change(&self, number: i64) -> Result<bool, StoreError> {
        Ok(self.change(queries::BEGIN_CHANGE, number).await? > 0)
    }

    /// A change of the index has ended. Returns whether the index is there and not being deleted. The counter of changes
    /// is raised.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn end_change(&self, number: i64) -> Result<bool, StoreError> {
        Ok(self.change(queries::END_CHANGE, number).await? > 0)
    }

    async fn list(&self, statement: &'static str) -> Result<Vec<CatalogueIndex>, StoreError> {
        let list = query_as::<_, Row>(statement).bind(self.postgres.engine());
        let rows = self.run(|pool| async move { Ok(list.fetch_all(&pool).await?) }).await?;
        Ok(rows.into_iter().map(index).collect())
    }

    /// Returns the number of changed indexes.
    pub(super) async fn change(&self, statement: &'static str, number: i64) -> Result<u64, StoreError> {
        let change = query(statement).bind(self.postgres.engine()).bind(number);
        self.run(|pool| async move { Ok(change.execute(&pool).await?.rows_affected()) }).await
    }
}

fn is_ready(row: &Row) -> bool {
    row.7
}

pub(super) fn index((name, number, store_id, record, embedding, changes, is_changing, _): Row) -> CatalogueIndex {
    CatalogueIndex { name, number, store_id, record, embedding, changes, is_changing: is_changing.unwrap_or(false) }
}
