use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
use redb::backends::FileBackend;
use redb::{Builder, Database, StorageBackend};

use super::StoreError;
use super::failure_flag::FailureFlag;
use crate::private;

/// The page cache, in bytes. It can be small: vectors are in FAISS, and the operating system caches hot texts.
const CACHE_BYTES: usize = 16 << 20;

/// A redb file that can be closed while it is in use: after the disk refused an operation, redb does nothing until the
/// file is reopened.
pub struct DatabaseFile {
    database: RwLock<Option<Database>>,
    has_failed: Arc<AtomicBool>,
}

impl DatabaseFile {
    /// Opens a file, creating it if necessary.
    ///
    /// # Errors
    ///
    /// If another process has it open, or the disk fails.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::on(file(path)?)
    }

    /// The same for any storage.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn on(storage: impl StorageBackend) -> Result<Self, StoreError> {
        let has_failed = Arc::default();
        let database = open(storage, &has_failed)?;
        Ok(Self { database: RwLock::new(Some(database)), has_failed })
    }

    /// The open file, for starting a transaction.
    ///
    /// # Errors
    ///
    /// [`StoreError::Latched`] if it is closed.
    pub fn get(&self) -> Result<MappedRwLockReadGuard<'_, Database>, StoreError> {
        RwLockReadGuard::try_map(self.database.read(), Option::as_ref).map_err(|_| StoreError::Latched)
    }

    /// Whether the disk refused an operation. The file must then be reopened.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// Closes the file. Operations that still use it get errors.
    pub fn close(&self) {
        *self.database.write() = None;
    }

    /// Closes and reopens the file.
    ///
    /// # Errors
    ///
    /// If the disk still fails. The file stays closed then.
    pub fn reopen(&self, path: &Path) -> Result<(), StoreError> {
        let mut database = self.database.write();
        *database = None;
        *database = Some(open(file(path)?, &self.has_failed)?);
        self.has_failed.store(false, Ordering::Release);
        Ok(())
    }

    /// Simulates a refused operation.
    #[cfg(test)]
    pub fn fail(&self) {
        self.has_failed.store(true, Ordering::Release);
    }
}

fn file(path: &Path) -> Result<FileBackend, StoreError> {
    let file = private::file().read(true).write(true).create(true).truncate(false).open(path)?;
    private::close_file(path);
    Ok(FileBackend::new(file)?)
}

fn open(storage: impl StorageBackend, has_failed: &Arc<AtomicBool>) -> Result<Database, StoreError> {
    let storage = FailureFlag::new(storage, Arc::clone(has_failed));
    Ok(Builder::new().set_cache_size(CACHE_BYTES).create_with_backend(storage)?)
}
