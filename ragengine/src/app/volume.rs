use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use ragengine_index::private;

/// How long an answer holds: a probe must not write at every turn.
const VALIDITY: Duration = Duration::from_secs(5);

/// How long the disk may take to answer. Whoever asks for the status waits a little longer than this.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Why the data folder cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum VolumeError {
    /// There is no room on it.
    #[error("the data folder cannot be written: the disk is full: free some space, or give the volume more")]
    Full,
    /// It refuses.
    #[error("the data folder cannot be written: {0}")]
    Refused(String),
    /// It does not answer.
    #[error("the data folder does not answer")]
    Silent,
}

/// Whether the data folder can be written, found out by writing to it.
#[derive(Default)]
pub(super) struct Volume(Mutex<Checked>);

#[derive(Default)]
struct Checked {
    last: Option<(Instant, Result<(), VolumeError>)>,
    /// A write that the disk has not answered yet: a second one would only wait beside it.
    writing: Option<JoinHandle<Result<(), VolumeError>>>,
}

impl Volume {
    /// Writes a small file, unless that was done a moment ago.
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
    let told = |error: std::io::Error| match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => VolumeError::Full,
        _ => VolumeError::Refused(error.to_string()),
    };
    let mut file = private::file().write(true).create(true).truncate(true).open(path).map_err(told)?;
    file.write_all(b"ragengine writes this to see whether it can\n").map_err(told)?;
    fs::remove_file(path).map_err(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_one_that_refuses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".writable");
        assert_eq!(write(&path), Ok(()));
        assert!(!path.exists());
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        assert_eq!(write(&path), Err(VolumeError::Full));
        assert!(matches!(write(&folder.path().join("no/such/folder")), Err(VolumeError::Refused(_))));
    }
}
