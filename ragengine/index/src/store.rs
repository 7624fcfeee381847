//! An index on disk: a redb file. Every change is one transaction, which is durable before the client gets an answer.
//!
//! Commits save the allocator's state ("quick repair"), so opening after a SIGKILL does not scan the file. Numbers of
//! documents and rows only increase and are never reused, not even after a delete.

mod changes;
mod failure_flag;
mod file;
mod reader;
mod rows;
mod tables;
mod token_counts;
mod transaction;

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use changes::Followed;
pub use changes::{Changes, Follower};
pub use file::DatabaseFile;
pub use reader::Reader;
use redb::{DatabaseError, WriteTransaction};
pub use transaction::Transaction;
use uuid::Uuid;

use self::tables::{META, create_all};
use super::record::IndexRecord;
use crate::private;

/// redb does not know which process has a file open.
const UNKNOWN_HOLDER: &str = "an unknown one";

const FILE: &str = "store.redb";

/// The format of the tables. A store of a newer format is rejected.
const FORMAT: &str = "1";

/// The key of the embedding model's settings, as JSON.
const EMBEDDING: &str = "embedding";

/// An operation on the store failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Another process has it open.
    #[error("its files are in use by another process: {0}")]
    InUse(String),
    /// A newer version wrote it.
    #[error(
        "the index was written in format {0}, which this version does not know: use the version that wrote it, or a \
         newer one"
    )]
    Format(String),
    /// Its content is inconsistent.
    #[error("the index's files are damaged: {0}")]
    Damaged(String),
    /// The list of indexes is missing, damaged or outdated. The text continues the message.
    #[error(
        "the list of indexes (catalog.redb) {0}. Nothing was deleted. Restore the file from the newest snapshot \
         of the volume. Or move this data folder away, start with an empty one, and restore the newest backup"
    )]
    Catalog(String),
    /// The disk is full.
    #[error("the disk is full: free some space, or enlarge the volume; the index is then reopened automatically")]
    Full,
    /// The disk refused an earlier operation. Nothing is read or written until the file is reopened.
    #[error(
        "the disk refused to read or write data of this index: it is reopened automatically when the disk works again; \
         no acknowledged change is lost"
    )]
    Latched,
    /// The disk failed.
    #[error("the disk failed: {0}")]
    Disk(String),
}

impl StoreError {
    /// The error's kind, for metrics and logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::InUse(_) => "store_in_use",
            Self::Format(_) => "store_format",
            Self::Damaged(_) => "store_damaged",
            Self::Catalog(_) => "catalog_damaged",
            Self::Full => "store_full",
            Self::Latched => "store_latched",
            Self::Disk(_) => "store_disk",
        }
    }
}

impl From<redb::Error> for StoreError {
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::DatabaseAlreadyOpen => Self::InUse(UNKNOWN_HOLDER.to_owned()),
            redb::Error::Corrupted(_) | redb::Error::TableTypeMismatch { .. } | redb::Error::TableDoesNotExist(_) => {
                Self::Damaged(error.to_string())
            }
            redb::Error::PreviousIo | redb::Error::DatabaseClosed => Self::Latched,
            redb::Error::Io(error) => error.into(),
            error => Self::Disk(error.to_string()),
        }
    }
}

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> Self {
        redb::Error::from(error).into()
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            // A file at its size limit is treated like a full disk.
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Self::Full,
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof => Self::Damaged(error.to_string()),
            _ => Self::Disk(error.to_string()),
        }
    }
}

