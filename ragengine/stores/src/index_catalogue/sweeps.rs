use std::time::Duration;

use sqlx::{query, query_scalar};

use super::{IndexCatalogue, Sweep, Swept, queries};
use crate::StoreError;

impl IndexCatalogue {
    /// Begins to look for what stopped writers left in the index of this number, unless a server did within `every`.
    /// The time is that of the database.
    ///
    /// # Errors
    ///
    /// Those of the store. The sweep may have been begun nevertheless.
    pub async fn begin_sweep(&self, number: i64, every: Duration) -> Result<Option<Sweep>, StoreError> {
        let begin = query_scalar::<_, Option<i64>>(queries::BEGIN_SWEEP)
            .bind(self.postgres.engine())
            .bind(number)
            .bind(i64::try_from(every.as_millis()).unwrap_or(i64::MAX));
        let begun = self.run(|pool| async move { Ok(begin.fetch_optional(&pool).await?) }).await?;
        let duration = |ms: i64| Duration::from_millis(u64::try_from(ms).unwrap_or_default());
        Ok(begun.map(|without_documents_ms| Sweep { without_documents_for: without_documents_ms.map(duration) }))
    }

    /// Ends a sweep that [`Self::begin_sweep`] began.
    ///
    /// # Errors
    ///
    /// Those of the store. The next sweep then comes after the usual time.
    pub async fn end_sweep(&self, number: i64, swept: Swept) -> Result<(), StoreError> {
        let statement = match swept {
            Swept::Whole => queries::END_SWEEP,
            Swept::WithoutDocuments => queries::END_SWEEP_WITHOUT_DOCUMENTS,
            Swept::Failed => queries::REPEAT_SWEEP,
        };
        let end = query(statement).bind(self.postgres.engine()).bind(number);
        self.run(|pool| async move { Ok(end.execute(&pool).await.map(drop)?) }).await
    }
}
