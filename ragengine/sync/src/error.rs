use ragengine_client::ClientError;
use ragengine_sources::SourceError;

/// Why one source or all sources could not be synchronised.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The server refused a request, or did not answer.
    #[error("{0}")]
    Server(#[from] ClientError),
    /// The source cannot be read.
    #[error("{0}")]
    Source(#[from] SourceError),
    /// Another synchronisation has the record of the source.
    #[error("another synchronisation is using this source: {0}")]
    Busy(ClientError),
    /// Sources of a deleted owner still exist.
    #[error("source {name}{} has documents again after its deletion: stop the program that adds them", and_more(*.others))]
    Remains {
        /// The first of them.
        name: String,
        /// The number of the others.
        others: usize,
    },
    /// The process that parses files cannot be started.
    #[error("the process that parses files cannot be started: {0}")]
    Reader(String),
}

fn and_more(others: usize) -> String {
    if others == 0 { String::new() } else { format!(" (and {others} more)") }
}

impl SyncError {
    /// Converts the error of a request that wrote a record.
    pub fn of_record(error: ClientError) -> Self {
        if error.is_conflict() { Self::Busy(error) } else { Self::Server(error) }
    }

    /// The kind of the error, as a stable value for logs.
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
