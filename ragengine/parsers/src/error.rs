use serde::{Deserialize, Serialize};

use crate::Stopped;

/// Why a file gives no documents, or no more of them. It can be sent from a worker to its parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum ParseError {
    /// Neither its ending nor its content type says what it is.
    #[error("its format is not known")]
    UnknownFormat,
    /// It could not be opened or read.
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
    /// It makes more documents than allowed.
    #[error("it holds more than {max_documents} documents")]
    TooManyDocuments {
        /// The limit.
        max_documents: usize,
    },
    /// Its bytes are no text.
    #[error("it is not text: {0}")]
    NotText(String),
    /// There is nothing to find in it.
    #[error("it holds no text")]
    Empty,
    /// Pages, but no characters on them.
    #[error("its pages hold no text: they may be scans, or their fonts do not say which characters they show")]
    NoTextOnPages,
    /// It can be opened with a password only.
    #[error("it is encrypted, and opens with a password only")]
    Encrypted,
    /// It is not what its format says.
    #[error("{0}")]
    Malformed(String),
    /// None of its rows can be read. Holds what is wrong with the first.
    #[error("none of its rows can be read; {place}: {message}", place = .0.place, message = .0.message)]
    NoRow(crate::Problem),
    /// The worker took too long.
    #[error("it took longer than {max_seconds} s")]
    TookTooLong {
        /// The limit.
        max_seconds: u32,
    },
    /// The worker wanted more memory than allowed.
    #[error("it needs more than {} MiB of memory", max_bytes >> 20)]
    OutOfMemory {
        /// The limit.
        max_bytes: u64,
    },
    /// The parser has a fault.
    #[error("its parser failed: {0}")]
    Failed(String),
    /// No worker can be started: an error of this machine, not of the file.
    #[error("no parser can be started: {0}")]
    NoWorker(String),
    /// Whoever takes the documents wants no more.
    #[error("it was stopped")]
    Stopped,
}

impl ParseError {
    /// A short name of what went wrong, for labels.
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
