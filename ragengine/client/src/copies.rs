//! Backups: what moves them may be large, and takes as long as it takes.

use std::time::Duration;

use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE};
use reqwest::{Body, Method, Response};

use crate::client::{Client, ClientError, refusal};
use crate::wire::RestoredIndexes;

/// Whoever moves a backup watches that it moves: only this bounds the whole of it.
const TIMEOUT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// What of a backup is restored, and over what.
#[derive(Debug, Clone, Copy, Default)]
pub struct Over<'a> {
    /// Whether its indexes take the place of those that have their names.
    pub overwrite: bool,
    /// The only index that is restored. None: all of them.
    pub index: Option<&'a str>,
}

/// A backup on its way.
#[derive(Debug)]
pub struct Download {
    client: Client,
    response: Response,
}

impl Download {
    /// The next bytes. None at the end, which says nothing about whether the backup is whole.
    ///
    /// # Errors
    ///
    /// When it breaks off.
    pub async fn chunk(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, ClientError> {
        self.response.chunk().await.map_err(|error| self.client.transport(&error))
    }
}

impl Client {
    /// Asks for a backup of all indexes.
    ///
    /// # Errors
    ///
    /// When the server refuses or nobody answers.
    pub async fn backup(&self) -> Result<Download, ClientError> {
        let request = self.authorized(self.http.get(self.url(&["backup"])).timeout(TIMEOUT));
        let response = request.send().await.map_err(|error| self.transport(&error))?;
        let status = response.status();
        if !status.is_success() {
            let text = response.text().await.map_err(|error| self.transport(&error))?;
            return Err(refusal(status, &text));
        }
        Ok(Download { client: self.clone(), response })
    }

    /// Sends a backup of `bytes` bytes, whose indexes, or the one of them that is named, are made when the last one has arrived.
    ///
    /// # Errors
    ///
    /// When the server refuses or nobody answers. Nothing was restored when it refused.
    pub async fn restore(&self, backup: Body, bytes: u64, over: Over<'_>) -> Result<RestoredIndexes, ClientError> {
        let mut url = self.url(&["restore"]);
        url.query_pairs_mut().append_pair("overwrite", if over.overwrite { "true" } else { "false" });
        url.query_pairs_mut().extend_pairs(over.index.map(|index| ("index", index)));
        let request = self.http.request(Method::POST, url).timeout(TIMEOUT).header(CONTENT_LENGTH, bytes);
        let request = request.header(CONTENT_TYPE, "application/x-tar").body(backup);
        self.read(self.authorized(request)).await
    }
}
