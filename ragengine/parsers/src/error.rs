use serde::{Deserialize, Serialize};

use crate::Stopped;

/// Why parsing a file failed or stopped. It can be sent from a worker to its parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum ParseError {
    /// Neither the extension nor the content type is known.
    #[error("its format is not known")]
    UnknownFormat,
    /// The file cannot be opened or read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// The file is larger than allowed.
    #[error("it is larger than {max_bytes} bytes")]
    FileTooLarge {
        /// The limit.
        max_bytes: u64,
    },
    /// The text of a document is longer than allowed.
    #[error("its text is longer than {max_bytes} bytes")]
    DocumentTooLarge {
        /// The limit.
        max_bytes: usize,
    },
    /// The file has more documents than allowed.
    #[error("it contains more than {max_documents} documents")]
    TooManyDocuments {
        /// The limit.
        max_documents: usize,
    },
    /// The file is not text.
    #[error("it is not text: {0}")]
    NotText(String),
    /// The file has no text.
    #[error("it contains no text")]
    Empty,
    /// The file has pages, but no text on them.
    #[error("its pages contain no text: they may be scans, or their fonts may not map glyphs to characters")]
    NoTextOnPages,
    /// The file needs a password.
    #[error("it is encrypted and needs a password")]
    Encrypted,
    /// The file is invalid in its format.
    #[error("{0}")]
    Malformed(String),
    /// No row is valid. Contains the problem of the first row.
    #[error("none of its rows can be read; {place}: {message}", place = .0.place, message = .0.message)]
    NoRow(crate::Problem),
    /// The worker took too long.
    #[error("it took longer than {max_seconds} s")]
    TookTooLong {
        /// The limit.
        max_seconds: u32,
    },
    /// The worker needed more memory than allowed.
    #[error("it needs more than {} MiB of memory", max_bytes >> 20)]
    OutOfMemory {
        /// The limit.
        max_bytes: u64,
    },
    /// The parser failed unexpectedly.
    #[error("its parser failed: {0}")]
    Failed(String),
    /// No worker can be started. This is an error of the machine, not of the file.
    #[error("no parser can be started: {0}")]
    NoWorker(String),
    /// The consumer of the documents has stopped.
    #[error("it was stopped")]
    Stopped,
}

impl ParseError {
    /// A short name for metric labels.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UnknownFormat => "unknown_format",
            Self::Unreadable(_) => "unreadable",
            Self::FileTooLarge { .. } => "file_too_large",
            Self::DocumentTooLarge { .. } => "document_too_large",
            Self::TooManyDocuments { .. } => "too_many_documents",
            Self::NotText(_) => "not_text",
            Self::Empty => "empty",
            Self::NoTextOnPages => "no_text_on_pages",
            Self::Encrypted => "encrypted",
            Self::Malformed(_) => "malformed",
            Self::NoRow(_) => "no_row",
            Self::TookTooLong { .. } => "took_too_long",
            Self::OutOfMemory { .. } => "out_of_memory",
            Self::Failed(_) => "failed",
            Self::NoWorker(_) => "no_worker",
            Self::Stopped => "stopped",
        }
    }
}

impl From<Stopped> for ParseError {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

impl From<std::io::Error> for ParseError {
    fn from(error: std::io::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}
