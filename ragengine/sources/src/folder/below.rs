use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::FetchError;

/// How a folder is opened.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// An open folder. Files below it are opened without following symbolic links.
#[derive(Debug)]
pub struct Root(OwnedFd);

impl Root {
    /// Opens a folder. Its own path may contain symbolic links, because it is configured and not part of the source.
    /// But a part below `mounts` is in a volume, whose links could lead out of it.
    pub fn open(path: &Path, mounts: Option<&Path>) -> io::Result<Self> {
        let in_mount = mounts.and_then(|mounts| Some((mounts, path.strip_prefix(mounts).ok()?)));
        let (start, rest) = in_mount.unwrap_or((path, Path::new("")));
        let mut folder = openat(CWD, start, FOLDER, Mode::empty())?;
        for part in rest.components() {
            let Component::Normal(name) = part else {
                return Err(io::Error::new(ErrorKind::InvalidInput, "its path leads out of the volume"));
            };
            folder = openat(&folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()).map_err(explain_folder)?;
        }
        Ok(Self(folder))
    }

    /// A path that leads to the open folder, even if something else has its name by now.
    pub fn path_of_open_folder(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
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
            let flags = FOLDER | OFlags::NOFOLLOW;
            folder = Some(openat(folder.as_ref().unwrap_or(&self.0), part, flags, Mode::empty()).map_err(explain)?);
        }
        // NONBLOCK: if the file was replaced by a pipe, opening it must not wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(folder.as_ref().unwrap_or(&self.0), name, flags, Mode::empty()).map_err(explain)?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(FetchError::NotAFile) }
    }
}

fn explain_folder(error: Errno) -> io::Error {
    match error {
        Errno::LOOP | Errno::NOTDIR => {
            io::Error::new(ErrorKind::NotADirectory, "a part of its path is not a folder, or a symbolic link")
        }
        error => error.into(),
    }
}

fn explain(error: Errno) -> FetchError {
    match error {
        Errno::LOOP | Errno::NOTDIR | Errno::NXIO => FetchError::NotAFile,
        error => FetchError::Io(error.into()),
    }
}
