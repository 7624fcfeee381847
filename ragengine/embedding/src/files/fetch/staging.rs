//! The temporary directory that a model's files are downloaded into.

use std::path::{Path, PathBuf};

use crate::files::Error;

/// A directory that is removed when it is dropped.
pub(super) struct Staging(pub(super) PathBuf);

impl Staging {
    pub(super) async fn create(path: PathBuf) -> Result<Self, Error> {
        // A killed process may have left a directory behind.
        match tokio::fs::remove_dir_all(&path).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(&path)(error)),
            _ => {}
        }
        create_folders(&path).await?;
        Ok(Self(path))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // If this fails, the next attempt removes the directory.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Creates directories that only their owner may read, because some models are not public.
pub(super) async fn create_folders(path: &Path) -> Result<(), Error> {
    tokio::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).await.map_err(Error::io(path))
}
