use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use parking_lot::RwLock;
use redb::backends::FileBackend;
use redb::{Builder, Database};

use crate::StoreError;

/// The page cache, in bytes. It can be small, because the operating system caches the file, too.
const CACHE_BYTES: usize = 16 << 20;

/// Only the server's user may read the file.
const MODE: u32 = 0o600;

/// A redb file that can be reopened while it is in use.
pub(super) struct DatabaseFile {
    path: PathBuf,
    database: RwLock<Option<Database>>,
}

impl DatabaseFile {
    /// Opens a file, creating it if necessary. `prepare` checks and completes its tables.
    pub fn open(path: &Path, prepare: fn(&Database) -> Result<(), StoreError>) -> Result<Self, StoreError> {
        let database = open(path, prepare)?;
        Ok(Self { path: path.to_owned(), database: RwLock::new(Some(database)) })
    }

    /// Closes and reopens the file, after the disk refused an operation. It stays closed if this fails.
    pub fn reopen(&self, prepare: fn(&Database) -> Result<(), StoreError>) -> Result<(), StoreError> {
        let mut database = self.database.write();
        *database = None;
        *database = Some(open(&self.path, prepare)?);
        Ok(())
    }

    /// Works with the open file.
    pub fn with<T>(&self, work: impl FnOnce(&Database) -> Result<T, StoreError>) -> Result<T, StoreError> {
        match self.database.read().as_ref() {
            Some(database) => work(database),
            None => Err(StoreError::Disk("the file could not be reopened".to_owned())),
        }
    }
}

fn open(path: &Path, prepare: fn(&Database) -> Result<(), StoreError>) -> Result<Database, StoreError> {
    open_unnamed(path, prepare).map_err(|error| error.of_file(path))
}

fn open_unnamed(path: &Path, prepare: fn(&Database) -> Result<(), StoreError>) -> Result<Database, StoreError> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(MODE).open(path)?;
    let backend = FileBackend::new(file).map_err(redb::Error::from)?;
    let database =
        Builder::new().set_cache_size(CACHE_BYTES).create_with_backend(backend).map_err(redb::Error::from)?;
    prepare(&database)?;
    if let Some(folder) = path.parent() {
        // The fsync of a file does not make its entry in the folder durable.
        File::open(folder)?.sync_all()?;
    }
    Ok(database)
}
