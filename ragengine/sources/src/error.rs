use std::error::Error;
use std::path::PathBuf;

use crate::RefusedAddress;

/// Why a source cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A pattern of `include` or `exclude` is invalid.
    #[error("the pattern '{pattern}' in include or exclude is invalid: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An address of the source is invalid.
    #[error("the address '{url}' is invalid: {reason}")]
    Address {
        /// The address, without credentials.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The folder does not exist or cannot be read.
    #[error("the folder {} cannot be read: {source}; check that it exists and is readable", .path.display())]
    Folder {
        /// The path of the folder.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The files of the Secret are missing or invalid.
    #[error("the Secret in accessSecret is invalid: {0}")]
    Credentials(String),
    /// The source is at a host to which the Secret may not be sent.
    #[error(
        "the Secret in accessSecret may only be sent to {allowed}, not to {host}: \
         correct the address, or allow the host"
    )]
    CredentialHost {
        /// The hosts to which it may be sent, separated by commas.
        allowed: String,
        /// The host of the source, with its port if it is not the default.
        host: String,
    },
    /// The request goes through a proxy, which could read the Secret.
    #[error(
        "the Secret in accessSecret is not sent to {host} through a proxy without encryption: \
         use https://, or add the host to NO_PROXY"
    )]
    CredentialProxy {
        /// The host of the source.
        host: String,
    },
    /// The source has too many files.
    #[error("the source has more than {max_files} files: select fewer with include and exclude")]
    TooManyFiles {
        /// The maximum number of files.
        max_files: usize,
    },
    /// A sitemap cannot be fetched.
    #[error("the sitemap {url} cannot be fetched: {source}")]
    Sitemap {
        /// The address of the sitemap.
        url: String,
        /// The error of the request.
        source: FetchError,
    },
    /// A sitemap is invalid.
    #[error("the sitemap {url} cannot be read: {reason}")]
    SitemapContent {
        /// The address of the sitemap.
        url: String,
        /// What is wrong with its content.
        reason: String,
    },
    /// A repository cannot be fetched.
    #[error("the repository {url} cannot be fetched: {source}")]
    Repository {
        /// The address of the repository.
        url: String,
        /// The error of the request.
        source: FetchError,
    },
    /// The repository has no such branch, tag or commit.
    #[error("the repository {url} has no {reference}: set ref to a branch, a tag or a full commit id")]
    Reference {
        /// The address of the repository.
        url: String,
        /// A description of the reference.
        reference: String,
    },
    /// A bucket cannot be listed.
    #[error("the bucket '{bucket}' cannot be listed: {source}")]
    Bucket {
        /// The name of the bucket.
        bucket: String,
        /// The error of the request.
        source: FetchError,
    },
    /// Listing the source took too long.
    #[error("listing the source took longer than {seconds} s: check the server, or split the source")]
    Timeout {
        /// The maximum time.
        seconds: u64,
    },
    /// An error of this process or its work folder.
    #[error("{0}")]
    Internal(String),
}

impl SourceError {
    /// The kind of the error, as a stable value for labels.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Pattern { .. } => "pattern",
            Self::Address { .. } => "address",
            Self::Folder { .. } => "folder",
            Self::Credentials(_) | Self::CredentialHost { .. } | Self::CredentialProxy { .. } => "credentials",
            Self::TooManyFiles { .. } => "too_many_files",
            Self::SitemapContent { .. } => "sitemap",
            Self::Sitemap { source, .. } | Self::Repository { source, .. } | Self::Bucket { source, .. } => {
                source.kind()
            }
            Self::Reference { .. } => "reference",
            Self::Timeout { .. } => "timeout",
            Self::Internal(_) => "internal",
        }
    }
}

/// Why a file cannot be fetched. Messages are shown after the path or address of the file.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The content is too large.
    #[error("it is larger than the limit of {max_bytes} bytes: reduce its size, or split it")]
    TooLarge {
        /// The maximum size in bytes.
        max_bytes: u64,
    },
    /// Requests to this address are not allowed.
    #[error(transparent)]
    Refused(#[from] RefusedAddress),
    /// The server requires credentials, or refuses the ones that were sent.
    #[error("status {status}: check {keys} in the Secret of accessSecret")]
    Unauthorized {
        /// The HTTP status, 401 or 403.
        status: u16,
        /// The keys of the Secret that are read.
        keys: &'static str,
    },
    /// The server responded with an unexpected status.
    #[error("the server responded with status {status}: check the address and the server")]
    Status {
        /// The HTTP status.
        status: u16,
    },
    /// The server redirects, and the redirect is invalid or one too many.
    #[error("the server sent a redirect that was not followed: {0}")]
    Redirect(&'static str),
    /// The server cannot be reached, or the connection broke.
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    /// The request took too long.
    #[error("the server did not respond completely within {seconds} s: check the server")]
    Timeout {
        /// The maximum time.
        seconds: u64,
    },
    /// The response of the server is invalid.
    #[error("the response of the server is invalid: {0}")]
    Answer(String),
    /// The file changed after it was listed.
    #[error("the file changed while it was read: the next synchronisation reads it again")]
    Changed,
    /// The path is no longer that of a regular file.
    #[error("it is not a regular file: replace it with one")]
    NotAFile,
    /// The file cannot be read, or not be written to the work folder.
    #[error("the file cannot be read: {0}")]
    Io(#[from] std::io::Error),
}

impl FetchError {
    /// The kind of the error, as a stable value for labels.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "too_large",
            Self::Refused(_) => "refused_address",
            Self::Unauthorized { .. } => "unauthorized",
            Self::Status { .. } => "status",
            Self::Redirect(_) => "redirect",
            Self::Unreachable(_) => "unreachable",
            Self::Timeout { .. } => "timeout",
            Self::Answer(_) => "answer",
            Self::Changed => "changed",
            Self::NotAFile => "not_a_file",
            Self::Io(_) => "io",
        }
    }

    /// Converts an error of the HTTP client. Its own message is not used, because it contains the address, which may
    /// have a password, and omits the cause.
    pub(crate) fn from_client(error: &reqwest::Error, timeout: std::time::Duration) -> Self {
        if let Some(refused) = find_source::<RefusedAddress>(error) {
            return Self::Refused(refused.clone());
        }
        if error.is_timeout() {
            return Self::Timeout { seconds: timeout.as_secs() };
        }
        let mut cause: &dyn Error = error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        match cause.downcast_ref::<reqwest::Error>() {
            Some(_) => Self::Unreachable("the request failed".into()),
            None => Self::Unreachable(cause.to_string()),
        }
    }
}

/// The first error of a type in the chain of causes.
pub fn find_source<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut current = Some(error);
    while let Some(error) = current {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        current = error.source();
    }
    None
}

/// Converts an error of the work folder.
pub fn work_folder(error: &std::io::Error, folder: &std::path::Path) -> SourceError {
    SourceError::Internal(format!("the work folder {} cannot be used: {error}", PathBuf::from(folder).display()))
}
