use std::path::Path;

use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
use redb::Database;

use super::{StoreError, open_database};

/// A redb file that can be closed under those who use it: after the disk has refused a write, redb takes no more until the file is
/// opened anew.
pub struct DatabaseFile(RwLock<Option<Database>>);

impl DatabaseFile {
    /// An open one.
    pub fn new(database: Database) -> Self {
        Self(RwLock::new(Some(database)))
    }

    /// The file, to begin a transaction.
    ///
    /// # Errors
    ///
    /// [`StoreError::Latched`] when it is closed.
    pub fn get(&self) -> Result<MappedRwLockReadGuard<'_, Database>, StoreError> {
        RwLockReadGuard::try_map(self.0.read(), Option::as_ref).map_err(|_| StoreError::Latched)
    }

    /// Closes it. Those who still read in it get errors.
    pub fn close(&self) {
        *self.0.write() = None;
    }

    /// Closes it and opens it again.
    ///
    /// # Errors
    ///
    /// When the disk still refuses: it is closed then.
    pub fn reopen(&self, path: &Path) -> Result<(), StoreError> {
        let mut file = self.0.write();
        *file = None;
        *file = Some(open_database(path)?);
        Ok(())
    }
}
