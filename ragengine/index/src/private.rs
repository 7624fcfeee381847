//! Files and folders that only their owner may read: all that the server makes, whatever the umask is.
//!
//! What was there before keeps its mode where it is not ours, such as the root of a mounted volume. What an earlier version has made so that
//! others could read it is closed to them.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::Mode;
use tracing::debug;

/// The owner's alone.
const FOLDER: u32 = 0o700;

/// The owner's alone.
const FILE: u32 = 0o600;

/// What others have.
const OTHERS: u32 = 0o077;

/// Makes a folder, whose parent is there.
///
/// # Errors
///
/// What the disk says.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(FOLDER).create(path)
}

/// Makes a folder and those above it, as far as they are missing.
///
/// # Errors
///
/// What the disk says.
pub fn create_folders(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// A file that is opened, or made for its owner alone.
pub fn file() -> OpenOptions {
    let mut options = File::options();
    options.mode(FILE);
    options
}

/// Takes from others what they may do with a folder that an earlier version has made.
pub fn close_folder(path: &Path) {
    close(path, FOLDER);
}

/// Takes from others what they may do with a file that an earlier version has made.
pub fn close_file(path: &Path) {
    close(path, FILE);
}

/// That it cannot be is no reason not to serve: it is another's then, or on a file system without modes.
fn close(path: &Path, mode: u32) {
    let closed = fs::symlink_metadata(path).and_then(|metadata| match metadata.mode() & OTHERS {
        0 => Ok(()),
        _ if metadata.is_symlink() => Ok(()),
        _ => fs::set_permissions(path, Permissions::from_mode(mode)),
    });
    if let Err(error) = closed {
        debug!(path = %path.display(), %error, "not closed to others");
    }
}

/// From now on nothing that this process makes can be read by others, by whatever library it is made.
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
    fn what_is_made_is_the_owners_and_what_is_there_keeps_its_mode() {
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
    fn what_others_could_read_is_closed_and_nothing_is_reached_by_a_link() {
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
