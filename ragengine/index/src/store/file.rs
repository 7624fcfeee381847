use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
use redb::backends::FileBackend;
use redb::{Builder, Database, StorageBackend};

use super::StoreError;
use super::watched::Watched;
use crate::private;

/// Pages kept in memory. Vectors are in FAISS and hot texts in the page cache of the system, so this can be small.
const CACHE_BYTES: usize = 16 << 20;

/// A redb file that can be closed under those who use it: after the disk has refused to read or write something, redb does no more
/// until the file is opened anew.
pub struct DatabaseFile {
    database: RwLock<Option<Database>>,
    has_failed: Arc<AtomicBool>,
}

impl DatabaseFile {
    /// Opens a file, or makes it.
    ///
    /// # Errors
    ///
    /// When another process has it, or the disk refuses.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::on(file(path)?)
    }

    /// The same on any storage.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn on(storage: impl StorageBackend) -> Result<Self, StoreError> {
        let has_failed = Arc::default();
        let database = open(storage, &has_failed)?;
        Ok(Self { database: RwLock::new(Some(database)), has_failed })
    }

    /// The file, to begin a transaction.
    ///
    /// # Errors
    ///
    /// [`StoreError::Latched`] when it is closed.
    pub fn get(&self) -> Result<MappedRwLockReadGuard<'_, Database>, StoreError> {
        RwLockReadGuard::try_map(self.database.read(), Option::as_ref).map_err(|_| StoreError::Latched)
    }

    /// Whether the disk has refused something, so that it has to be opened anew.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// Closes it. Those who still read in it get errors.
    pub fn close(&self) {
        *self.database.write() = None;
    }

    /// Closes it and opens it again.
    ///
    /// # Errors
    ///
    /// When the disk still refuses: it is closed then.
    pub fn reopen(&self, path: &Path) -> Result<(), StoreError> {
        let mut database = self.database.write();
        *database = None;
        *database = Some(open(file(path)?, &self.has_failed)?);
        self.has_failed.store(false, Ordering::Release);
        Ok(())
    }

    /// As if the disk had refused something.
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
    let storage = Watched::new(storage, Arc::clone(has_failed));
    Ok(Builder::new().set_cache_size(CACHE_BYTES).create_with_backend(storage)?)
}
