//! Requests for backups, which may be large and slow.

use std::time::Duration;

use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE};
use reqwest::{Body, Method, Response};

use crate::client::{Client, ClientError, refusal};
use crate::wire::RestoredIndexes;

/// High, because callers watch the progress of a backup themselves.
const TIMEOUT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Options for restoring a backup.
#[derive(Debug, Clone, Copy, Default)]
pub struct RestoreOptions<'a> {
    /// Whether existing indexes with the same names are replaced.
    pub overwrite: bool,
    /// The name of the only index to restore. None: all indexes.
    pub index: Option<&'a str>,
}

/// A backup that is being downloaded.
#[derive(Debug)]
pub struct Download {
    client: Client,
    response: Response,
}

impl Download {
    /// The next bytes. None at the end of the reply; the backup may still be incomplete.
    ///
    /// # Errors
    ///
    /// When the connection breaks.
    pub async fn chunk(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, ClientError> {
        self.response.chunk().await.map_err(|error| self.client.transport(&error))
    }
}

impl Client {
    /// Downloads a backup of all indexes, or of one.
    ///
    /// # Errors
    ///
    /// When the server refuses or does not answer.
    pub async fn backup(&self, index: Option<&str>) -> Result<Download, ClientError> {
        let mut url = self.url(&["backup"]);
        if let Some(index) = index {
            url.query_pairs_mut().append_pair("index", index);
        }
        let request = self.authorized(self.http.get(url).timeout(TIMEOUT));
        let response = request.send().await.map_err(|error| self.transport(&error))?;
        let status = response.status();
        if !status.is_success() {
            let text = response.text().await.map_err(|error| self.transport(&error))?;
            return Err(refusal(status, &text));
        }
        Ok(Download { client: self.clone(), response })
    }

    /// Uploads a backup of `bytes` bytes. The server restores the selected indexes after the last byte has arrived.
    ///
    /// # Errors
    ///
    /// When the server refuses or does not answer. If it refuses, nothing was restored.
    pub async fn restore(
        &self,
        backup: Body,
        bytes: u64,
        options: RestoreOptions<'_>,
    ) -> Result<RestoredIndexes, ClientError> {
        let mut url = self.url(&["restore"]);
        url.query_pairs_mut().append_pair("overwrite", if options.overwrite { "true" } else { "false" });
        url.query_pairs_mut().extend_pairs(options.index.map(|index| ("index", index)));
        let request = self.http.request(Method::POST, url).timeout(TIMEOUT).header(CONTENT_LENGTH, bytes);
        let request = request.header(CONTENT_TYPE, "application/x-tar").body(backup);
        self.read(self.authorized(request)).await
    }
}
