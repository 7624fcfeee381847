use std::fs::{self, File};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use hyper::Method;

use super::COPIED;
use crate::http::Connection;

/// A kind of copy. Those that read follow those that write what they read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// To a file of the client's.
    Backup,
    /// From there.
    Restore,
    /// To a file of the server's.
    Persist,
    /// From there.
    Load,
}

impl Operation {
    /// All, in an order in which they can be done.
    pub const ALL: [Self; 4] = [Self::Backup, Self::Restore, Self::Persist, Self::Load];

    /// What a row calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Backup => "backup",
            Self::Restore => "restore over what is there",
            Self::Persist => "persist",
            Self::Load => "load over what is there",
        }
    }

    /// The file that it writes or reads.
    pub fn file(self, folder: &Path) -> PathBuf {
        match self {
            Self::Backup | Self::Restore => folder.join("backup.tar"),
            Self::Persist | Self::Load => folder.join(format!("data/persisted/{COPIED}.tar")),
        }
    }

    /// What the client sends.
    ///
    /// # Errors
    ///
    /// When there is no backup.
    pub fn source(self, folder: &Path) -> anyhow::Result<Bytes> {
        match self {
            Self::Restore => Ok(fs::read(self.file(folder))?.into()),
            Self::Backup | Self::Persist | Self::Load => Ok(Bytes::new()),
        }
    }

    /// Does it, until all is on the disk.
    ///
    /// # Errors
    ///
    /// When the server refuses, or the disk does.
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
