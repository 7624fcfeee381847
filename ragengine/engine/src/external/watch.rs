//! What a server does beside requests: it looks at the sizes of indexes, and one of the servers deletes what others
//! left.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use jiff::Timestamp;
use ragengine_errors::Logged as _;
use ragengine_index::IndexError;
use ragengine_index::sources::{Moment, Syncs};
use ragengine_stores::{CatalogueIndex, Swept};
use ragengine_vector_database::{VectorDatabaseError, WithoutDocuments};
use tracing::{info, warn};

use super::fault::{of_catalogue, of_engine};
use super::index::Seen;
use super::sources::shared;
use super::{ExternalCatalog, ExternalIndex};

/// How old sizes become.
const REFRESH: Duration = Duration::from_secs(10);

/// How often one of the servers looks for leftovers.
const SWEEP: Duration = Duration::from_secs(3600);

/// How often leftovers of the same index are looked for: all of its chunks are read.
const SWEEP_INDEX: Duration = Duration::from_secs(24 * 3600);

/// No write lasts longer: time limits end at a day.
const LONGEST_WRITE: Duration = Duration::from_secs(25 * 3600);

/// What an index without documents has is kept for this time: if its documents were lost, and not deleted, they can be
/// restored.
const KEPT_WITHOUT_DOCUMENTS: Duration = Duration::from_secs(7 * 24 * 3600);

/// Indexes that are looked at together.
const AT_ONCE: usize = 4;

/// Looks at all indexes again and again.
pub async fn refresh(catalog: Arc<ExternalCatalog>) {
    loop {
        tokio::time::sleep(REFRESH).await;
        let problems = match catalog.refresh().await {
            Ok(problems) => problems,
            Err(error) => {
                if catalog.problems.read().is_empty() {
                    warn!(kind = error.kind(), reason = error.for_log(), "the list of indexes cannot be read");
                }
                vec![format!("the list of indexes: {error}")]
            }
        };
        *catalog.problems.write() = problems;
    }
}

/// Deletes what stopped writers left, and completes deletions, once an hour in one of the servers.
pub async fn sweep(catalog: Arc<ExternalCatalog>) {
    loop {
        tokio::time::sleep(SWEEP.mul_f64(0.9)).await;
        if let Err(error) = catalog.sweep().await {
            warn!(kind = error.kind(), reason = error.for_log(), "leftovers in the vector engine are kept until later");
        }
    }
}

impl ExternalCatalog {
    /// Reads which indexes there are, their sizes and their sources. Returns what is wrong with single ones.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub(super) async fn refresh(&self) -> Result<Vec<String>, IndexError> {
        let catalogue = &self.options.catalogue;
        let rows = catalogue.all().await.map_err(of_catalogue)?;
        let now = Moment::now();
        let mut syncs: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for (name, row) in catalogue.all_syncs().await.map_err(of_catalogue)? {
            let source = row.source.clone();
            syncs.entry(name).or_default().extend(shared(&row).map(|sync| (source, sync)));
        }
        self.known.write().retain(|_, index| rows.iter().any(|row| index.is_of(row)));
        let look = |row: CatalogueIndex| async {
            let name = row.name.clone();
            let index = self.opened(row).await.map_err(|error| (name.clone(), error))?;
            let size = index.size().await.map_err(|error| (name, error))?;
            Ok((index, size))
        };
        let looked: Vec<Result<_, (String, IndexError)>> =
            stream::iter(rows).map(look).buffer_unordered(AT_ONCE).collect().await;
        let mut problems = Vec::new();
        for looked in looked {
            match looked {
                Ok((index, size)) => {
                    let syncs = Syncs::shared(syncs.remove(index.name()).unwrap_or_default(), &now);
                    *index.seen.write() = Seen { size, syncs };
                }
                // Deleted since the list was read.
                Err((_, IndexError::NoSuchIndex(_))) => {}
                Err((name, error)) => problems.push(format!("index '{name}': {error}")),
            }
        }
        Ok(problems)
    }

    async fn sweep(&self) -> Result<(), IndexError> {
        let (holder, now_ms) = (self.holder.to_string(), Timestamp::now().as_millisecond());
        let for_ms = i64::try_from(SWEEP.as_millis()).unwrap_or(i64::MAX);
        let catalogue = &self.options.catalogue;
        if !catalogue.take_turn("sweep", &holder, for_ms, now_ms).await.map_err(of_catalogue)? {
            return Ok(());
        }
        for row in catalogue.being_deleted().await.map_err(of_catalogue)? {
            self.finish_deletion_or_leave(&row).await;
        }
        for index in self.seen() {
            if let Err(error) = self.sweep_index(&index).await {
                let (kind, reason) = (error.kind(), error.for_log());
                warn!(index = index.name(), kind, reason, "leftovers of stopped writers are kept until later");
            }
        }
        Ok(())
    }

    /// Deletes what stopped writers left in an index, unless a server did lately.
    async fn sweep_index(&self, index: &ExternalIndex) -> Result<(), IndexError> {
        let (catalogue, number) = (&self.options.catalogue, index.number);
        let Some(sweep) = catalogue.begin_sweep(number, SWEEP_INDEX).await.map_err(of_catalogue)? else {
            return Ok(());
        };
        let swept = index.engine.sweep(LONGEST_WRITE, what_to_do(sweep.without_documents_for)).await;
        let ended = match swept {
            Ok(_) => Swept::Whole,
            Err(VectorDatabaseError::Unowned(_)) => Swept::WithoutDocuments,
            Err(_) => Swept::Failed,
        };
        let noted = catalogue.end_sweep(number, ended).await.map_err(of_catalogue);
        let objects = swept.map_err(of_engine)?;
        if objects > 0 {
            info!(index = index.name(), objects, "leftovers of stopped writers deleted");
        }
        noted
    }
}

/// What a sweep does with an index that was first found without documents this time ago.
fn what_to_do(found_ago: Option<Duration>) -> WithoutDocuments {
    match found_ago {
        Some(ago) if ago >= KEPT_WITHOUT_DOCUMENTS => WithoutDocuments::Delete,
        _ => WithoutDocuments::Keep,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_without_documents_is_swept_after_a_week() {
        let days = |days: u64| Some(Duration::from_secs(days * 24 * 3600));
        for (found_ago, expected) in [
            (None, WithoutDocuments::Keep),
            (days(0), WithoutDocuments::Keep),
            (days(6), WithoutDocuments::Keep),
            (days(7), WithoutDocuments::Delete),
        ] {
            assert_eq!(what_to_do(found_ago), expected, "{found_ago:?}");
        }
    }
}
