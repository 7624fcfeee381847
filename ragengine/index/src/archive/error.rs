use std::io;

/// Why an archive cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The input is not an archive.
    #[error("it is neither a backup nor a persisted index of RAGEngine")]
    Foreign,
    /// A newer version wrote it.
    #[error(
        "it was written in format {0}, which this version does not know: use the version that wrote it, or a newer one"
    )]
    Newer(u32),
    /// It ends before `end.json`.
    #[error("it is incomplete: it ends before its end marker")]
    BrokenOff,
    /// Its content is inconsistent or does not match its checksum.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// The input failed: the sender or the disk.
    #[error("it cannot be read: {0}")]
    Read(#[source] io::Error),
    /// The output failed: the receiver or the disk.
    #[error("it cannot be written: {0}")]
    Write(#[source] io::Error),
}

impl ArchiveError {
    /// The error's kind, for metrics and logs.
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
