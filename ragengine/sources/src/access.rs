use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;

use crate::address::Resolver;
use crate::{AddressPolicy, Proxies, RefusedAddress};

/// What sources may use.
#[derive(Debug, Clone)]
pub struct Access {
    /// Where requests may go.
    pub addresses: AddressPolicy,
    /// What they go through.
    pub proxies: Proxies,
    /// An existing folder for files while they are looked at. What is put there is taken away again.
    pub work_folder: PathBuf,
    /// How much there may be of everything.
    pub limits: Limits,
}

impl Access {
    /// Whether somebody may write this URL into a source, as far as that can be told before it is asked.
    pub(crate) async fn judge(&self, url: &Url) -> Result<(), RefusedAddress> {
        Resolver::new(&self.addresses, &self.proxies).judge(url).await.map(drop)
    }
}

/// How much there may be of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most files of a source.
    pub max_files: usize,
    /// The longest file, also when it was sent compressed.
    pub max_file_bytes: u64,
    /// The most that is received of a repository.
    pub max_repository_bytes: u64,
    /// How long one file may take, from the first try to its last byte.
    pub request_timeout: Duration,
    /// How long a listing may take. For a repository this includes receiving it.
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
