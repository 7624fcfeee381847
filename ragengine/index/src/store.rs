//! An index on disk: one redb file, every change one transaction that is on disk before it is answered.
//!
//! Commits save the allocator's state ("quick repair"), so that opening after a SIGKILL does not walk the file. Numbers of
//! documents and rows only ever grow: one is never given twice, not even after a delete.

mod changes;
mod file;
mod reader;
mod rows;
mod tables;
mod token_counts;
mod transaction;
mod watched;

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use changes::Followed;
pub use changes::{Changes, Follower};
pub use file::DatabaseFile;
pub use reader::Reader;
use redb::DatabaseError;
pub use transaction::Transaction;
use uuid::Uuid;

use self::tables::{META, create_all};
use super::record::IndexRecord;
use crate::private;

/// redb does not know who has a file open.
const UNKNOWN_HOLDER: &str = "it has not said which";

const FILE: &str = "store.redb";

/// The layout of the tables. A store of a newer one is refused.
const FORMAT: &str = "1";

/// Where the settings of the embedding model are, as JSON.
const EMBEDDING: &str = "embedding";

/// Why the store cannot be read or written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Another process has it open.
    #[error("its files are in use by another process: {0}")]
    InUse(String),
    /// It was written by a newer version.
    #[error(
        "the index was written in format {0}, which this version does not know: use the version that wrote it, or a newer one"
    )]
    Format(String),
    /// What is in it is not what was written.
    #[error("the index's files are damaged: {0}")]
    Damaged(String),
    /// The list of indexes is not what it was.
    #[error(
        "the list of indexes (catalog.redb) {0}. Nothing was deleted. Put the file back as it was when the server ended, or set this \
         data folder aside, start with an empty one and restore the newest backup"
    )]
    Catalog(String),
    /// The disk is full.
    #[error("the disk is full: free some space, or give the volume more; the index is opened again by itself then")]
    Full,
    /// The disk refused earlier, and nothing is read or written until it is opened anew.
    #[error(
        "the disk refused to read or write something of this index: it is opened again by itself once the disk is well; nothing acknowledged is lost"
    )]
    Latched,
    /// The disk refused.
    #[error("the disk refused: {0}")]
    Disk(String),
}

impl StoreError {
    /// A short name for labels.
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
            // A file that may not grow is as full as the disk.
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

/// One index's file.
pub struct Store {
    database: DatabaseFile,
    followed: Followed,
    id: Uuid,
}

impl Store {
    /// Makes a store in a new folder.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
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
    /// When it is in use, of a newer format, damaged, or cannot be read.
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
            // It was made before stores had ids.
            None => store.write(|transaction| transaction.put_meta("id", store.id.as_bytes()))?,
        }
        Ok((store, record))
    }

    /// Its own id, made with it: what is derived from it is of no other store.
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// The store as it is now. It does not change under the reader.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        use redb::ReadableDatabase as _;
        Ok(Reader::new(self.database.get()?.begin_read().map_err(redb::Error::from)?))
    }

    /// Whether the disk has refused to read or write something, so that it has to be opened anew.
    pub fn has_failed(&self) -> bool {
        self.database.has_failed()
    }

    /// As if it had.
    #[cfg(test)]
    pub fn fail(&self) {
        self.database.fail();
    }

    /// Closes the file, so that it can be opened anew. Whoever still reads or writes gets [`StoreError::Latched`].
    pub fn close(&self) {
        self.database.close();
    }

    /// From now on it is noted for this follower, and no longer for the one before, which documents change.
    pub fn follow_changes(&self, follower: Follower) {
        self.followed.begin(follower);
    }

    /// It is not noted any more.
    pub fn forget_changes(&self) {
        self.followed.end();
    }

    /// What has changed since it was asked last, and begins anew. All of it is in every later reader. None: it is noted for another
    /// follower by now, or for nobody.
    pub fn take_changes(&self, follower: Follower) -> Option<Changes> {
        self.followed.take(follower)
    }

    /// Gives back what was taken and could not be used.
    pub fn put_back_changes(&self, follower: Follower, changes: Changes) {
        self.followed.put_back(follower, changes);
    }

    /// Makes one change, all of it or nothing. When this returns, it is on disk.
    ///
    /// # Errors
    ///
    /// When the disk refuses, or when `change` does; nothing is changed then.
    pub fn write<T>(&self, change: impl FnOnce(&Transaction) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut inner = self.database.get()?.begin_write().map_err(redb::Error::from)?;
        inner.set_quick_repair(true);
        let transaction = Transaction::new(inner);
        let result = change(&transaction)?;
        let changes = transaction.commit()?;
        self.followed.note(changes);
        Ok(result)
    }
}

/// Makes the entries of a folder last: a file's own fsync does not.
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
