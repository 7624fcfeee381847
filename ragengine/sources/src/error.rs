use std::error::Error;
use std::path::PathBuf;

use crate::RefusedAddress;

/// Why a source cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A pattern of `include` or `exclude` is none.
    #[error("the pattern '{pattern}' cannot be used: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An address that cannot be used at all.
    #[error("the address '{url}' cannot be used: {reason}")]
    Address {
        /// The address, without what is secret in it.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The folder is not there or cannot be read.
    #[error("the folder cannot be read: {0}")]
    Folder(#[source] std::io::Error),
    /// The files of the Secret are not what they must be.
    #[error("the Secret of accessSecret cannot be used: {0}")]
    Credentials(String),
    /// The source leads to a host that the Secret is not for.
    #[error("the Secret of accessSecret may be sent to {allowed} only, and not to {host}")]
    CredentialHost {
        /// The hosts that it is for.
        allowed: String,
        /// That of the source.
        host: String,
    },
    /// The way leads through a proxy, which could read the Secret.
    #[error(
        "the Secret of accessSecret is not sent to {host} through a proxy without encryption: write https://, or name the host in NO_PROXY"
    )]
    CredentialProxy {
        /// The host of the source.
        host: String,
    },
    /// There are too many files.
    #[error("there are more than {max_files} files: include and exclude can choose among them")]
    TooManyFiles {
        /// The most there may be.
        max_files: usize,
    },
    /// A sitemap, or one that it names, cannot be had.
    #[error("the sitemap {url} cannot be had: {source}")]
    Sitemap {
        /// Its address.
        url: String,
        /// Why not.
        source: FetchError,
    },
    /// A sitemap cannot be understood.
    #[error("the sitemap {url} cannot be read: {reason}")]
    SitemapContent {
        /// Its address.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A repository cannot be had.
    #[error("the repository {url} cannot be had: {source}")]
    Repository {
        /// Its address.
        url: String,
        /// Why not.
        source: FetchError,
    },
    /// The repository has no such branch, tag or commit.
    #[error("the repository {url} has no {reference}: ref must be a branch, a tag or a whole commit id")]
    Reference {
        /// Its address.
        url: String,
        /// What was looked for, in words.
        reference: String,
    },
    /// A bucket cannot be listed.
    #[error("the bucket '{bucket}' cannot be listed: {source}")]
    Bucket {
        /// Its name.
        bucket: String,
        /// Why not.
        source: FetchError,
    },
    /// It took too long.
    #[error("the listing took longer than {seconds} s")]
    Timeout {
        /// How long it may take.
        seconds: u64,
    },
    /// Something in this process or its work folder failed.
    #[error("{0}")]
    Internal(String),
}

impl SourceError {
    /// A short name for a label.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Pattern { .. } => "pattern",
            Self::Address { .. } => "address",
            Self::Folder(_) => "folder",
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

/// Why a file cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// It is too long.
    #[error("it is longer than {max_bytes} bytes")]
    TooLarge {
        /// How long it may be.
        max_bytes: u64,
    },
    /// Its address may not be used.
    #[error(transparent)]
    Refused(#[from] RefusedAddress),
    /// The server wants other credentials, or some at all.
    #[error("the server answered {status}: check the keys {keys} of the Secret of accessSecret")]
    Unauthorized {
        /// What it answered.
        status: u16,
        /// The keys that are read.
        keys: &'static str,
    },
    /// The server answered something that is no file.
    #[error("the server answered {status}")]
    Status {
        /// What it answered.
        status: u16,
    },
    /// The server sends elsewhere, and that is not followed.
    #[error("the server redirects, and {0}")]
    Redirect(&'static str),
    /// The server cannot be reached, or broke off.
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    /// It took too long.
    #[error("it took longer than {seconds} s")]
    Timeout {
        /// How long it may take.
        seconds: u64,
    },
    /// What came cannot be understood.
    #[error("the answer cannot be understood: {0}")]
    Answer(String),
    /// It is no longer what was listed.
    #[error("it changed while it was read; the next synchronisation takes it")]
    Changed,
    /// It is no ordinary file any more.
    #[error("it is no ordinary file")]
    NotAFile,
    /// It cannot be read or kept.
    #[error("it cannot be read: {0}")]
    Io(#[from] std::io::Error),
}

impl FetchError {
    /// A short name for a label.
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

    /// What a client's error means. Its own words have the address in them, which may have a password, and leave out the cause.
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

/// The first error of a kind among the causes of one.
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

/// An error of the work folder.
pub fn work_folder(error: &std::io::Error, folder: &std::path::Path) -> SourceError {
    SourceError::Internal(format!("the work folder {} cannot be used: {error}", PathBuf::from(folder).display()))
}
