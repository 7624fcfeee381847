use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use ragengine_index::private;

/// How long a result is cached, so that frequent probes do not write each time.
const VALIDITY: Duration = Duration::from_secs(5);

/// Timeout of a write. Clients that request the status wait slightly longer than this.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Why the data folder cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum VolumeError {
    /// The disk is full.
    #[error("the data folder cannot be written: the disk is full: free some space, or enlarge the volume")]
    Full,
    /// The write failed.
    #[error("the data folder cannot be written: {0}")]
    Refused(String),
    /// The write timed out.
    #[error("the data folder does not answer")]
    Silent,
}

/// Checks whether the data folder is writable, by writing to it.
#[derive(Default)]
pub(super) struct Volume(Mutex<Checked>);

#[derive(Default)]
struct Checked {
    last: Option<(Instant, Result<(), VolumeError>)>,
    /// A write that has not finished. A second write would only wait as well.
    writing: Option<JoinHandle<Result<(), VolumeError>>>,
}

impl Volume {
    /// Writes a small file, or returns a recent result.
    pub async fn check(&self, directory: &Path) -> Result<(), VolumeError> {
        let mut checked = self.0.lock().await;
        if let Some((when, result)) = &checked.last
            && when.elapsed() < VALIDITY
        {
            return result.clone();
        }
        let path = directory.join(".writable");
        let writing = checked.writing.get_or_insert_with(|| tokio::task::spawn_blocking(move || write(&path)));
        let result = match tokio::time::timeout(TIMEOUT, &mut *writing).await {
            Ok(written) => {
                checked.writing = None;
                written.unwrap_or(Err(VolumeError::Silent))
            }
            Err(_) => Err(VolumeError::Silent),
        };
        checked.last = Some((Instant::now(), result.clone()));
        result
    }
}

fn write(path: &PathBuf) -> Result<(), VolumeError> {
    let failure = |error: std::io::Error| match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => VolumeError::Full,
        _ => VolumeError::Refused(error.to_string()),
    };
    let mut file = private::file().write(true).create(true).truncate(true).open(path).map_err(failure)?;
    file.write_all(b"ragengine writes this file to check that the volume is writable\n").map_err(failure)?;
    fs::remove_file(path).map_err(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_and_a_refused_write_are_different_errors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".writable");
        assert_eq!(write(&path), Ok(()));
        assert!(!path.exists());
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        assert_eq!(write(&path), Err(VolumeError::Full));
        assert!(matches!(write(&folder.path().join("no/such/folder")), Err(VolumeError::Refused(_))));
    }
}
