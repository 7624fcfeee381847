use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

use crate::FetchError;

/// How a folder is opened.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// How a folder is opened that is only passed through: it needs no right to list it.
const TO_PASS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// An open folder. Files below it are opened without following symbolic links.
#[derive(Debug)]
pub struct Root(OwnedFd);

impl Root {
    /// Opens a folder. Its own path may contain symbolic links, because it is configured and not part of the source.
    /// But a part below `mounts` is in a volume, whose links must not lead out of it.
    pub fn open(path: &Path, mounts: Option<&Path>) -> io::Result<Self> {
        let in_mount = mounts.and_then(|mounts| Some((mounts, path.strip_prefix(mounts).ok()?)));
        let Some((mounts, rest)) = in_mount else { return Ok(Self(openat(CWD, path, FOLDER, Mode::empty())?)) };
        if rest.components().any(|part| !matches!(part, Component::Normal(_))) {
            return Err(leads_out());
        }
        let mounts = openat(CWD, mounts, TO_PASS, Mode::empty())?;
        let mut parts = rest.components();
        let Some(volume) = parts.next() else { return Ok(Self(openat(&mounts, ".", FOLDER, Mode::empty())?)) };
        let volume = openat(&mounts, Path::new(&volume), TO_PASS | OFlags::NOFOLLOW, Mode::empty());
        in_volume(&volume.map_err(explain_folder)?, parts.as_path()).map(Self)
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

/// Opens a folder of a volume. A link in its path may only lead to another folder of the volume.
fn in_volume(volume: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(volume, path, FOLDER, Mode::empty(), within) {
        Err(Errno::NOSYS) => without_links(volume, path),
        Err(Errno::XDEV) => Err(leads_out()),
        opened => opened.map_err(explain_folder),
    }
}

/// The same on a kernel without `openat2`, such as gVisor's: no part of the path may be a link.
fn without_links(volume: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let mut folder = openat(volume, ".", TO_PASS, Mode::empty())?;
    for part in path.components() {
        folder =
            openat(&folder, Path::new(&part), TO_PASS | OFlags::NOFOLLOW, Mode::empty()).map_err(explain_folder)?;
    }
    Ok(openat(&folder, ".", FOLDER, Mode::empty())?)
}

fn leads_out() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "its path leads out of the volume")
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

#[cfg(test)]
mod tests {
    use std::fs::create_dir_all;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_to_folders_of_the_volume_only() {
        let folder = tempfile::tempdir().unwrap();
        let volume = folder.path().join("volume");
        create_dir_all(volume.join("docs/deep")).unwrap();
        create_dir_all(folder.path().join("outside")).unwrap();
        for (name, target) in [("inner", "docs"), ("out", "../outside"), ("far", "/etc"), ("around", "loop")] {
            symlink(target, volume.join(name)).unwrap();
        }
        symlink("around", volume.join("loop")).unwrap();
        let volume = openat(CWD, &volume, TO_PASS, Mode::empty()).unwrap();
        // The path, whether it can be opened, and whether it can be without `openat2`.
        for (path, expected, old) in [
            ("", true, true),
            ("docs/deep", true, true),
            ("inner/deep", true, false),
            ("out", false, false),
            ("far", false, false),
            ("around", false, false),
            ("none", false, false),
        ] {
            assert_eq!(in_volume(&volume, Path::new(path)).is_ok(), expected, "{path}");
            assert_eq!(without_links(&volume, Path::new(path)).is_ok(), old, "{path}");
        }
    }
}
