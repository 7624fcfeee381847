//! Files and folders that only their owner can access. The server creates all its files this way, whatever the umask
//! is.
//!
//! Existing folders that the server did not create, such as the root of a mounted volume, keep their modes. Files that
//! an earlier version made readable for others are closed to them.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::Mode;
use tracing::debug;

/// The mode of folders.
const FOLDER: u32 = 0o700;

/// The mode of files.
const FILE: u32 = 0o600;

/// The permissions of group and others.
const OTHERS: u32 = 0o077;

/// Creates a folder. Its parent must exist.
///
/// # Errors
///
/// An error of the disk.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(FOLDER).create(path)
}

/// Creates a folder and its missing parents.
///
/// # Errors
///
/// An error of the disk.
pub fn create_folders(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Options for opening a file. A new file is private.
pub fn file() -> OpenOptions {
    let mut options = File::options();
    options.mode(FILE);
    options
}

/// Removes the access of others to a folder that an earlier version created.
pub fn close_folder(path: &Path) {
    close(path, FOLDER);
}

/// Removes the access of others to a file that an earlier version created.
pub fn close_file(path: &Path) {
    close(path, FILE);
}

/// A failure is only logged: the file belongs to another user, or the file system has no modes.
fn close(path: &Path, mode: u32) {
    let closed = fs::symlink_metadata(path).and_then(|metadata| match metadata.mode() & OTHERS {
        0 => Ok(()),
        _ if metadata.is_symlink() => Ok(()),
        _ => fs::set_permissions(path, Permissions::from_mode(mode)),
    });
    if let Err(error) = closed {
        debug!(path = %path.display(), %error, "permissions not restricted");
    }
}

/// Sets the umask, so that files created by libraries are private, too.
pub fn make_everything_private() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn new_files_are_private_and_existing_ones_keep_their_mode() {
        let outer = tempfile::tempdir().unwrap();
        let mount = outer.path().join("mount");
        fs::create_dir(&mount).unwrap();
        fs::set_permissions(&mount, Permissions::from_mode(0o2775)).unwrap();
        create_folders(&mount.join("a/b")).unwrap();
        create_folder(&mount.join("c")).unwrap();
        file().write(true).create(true).open(mount.join("f")).unwrap();
        assert_eq!(mode(&mount), 0o2775);
        for folder in ["a", "a/b", "c"] {
            assert_eq!(mode(&mount.join(folder)) & 0o777, 0o700, "{folder}");
        }
        assert_eq!(mode(&mount.join("f")), 0o600);
    }

    #[test]
    fn files_of_earlier_versions_are_closed_and_links_are_not_followed() {
        let outer = tempfile::tempdir().unwrap();
        let (folder, file, link) = (outer.path().join("d"), outer.path().join("f"), outer.path().join("l"));
        fs::create_dir(&folder).unwrap();
        fs::write(&file, "x").unwrap();
        for (path, mode) in [(&folder, 0o755), (&file, 0o644)] {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        std::os::unix::fs::symlink(&file, &link).unwrap();
        close_file(&link);
        assert_eq!(mode(&file), 0o644);
        close_folder(&folder);
        close_file(&file);
        close_file(&outer.path().join("nothing"));
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
    }
}
