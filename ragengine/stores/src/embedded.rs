//! The file `state.redb` in the data folder: the tables of one server.
//!
//! Every change is one durable transaction. Commits save the allocator's state ("quick repair"), so opening after a
//! SIGKILL does not scan the file. Rows begin with a byte for their version ([`row`]).

mod file;
pub(crate) mod row;
mod tables;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::{Database, ReadTransaction, ReadableDatabase as _, WriteTransaction};
use tokio::sync::Semaphore;

use self::file::DatabaseFile;
use crate::StoreError;

/// The name of the file.
const FILE: &str = "state.redb";

/// Readers at the same time. Each occupies a thread.
const READERS: usize = 8;

/// The file, open in this process only. Its operations run in tokio's threads for blocking work.
pub struct Embedded {
    file: DatabaseFile,
    readers: Arc<Semaphore>,
    writers: Arc<Semaphore>,
    /// The disk refused an operation. redb does nothing until the file is reopened.
    has_failed: AtomicBool,
}

impl Embedded {
    /// Opens the file in this folder, creating it if necessary. This blocks. Nothing is deleted in any case.
    ///
    /// # Errors
    ///
    /// [`StoreError::DamagedFile`], [`StoreError::InUse`], [`StoreError::NewerSchema`], or an error of the disk.
    pub fn open(folder: &Path) -> Result<Arc<Self>, StoreError> {
        let file = DatabaseFile::open(&folder.join(FILE), tables::prepare)?;
        let (readers, writers) = (Arc::new(Semaphore::new(READERS)), Arc::new(Semaphore::new(1)));
        Ok(Arc::new(Self { file, readers, writers, has_failed: AtomicBool::new(false) }))
    }

    /// Reads one state of the tables.
    ///
    /// # Errors
    ///
    /// Those of `read`, or an error of the disk.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&ReadTransaction) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let work = move |database: &Database| read(&database.begin_read().map_err(redb::Error::from)?);
        self.run(&self.readers, work).await
    }

    /// Changes the tables in one transaction. When this returns, it is durable.
    ///
    /// # Errors
    ///
    /// Those of `change`, or an error of the disk. Nothing is changed then.
    pub(crate) async fn write<T: Send + 'static>(
        self: &Arc<Self>,
        change: impl FnOnce(&WriteTransaction) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let work = move |database: &Database| {
            let mut transaction = database.begin_write().map_err(redb::Error::from)?;
            transaction.set_quick_repair(true);
            let result = change(&transaction)?;
            transaction.commit().map_err(redb::Error::from)?;
            Ok(result)
        };
        self.run(&self.writers, work).await
    }

    /// Waits for a turn in the runtime, so that only a few threads are occupied, and not any longer than the caller.
    async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        turns: &Arc<Semaphore>,
        work: impl FnOnce(&Database) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let closed = |_| StoreError::Unavailable("the server is shutting down".to_owned());
        let turn = Arc::clone(turns).acquire_owned().await.map_err(closed)?;
        let embedded = Arc::clone(self);
        let blocking = tokio::task::spawn_blocking(move || {
            let result = embedded.with_database(work);
            drop(turn);
            result
        });
        blocking.await.unwrap_or_else(|_| Err(StoreError::Disk("an operation was aborted".to_owned())))
    }

    fn with_database<T>(&self, work: impl FnOnce(&Database) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if self.has_failed.load(Ordering::Acquire) {
            self.file.reopen(tables::prepare)?;
            self.has_failed.store(false, Ordering::Release);
        }
        let result = self.file.with(work);
        if matches!(result, Err(StoreError::Disk(_) | StoreError::Full)) {
            self.has_failed.store(true, Ordering::Release);
        }
        result
    }

    /// Simulates a disk that refused an operation.
    #[cfg(test)]
    fn fail(&self) {
        self.has_failed.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
