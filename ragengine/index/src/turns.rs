//! Limits how many writers wait for the disk. Each needs a thread of a bounded pool, which searches use, too.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{Index, IndexError};
use ragengine_compute::blocking;

/// The most writers of one index that wait for the disk with a thread; others wait without one. It matches the most
/// changes in one transaction.
const OF_ONE_INDEX: usize = 64;

/// The most such writers of all indexes: half of the threads in the pool.
static OF_ALL: Semaphore = Semaphore::const_new(256);

/// The semaphore of a new index.
pub(super) fn of_one_index() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(OF_ONE_INDEX))
}

impl Index {
    /// Runs work that writes, on a blocking thread. A caller that is dropped before it starts leaves the queue. Once
    /// started, the work keeps its permit until it ends.
    ///
    /// # Errors
    ///
    /// The error of the work.
    pub async fn in_turn<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Self>) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, IndexError> {
        let turn = Arc::clone(&self.writes.turns).acquire_owned().await.map_err(|_| IndexError::ShuttingDown)?;
        let of_all = OF_ALL.acquire().await.map_err(|_| IndexError::ShuttingDown)?;
        let index = Arc::clone(self);
        blocking::run(move || {
            let _turns = (turn, of_all);
            work(&index)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::SearchSettings;
    use crate::record::IndexRecord;

    #[tokio::test]
    async fn a_permit_is_held_until_the_work_ends_even_without_its_caller() {
        let folder = tempfile::tempdir().unwrap();
        let metrics = crate::metrics::IndexMetrics::unread();
        let search = SearchSettings {
            exact_below_rows: 10_000,
            ef_search: 64,
            n_probe: None,
            language: ragengine_settings::TextLanguage::English,
        };
        let record = IndexRecord::of_two_dimensions();
        let index = Index::create("i", &folder.path().join("i"), record, search, &metrics).unwrap();
        let (begins, begun) = mpsc::channel();
        let (go_on, waits) = mpsc::channel::<()>();
        let writer = Arc::clone(&index);
        let caller = tokio::spawn(async move {
            let work = move |_: &Arc<Index>| {
                begins.send(()).unwrap();
                assert!(waits.recv().is_err(), "until the sender is dropped");
                Ok(())
            };
            writer.in_turn(work).await
        });
        tokio::task::spawn_blocking(move || begun.recv().unwrap()).await.unwrap();
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
        assert_eq!(index.writes.turns.available_permits(), OF_ONE_INDEX - 1);
        drop(go_on);
        let all = u32::try_from(OF_ONE_INDEX).unwrap();
        drop(index.writes.turns.acquire_many(all).await.unwrap());
    }
}
