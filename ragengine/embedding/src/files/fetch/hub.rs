//! Where models are fetched from.

use std::time::Duration;

use crate::Secret;

/// What is fetched when nobody says anything else.
pub(super) const MAIN: &str = "main";

/// Where models are fetched from, and how long that may take.
#[derive(Debug, Clone)]
pub struct Hub {
    /// Files are at `{endpoint}/{model id}/resolve/{revision}/{file}`.
    pub endpoint: String,
    /// A branch, tag or commit. A commit pins the model.
    pub revision: String,
    /// For repositories that are not public; sent only to the endpoint, not where it redirects to.
    pub token: Option<Secret>,
    /// For one connection.
    pub connect_timeout: Duration,
    /// For the next piece of a file.
    pub read_timeout: Duration,
    /// For a whole file.
    pub file_timeout: Duration,
    /// A bigger file is refused.
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
