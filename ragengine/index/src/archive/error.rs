use std::io;

/// Why an archive cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It is something else.
    #[error("it is neither a backup nor a persisted index of RAGEngine")]
    Foreign,
    /// It was written by a newer version.
    #[error(
        "it was written in format {0}, which this version does not know: use the version that wrote it, or a newer one"
    )]
    Newer(u32),
    /// It ends before its end.
    #[error("it is not whole: it was broken off before its end")]
    BrokenOff,
    /// What is in it is not what was written.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It has not arrived, or the disk refused to give it.
    #[error("it cannot be read: {0}")]
    Read(#[source] io::Error),
    /// Nobody took it, or the disk refused it.
    #[error("it cannot be written: {0}")]
    Write(#[source] io::Error),
}

impl ArchiveError {
    /// A short name for labels.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Foreign => "archive_foreign",
            Self::Newer(_) => "archive_newer",
            Self::BrokenOff => "archive_broken_off",
            Self::Damaged(_) => "archive_damaged",
            Self::Read(_) => "archive_read",
            Self::Write(_) => "archive_write",
        }
    }

    pub(super) fn damaged(reason: impl ToString) -> Self {
        Self::Damaged(reason.to_string())
    }
}
