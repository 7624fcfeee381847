use ragengine_sources::SourceError;

/// The longest message of a server that is repeated, in characters.
const MAX_REASON_CHARS: usize = 300;

/// Errors of backups in a bucket.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The bucket cannot be used: its address or its credentials are wrong.
    #[error(transparent)]
    Bucket(#[from] SourceError),
    /// The server failed or refused a request.
    #[error("cannot {action}: {reason}")]
    Request {
        /// What was requested, such as `list the backups`.
        action: &'static str,
        /// The server's reason.
        reason: String,
    },
    /// The bucket stored something else than was sent.
    #[error("{name} was uploaded, but the bucket has {stored} of its {sent} bytes: it was deleted, and is no backup")]
    NotStored {
        /// The name of the backup.
        name: String,
        /// The number of bytes that were sent.
        sent: u64,
        /// The number of bytes in the bucket.
        stored: u64,
    },
    /// The backup is longer than the parts of an upload allow.
    #[error("the backup is larger than {max_bytes} bytes, the most that can be uploaded")]
    TooLarge {
        /// The limit in bytes.
        max_bytes: u64,
    },
    /// The bucket has more objects than are listed.
    #[error("the prefix has more than {max} objects, so nothing was deleted: use a separate prefix for the backups")]
    TooMany {
        /// The limit.
        max: usize,
    },
    /// There is no complete backup of this name, or none at all.
    #[error("there is no complete backup{} below {place}{hint}", .name.as_ref().map(|name| format!(" {name}")).unwrap_or_default())]
    Missing {
        /// The requested name, if any.
        name: Option<String>,
        /// Bucket and prefix.
        place: String,
        /// What else was found.
        hint: String,
    },
    /// The backup is damaged.
    #[error("the backup {name} is damaged: {reason}. Nothing was restored. Name another backup")]
    Damaged {
        /// Its name.
        name: String,
        /// How.
        reason: String,
    },
}

impl BackupError {
    /// The kind of the error, as a stable value for labels.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bucket(_) => "bucket",
            Self::Request { .. } => "request",
            Self::NotStored { .. } => "not_stored",
            Self::TooLarge { .. } => "too_large",
            Self::TooMany { .. } => "too_many",
            Self::Missing { .. } => "missing",
            Self::Damaged { .. } => "damaged",
        }
    }

    /// An error of the library. Its words name the status and the server's own code, and no header.
    pub(crate) fn of(action: &'static str) -> impl Fn(object_store::Error) -> Self {
        move |error| Self::Request { action, reason: error.to_string().chars().take(MAX_REASON_CHARS).collect() }
    }
}
