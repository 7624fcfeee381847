//! Small files that are read again and again while the server runs: volumes of Secrets and ConfigMaps, in which names
//! are links that are exchanged.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

/// How often files are read again. Short, because users wait for a change to take effect.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(2);

/// A file cannot be used. The message does not name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FileError {
    /// It cannot be opened or read.
    #[error("it cannot be read ({0})")]
    Io(io::ErrorKind),
    /// It is a folder, a pipe or a device.
    #[error("it is not a file")]
    NoFile,
    /// It is too long.
    #[error("it has more than {max_bytes} bytes")]
    TooLong {
        /// The limit.
        max_bytes: u64,
    },
}

/// Reads a file of at most this size.
///
/// # Errors
///
/// [`FileError`].
pub(crate) fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>, FileError> {
    let failed = |error: io::Error| FileError::Io(error.kind());
    // Opening a pipe would wait for its other end.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(FileError::NoFile);
    }
    let mut content = Vec::new();
    File::open(path).map_err(failed)?.take(max_bytes + 1).read_to_end(&mut content).map_err(failed)?;
    if content.len() as u64 > max_bytes {
        return Err(FileError::TooLong { max_bytes });
    }
    Ok(content)
}

/// A file that is read again. It tells whether the content has changed.
pub(crate) struct SmallFile {
    path: PathBuf,
    max_bytes: u64,
    last: Option<[u8; 32]>,
}

impl SmallFile {
    pub fn new(path: PathBuf, max_bytes: u64) -> Self {
        Self { path, max_bytes, last: None }
    }

    /// Lets the next call return the content, whether it has changed or not.
    pub fn forget(&mut self) {
        self.last = None;
    }

    /// The content, off the async threads. None if it is that of the last call.
    ///
    /// # Errors
    ///
    /// [`FileError`].
    pub async fn changed(&mut self) -> Result<Option<Vec<u8>>, FileError> {
        let (path, max_bytes) = (self.path.clone(), self.max_bytes);
        let reading = tokio::task::spawn_blocking(move || {
            let content = read(&path, max_bytes)?;
            Ok((<[u8; 32]>::from(Sha256::digest(&content)), content))
        });
        // It fails when the server stops.
        let (hash, content) = reading.await.unwrap_or(Err(FileError::Io(io::ErrorKind::Interrupted)))?;
        Ok((self.last.replace(hash) != Some(hash)).then_some(content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_a_changed_content_is_returned() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut file = SmallFile::new(path.clone(), 4);
        assert_eq!(file.changed().await, Err(FileError::Io(io::ErrorKind::NotFound)));
        fs::write(&path, "a").unwrap();
        assert_eq!(file.changed().await, Ok(Some(b"a".to_vec())));
        assert_eq!(file.changed().await, Ok(None));
        fs::write(&path, "12345").unwrap();
        assert_eq!(file.changed().await, Err(FileError::TooLong { max_bytes: 4 }));
        fs::write(&path, "a").unwrap();
        assert_eq!(file.changed().await, Ok(None));
        fs::write(&path, "1234").unwrap();
        assert_eq!(file.changed().await, Ok(Some(b"1234".to_vec())));
        assert_eq!(read(folder.path(), 4), Err(FileError::NoFile));
    }
}
