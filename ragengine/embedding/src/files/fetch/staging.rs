//! The directory beside a model's place that its files are fetched into.

use std::path::{Path, PathBuf};

use crate::files::Error;

/// A directory that is removed when it is dropped.
pub(super) struct Staging(pub(super) PathBuf);

impl Staging {
    pub(super) async fn create(path: PathBuf) -> Result<Self, Error> {
        // A process that was killed may have left one.
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
        // What cannot be removed now is removed by the next attempt.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Only their owner may read what is fetched: some models are not public.
pub(super) async fn create_folders(path: &Path) -> Result<(), Error> {
    tokio::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).await.map_err(Error::io(path))
}