impl From<postcard::Error> for StoreError {
    fn from(error: postcard::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// The file of one index.
pub struct Store {
    database: DatabaseFile,
    followed: Followed,
    id: Uuid,
}

impl Store {
    /// Creates a store in a new folder.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn create(directory: &Path, record: &IndexRecord) -> Result<Self, StoreError> {
        private::create_folders(directory)?;
        let store = Self::create_in(DatabaseFile::open(&directory.join(FILE))?, record)?;
        sync_directory(directory)?;
        directory.parent().map_or(Ok(()), sync_directory)?;
        Ok(store)
    }

    /// Opens the store in a folder.
    ///
    /// # Errors
    ///
    /// If it is in use, of a newer format, damaged or unreadable.
    pub fn open(directory: &Path) -> Result<(Self, IndexRecord), StoreError> {
        let path = directory.join(FILE);
        if !path.is_file() {
            return Err(StoreError::Damaged(format!("{} is missing", path.display())));
        }
        Self::open_in(DatabaseFile::open(&path)?)
    }

    fn create_in(database: DatabaseFile, record: &IndexRecord) -> Result<Self, StoreError> {
        let store = Self { database, followed: Followed::default(), id: Uuid::new_v4() };
        store.write(|transaction| {
            create_all(transaction.inner())?;
            transaction.put_meta("format", FORMAT.as_bytes())?;
            transaction.put_meta("id", store.id.as_bytes())?;
            transaction.put_meta("index", &postcard::to_stdvec(record)?)
        })?;
        Ok(store)
    }

    fn open_in(database: DatabaseFile) -> Result<(Self, IndexRecord), StoreError> {
        let mut store = Self { database, followed: Followed::default(), id: Uuid::new_v4() };
        let reader = store.reader()?;
        let record = reader.index_record(FORMAT)?;
        match reader.id()? {
            Some(id) => store.id = id,
            // The index was made before stores had ids.
            None => store.write(|transaction| transaction.put_meta("id", store.id.as_bytes()))?,
        }
        Ok((store, record))
    }

    /// The store's id, generated when it was created. Derived data refers to it.
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// A reader of the current state. Later writes do not affect it.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        use redb::ReadableDatabase as _;
        Ok(Reader::new(self.database.get()?.begin_read().map_err(redb::Error::from)?))
    }

    /// Whether the disk refused an operation. The file must then be reopened.
    pub fn has_failed(&self) -> bool {
        self.database.has_failed()
    }

    /// Simulates a refused operation.
    #[cfg(test)]
    pub fn fail(&self) {
        self.database.fail();
    }

    /// Closes the file, so that it can be reopened. Operations on this store then get [`StoreError::Latched`].
    pub fn close(&self) {
        self.database.close();
    }

    /// Starts recording changed documents for this follower. A previous follower is dropped.
    pub fn follow_changes(&self, follower: Follower) {
        self.followed.begin(follower);
    }

    /// Stops recording changed documents.
    pub fn forget_changes(&self) {
        self.followed.end();
    }

    /// Takes the changes since the last call. Every later reader has all of them. None if they are recorded for another
    /// follower by now, or not at all.
    pub fn take_changes(&self, follower: Follower) -> Option<Changes> {
        self.followed.take(follower)
    }

    /// Returns changes that were taken but not used.
    pub fn put_back_changes(&self, follower: Follower, changes: Changes) {
        self.followed.put_back(follower, changes);
    }

    /// Runs a change in one transaction. When this returns, it is durable.
    ///
    /// # Errors
    ///
    /// If the disk or `change` fails. Nothing is changed then.
    pub fn write<T>(&self, change: impl FnOnce(&Transaction) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut inner = self.database.get()?.begin_write().map_err(redb::Error::from)?;
        inner.set_quick_repair(true);
        self.run(inner, change)
    }

    /// Writes to a store that is thrown away after a crash. Opening it would take long then, until [`Self::write`] has
    /// written to it.
    ///
    /// # Errors
    ///
    /// As [`Self::write`].
    pub fn fill<T>(&self, change: impl FnOnce(&Transaction) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.run(self.database.get()?.begin_write().map_err(redb::Error::from)?, change)
    }

    fn run<T>(
        &self,
        inner: WriteTransaction,
        change: impl FnOnce(&Transaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let transaction = Transaction::new(inner);
        let result = change(&transaction)?;
        let changes = transaction.commit()?;
        self.followed.note(changes);
        Ok(result)
    }
}

/// Makes the entries of a folder durable. The fsync of a file does not do that.
pub(super) fn sync_directory(directory: &Path) -> Result<(), StoreError> {
    Ok(File::open(directory)?.sync_all()?)
}

fn number_of(counter: &str, bytes: &[u8]) -> Result<u64, StoreError> {
    let number = bytes.try_into().map(u64::from_le_bytes);
    number.map_err(|_| StoreError::Damaged(format!("{counter} is not a number")))
}

fn meta(reader: &redb::ReadTransaction, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let table = reader.open_table(META).map_err(redb::Error::from)?;
    let value = table.get(key).map_err(redb::Error::from)?;
    Ok(value.map(|value| value.value().to_vec()))
}

#[cfg(test)]
pub(crate) mod tests;
