//! The folder `persisted` of a data folder, with a file `NAME.tar` for each persisted copy of an index.
//!
//! The folder is opened once, and files are opened relative to it without following links, so nothing outside it is
//! reachable. An unfinished copy is a file `.NAME.….partial`; when it is complete, it replaces the previous copy.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, fsync, open, openat, renameat, unlinkat};
use rustix::io::Errno;
use tracing::info;
use uuid::Uuid;

use super::name::{InvalidName, check_name};
use super::store::{StoreError, sync_directory};
use crate::private;

/// The name of the folder in the data folder.
const FOLDER: &str = "persisted";

/// A persisted copy cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum PersistedError {
    /// The name is invalid. Paths are not accepted.
    #[error("path is the name of a persisted copy and not a path: {0}")]
    Name(#[from] InvalidName),
    /// There is no such copy.
    #[error("there is no persisted copy '{0}': persist an index first")]
    Missing(String),
    /// The file or folder is a link or something else unexpected.
    #[error("{0} in the data folder is not a plain file or folder: nothing is read or written there")]
    Odd(String),
    /// The disk failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PersistedError {
    /// The error's kind, for metrics and logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Name(_) => "invalid_name",
            Self::Missing(_) => "no_such_copy",
            Self::Odd(_) => "odd_copy",
            Self::Store(error) => error.kind(),
        }
    }
}

/// The open folder of persisted copies.
pub struct Persisted {
    folder: OwnedFd,
}

/// An unfinished copy. Its file is removed if it is dropped before it is finished.
pub struct Partial<'a> {
    folder: &'a Persisted,
    name: String,
    target: String,
    /// The file to write to.
    pub file: File,
}

impl Persisted {
    /// Opens the folder, creating it if necessary.
    ///
    /// # Errors
    ///
    /// [`PersistedError::Odd`] if it is a link, or an error of the disk.
    pub fn open(data_folder: &Path) -> Result<Self, PersistedError> {
        let path = data_folder.join(FOLDER);
        match private::create_folder(&path) {
            Ok(()) => sync_directory(data_folder)?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => private::close_folder(&path),
            Err(error) => return Err(StoreError::from(error).into()),
        }
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        match open(&path, flags, Mode::empty()) {
            Ok(folder) => Ok(Self { folder }),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(PersistedError::Odd(FOLDER.to_owned())),
            Err(error) => Err(refused(error)),
        }
    }

    /// Opens the copy of this name.
    ///
    /// # Errors
    ///
    /// If there is no such copy, or its file is not a plain file.
    pub fn read(&self, name: &str) -> Result<File, PersistedError> {
        // Without NONBLOCK, opening a pipe in its place would block.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = file_name(name)?;
        let odd = || Err(odd(&file));
        let file = match openat(&self.folder, &file, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Err(PersistedError::Missing(name.to_owned())),
            Err(Errno::LOOP | Errno::NXIO) => return odd(),
            Err(error) => return Err(refused(error)),
        };
        match FileType::from_raw_mode(fstat(&file).map_err(refused)?.st_mode) {
            FileType::RegularFile => Ok(file.into()),
            _ => odd(),
        }
    }

    /// Starts a copy of this name.
    ///
    /// # Errors
    ///
    /// If the name is invalid, or an error of the disk.
    pub fn write(&self, name: &str) -> Result<Partial<'_>, PersistedError> {
        let target = file_name(name)?;
        let name = format!(".{name}.{}.partial", Uuid::new_v4().simple());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.folder, &name, flags, Mode::RUSR | Mode::WUSR).map_err(refused)?;
        Ok(Partial { folder: self, name, target, file: file.into() })
    }
}

impl Partial<'_> {
    /// Replaces the previous copy. When this returns, the copy is durable.
    ///
    /// # Errors
    ///
    /// An error of the disk.
    pub fn finish(self) -> Result<(), PersistedError> {
        self.file.sync_all().map_err(StoreError::from)?;
        renameat(&self.folder.folder, &self.name, &self.folder.folder, &self.target).map_err(|error| match error {
            Errno::ISDIR | Errno::NOTDIR => odd(&self.target),
            error => refused(error),
        })?;
        fsync(&self.folder.folder).map_err(refused)
    }
}

impl Drop for Partial<'_> {
    fn drop(&mut self) {
        // After `finish` there is nothing to remove. A file that cannot be removed now is removed at the next start.
        let _ = unlinkat(&self.folder.folder, &self.name, AtFlags::empty());
    }
}

/// Removes unfinished copies of a process that was killed.
///
/// # Errors
///
/// An error of the disk.
pub fn remove_partials(data_folder: &Path) -> Result<(), StoreError> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    // Without a folder there are no copies. A link is not followed.
    let Ok(folder) = open(data_folder.join(FOLDER), flags, Mode::empty()) else { return Ok(()) };
    for entry in Dir::read_from(&folder).map_err(std::io::Error::from)? {
        let entry = entry.map_err(std::io::Error::from)?;
        let name = entry.file_name().to_bytes();
        if name.starts_with(b".") && name.ends_with(b".partial") {
            info!(name = %String::from_utf8_lossy(name), "removing an unfinished persisted copy");
            unlinkat(&folder, entry.file_name(), AtFlags::empty()).map_err(std::io::Error::from)?;
        }
    }
    Ok(())
}

fn file_name(name: &str) -> Result<String, InvalidName> {
    check_name(name)?;
    Ok(format!("{name}.tar"))
}

/// The path is relative to the data folder, whose location stays private.
fn odd(file: &str) -> PersistedError {
    PersistedError::Odd(format!("{FOLDER}/{file}"))
}

fn refused(error: Errno) -> PersistedError {
    StoreError::from(std::io::Error::from(error)).into()
}
