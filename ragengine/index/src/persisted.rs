//! The folder `persisted` of a data folder: persisted copies of indexes, each a file `NAME.tar`.
//!
//! It is opened once and its files by their names in it, links not followed: whatever else has been put there, nothing outside is
//! reached. A copy under way is a file `.NAME.….partial`, which takes the place of the one before when it is whole.

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

/// The folder in the data folder.
const FOLDER: &str = "persisted";

/// Why there is no copy to read or write.
#[derive(Debug, thiserror::Error)]
pub enum PersistedError {
    /// Only plain names are taken.
    #[error("path is the name of a persisted copy and not a path: {0}")]
    Name(#[from] InvalidName),
    /// There is none.
    #[error("there is no persisted copy '{0}': persist an index first")]
    Missing(String),
    /// It is not one of ours.
    #[error("{0} in the data folder is not a plain file or folder: nothing is read or written there")]
    Odd(String),
    /// The disk refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PersistedError {
    /// A short name for labels.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Name(_) => "invalid_name",
            Self::Missing(_) => "no_such_copy",
            Self::Odd(_) => "odd_copy",
            Self::Store(error) => error.kind(),
        }
    }
}

/// The folder.
pub struct Persisted {
    folder: OwnedFd,
}

/// A copy under way. Dropped before it is finished, it is gone.
pub struct Partial<'a> {
    folder: &'a Persisted,
    name: String,
    target: String,
    /// Where it is written.
    pub file: File,
}

impl Persisted {
    /// Opens the folder, and makes it when it is missing.
    ///
    /// # Errors
    ///
    /// [`PersistedError::Odd`] when it is a link, or what the disk says.
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

    /// The copy of this name.
    ///
    /// # Errors
    ///
    /// When there is none, or something else is in its place.
    pub fn read(&self, name: &str) -> Result<File, PersistedError> {
        // Not blocking: a pipe in its place would be waited for.
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

    /// Begins a copy of this name.
    ///
    /// # Errors
    ///
    /// When the name cannot be one, or what the disk says.
    pub fn write(&self, name: &str) -> Result<Partial<'_>, PersistedError> {
        let target = file_name(name)?;
        let name = format!(".{name}.{}.partial", Uuid::new_v4().simple());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.folder, &name, flags, Mode::RUSR | Mode::WUSR).map_err(refused)?;
        Ok(Partial { folder: self, name, target, file: file.into() })
    }
}

impl Partial<'_> {
    /// Puts it in the place of the copy before. When this returns, it is on disk.
    ///
    /// # Errors
    ///
    /// What the disk says.
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
        // Gone already when it was finished; what cannot be removed now is removed at the next start.
        let _ = unlinkat(&self.folder.folder, &self.name, AtFlags::empty());
    }
}

/// Removes what a process that was killed has left behind.
///
/// # Errors
///
/// What the disk says.
pub fn remove_partials(data_folder: &Path) -> Result<(), StoreError> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    // Without a folder there is nothing, and a link is not followed.
    let Ok(folder) = open(data_folder.join(FOLDER), flags, Mode::empty()) else { return Ok(()) };
    for entry in Dir::read_from(&folder).map_err(std::io::Error::from)? {
        let entry = entry.map_err(std::io::Error::from)?;
        let name = entry.file_name().to_bytes();
        if name.starts_with(b".") && name.ends_with(b".partial") {
            info!(name = %String::from_utf8_lossy(name), "removing a persisted copy that was never finished");
            unlinkat(&folder, entry.file_name(), AtFlags::empty()).map_err(std::io::Error::from)?;
        }
    }
    Ok(())
}

fn file_name(name: &str) -> Result<String, InvalidName> {
    check_name(name)?;
    Ok(format!("{name}.tar"))
}

/// Named as people find it: where the data folder is, is not said.
fn odd(file: &str) -> PersistedError {
    PersistedError::Odd(format!("{FOLDER}/{file}"))
}

fn refused(error: Errno) -> PersistedError {
    StoreError::from(std::io::Error::from(error)).into()
}
