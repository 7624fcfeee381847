//! The hub that models are downloaded from.

use std::time::Duration;

use crate::Secret;

/// The default revision.
pub(super) const MAIN: &str = "main";

/// The hub that models are downloaded from, with timeouts and limits.
#[derive(Debug, Clone)]
pub struct Hub {
    /// The base URL: files are at `{endpoint}/{model id}/resolve/{revision}/{file}`.
    pub endpoint: String,
    /// A branch, tag or commit. A commit pins the model.
    pub revision: String,
    /// The access token for repositories that are not public. It is sent only to the endpoint, not to targets of
    /// redirects.
    pub token: Option<Secret>,
    /// The timeout of connecting.
    pub connect_timeout: Duration,
    /// The timeout between two pieces of a file.
    pub read_timeout: Duration,
    /// The timeout of a whole file.
    pub file_timeout: Duration,
    /// Maximum size of a file. A larger one is an error.
    pub max_file_bytes: u64,
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            endpoint: "https://huggingface.co".to_owned(),
            revision: MAIN.to_owned(),
            token: None,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(60),
            file_timeout: Duration::from_secs(3600),
            max_file_bytes: 4 << 30,
        }
    }
}
