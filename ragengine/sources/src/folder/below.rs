use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::FetchError;

/// An open folder. Files below it are opened without following symbolic links.
#[derive(Debug)]
pub struct Root(OwnedFd);

impl Root {
    /// Opens a folder. Its own path may contain symbolic links, because it is configured and not part of the source.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(openat(CWD, path, flags, Mode::empty())?))
    }

    /// Opens a regular file below the folder.
    ///
    /// # Errors
    ///
    /// When a part of the path is a symbolic link, or the file is not a regular file or cannot be read.
    pub fn open_file(&self, path: &str) -> Result<File, FetchError> {
        crate::path::check(path).map_err(|_| FetchError::NotAFile)?;
        let (folders, name) = path.rsplit_once('/').map_or((None, path), |(folders, name)| (Some(folders), name));
        let mut folder = None;
        for part in folders.into_iter().flat_map(|folders| folders.split('/')) {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            folder = Some(openat(folder.as_ref().unwrap_or(&self.0), part, flags, Mode::empty()).map_err(explain)?);
        }
        // NONBLOCK: if the file was replaced by a pipe, opening it must not wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(folder.as_ref().unwrap_or(&self.0), name, flags, Mode::empty()).map_err(explain)?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(FetchError::NotAFile) }
    }
}

fn explain(error: rustix::io::Errno) -> FetchError {
    match error {
        rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR | rustix::io::Errno::NXIO => FetchError::NotAFile,
        error => FetchError::Io(error.into()),
    }
}
