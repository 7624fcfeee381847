use ragengine_client::ClientError;
use ragengine_sources::SourceError;

/// Why a source, or all of them, could not be synchronised.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The server refuses, or does not answer.
    #[error("{0}")]
    Server(#[from] ClientError),
    /// The source cannot be read.
    #[error("{0}")]
    Source(#[from] SourceError),
    /// Another synchronisation has it.
    #[error("another synchronisation has this source: {0}")]
    Busy(ClientError),
    /// Everything was to be deleted, and is not.
    #[error("source {name} and {others} others are still there after they were deleted: something else fills them")]
    Remains {
        /// The first that is left.
        name: String,
        /// How many more there are.
        others: usize,
    },
    /// The programs that read files do not start.
    #[error("files cannot be read: {0}")]
    Reader(String),
}

impl SyncError {
    /// The server did not take the record of a source.
    pub fn of_record(error: ClientError) -> Self {
        if error.is_conflict() { Self::Busy(error) } else { Self::Server(error) }
    }

    /// A short name for logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Server(_) => "server",
            Self::Source(_) => "source",
            Self::Busy(_) => "busy",
            Self::Remains { .. } => "remains",
            Self::Reader(_) => "reader",
        }
    }
}
