use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;

use crate::address::Resolver;
use crate::{AddressPolicy, Proxies, RefusedAddress};

/// The network access, work folder and limits of sources.
#[derive(Debug, Clone)]
pub struct Access {
    /// Decides which addresses requests may be sent to.
    pub addresses: AddressPolicy,
    /// The proxies for requests.
    pub proxies: Proxies,
    /// An existing folder for temporary files, which are deleted after use.
    pub work_folder: PathBuf,
    /// A folder with mounted volumes. The path of a folder source is opened without following symbolic links below it.
    pub mounts: Option<PathBuf>,
    /// The limits of one source.
    pub limits: Limits,
}

impl Access {
    /// Checks a URL of a source, as far as possible before the request.
    pub(crate) async fn check_request(&self, url: &Url) -> Result<(), RefusedAddress> {
        Resolver::new(&self.addresses, &self.proxies).check_request(url).await.map(drop)
    }
}

/// The limits of one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of files.
    pub max_files: usize,
    /// The maximum size of a file in bytes, after decompression.
    pub max_file_bytes: u64,
    /// The maximum size of the pack of a repository, in bytes.
    pub max_repository_bytes: u64,
    /// The maximum time to fetch a file, including retries.
    pub request_timeout: Duration,
    /// The maximum time to list a source. For a repository, this includes fetching it.
    pub listing_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_files: 100_000,
            max_file_bytes: 50 * 1024 * 1024,
            max_repository_bytes: 1024 * 1024 * 1024,
            request_timeout: Duration::from_secs(120),
            listing_timeout: Duration::from_secs(900),
        }
    }
}
