use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// An operation on a store failed. The texts contain no secrets and no texts of callers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is no such row, or it belongs to another owner, or it has expired.
    #[error("there is no such answer or vote")]
    NotFound,
    /// The database is out of reach or refuses to work. It is tried again automatically.
    #[error("the database cannot be used now: {0}")]
    Unavailable(String),
    /// The operation took too long. A change may have been made nevertheless.
    #[error("the store did not answer in time")]
    Timeout,
    /// A newer version of this program wrote the store.
    #[error("{0} was written by a newer version of this program: use that version, or a newer one")]
    NewerSchema(String),
    /// The file is damaged.
    #[error(
        "{} is damaged ({reason}). Nothing was deleted. Stop the server, and put back a copy of this file, or move it \
         to another folder: the server then begins with an empty one, without the votes and interactions so far",
        .path.display()
    )]
    DamagedFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A row is damaged, or the database does not work as expected.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// Another process has the file open.
    #[error("{} is in use by another process: only one server may use a data folder", .0.display())]
    InUse(PathBuf),
    /// The disk is full.
    #[error("the disk is full: free some space, or enlarge the volume; the store then works again")]
    Full,
    /// The disk failed.
    #[error("the disk failed: {0}")]
    Disk(String),
    /// The URL of a database is invalid. The text does not quote it.
    #[error("{setting} is invalid: {reason}")]
    Url {
        /// The setting with the URL.
        setting: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

impl StoreError {
    /// The error's kind, for metrics and logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Unavailable(_) => "unavailable",
            Self::Timeout => "timeout",
            Self::NewerSchema(_) => "newer_schema",
            Self::DamagedFile { .. } | Self::Damaged(_) => "damaged",
            Self::InUse(_) => "in_use",
            Self::Full => "disk_full",
            Self::Disk(_) => "disk",
            Self::Url { .. } => "invalid_url",
        }
    }

    /// The same error, when it is about opening this file.
    pub(crate) fn of_file(self, path: &Path) -> Self {
        match self {
            Self::Damaged(reason) => Self::DamagedFile { path: path.to_owned(), reason },
            Self::InUse(_) => Self::InUse(path.to_owned()),
            other => other,
        }
    }
}

impl From<redb::Error> for StoreError {
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::DatabaseAlreadyOpen => Self::InUse(PathBuf::new()),
            redb::Error::Io(error) => error.into(),
            redb::Error::Corrupted(_)
            | redb::Error::TableTypeMismatch { .. }
            | redb::Error::TableDoesNotExist(_)
            | redb::Error::TypeDefinitionChanged { .. }
            | redb::Error::RepairAborted => Self::Damaged(error.to_string()),
            redb::Error::UpgradeRequired(_) => Self::NewerSchema("the store's file".to_owned()),
            error => Self::Disk(error.to_string()),
        }
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
