use std::fs::{self, File};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use hyper::Method;

use super::COPIED;
use crate::http::Connection;

/// An operation that copies an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Copies all indexes to a file of the client.
    Backup,
    /// Restores the file of `Backup`.
    Restore,
    /// Copies the index to a file of the server.
    Persist,
    /// Loads the file of `Persist`.
    Load,
}

impl Operation {
    /// All operations. Each one that reads a file follows the one that writes it.
    pub const ALL: [Self; 4] = [Self::Backup, Self::Restore, Self::Persist, Self::Load];

    /// Name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Backup => "backup",
            Self::Restore => "restore over an existing index",
            Self::Persist => "persist",
            Self::Load => "load over an existing index",
        }
    }

    /// File that the operation writes or reads.
    pub fn file(self, folder: &Path) -> PathBuf {
        match self {
            Self::Backup | Self::Restore => folder.join("backup.tar"),
            Self::Persist | Self::Load => folder.join(format!("data/persisted/{COPIED}.tar")),
        }
    }

    /// Body of the request.
    ///
    /// # Errors
    ///
    /// If the backup cannot be read.
    pub fn source(self, folder: &Path) -> anyhow::Result<Bytes> {
        match self {
            Self::Restore => Ok(fs::read(self.file(folder))?.into()),
            Self::Backup | Self::Persist | Self::Load => Ok(Bytes::new()),
        }
    }

    /// Runs the operation until all data is on the disk.
    ///
    /// # Errors
    ///
    /// If the server rejects the request or the disk fails.
    pub async fn run(self, connection: &mut Connection, folder: &Path, source: Bytes) -> anyhow::Result<()> {
        let path = match self {
            Self::Backup => return self.back_up(connection, folder).await,
            Self::Restore => "/restore?overwrite=true".to_owned(),
            Self::Persist => format!("/persist/{COPIED}"),
            Self::Load => format!("/load/{COPIED}?overwrite=true"),
        };
        connection.send(Method::POST, &path, source).await?;
        Ok(())
    }

    async fn back_up(self, connection: &mut Connection, folder: &Path) -> anyhow::Result<()> {
        let mut file = File::create(self.file(folder))?;
        connection.download("/backup", &mut file).await?;
        Ok(file.sync_all()?)
    }
}
