//! Downloads the files of one model from a hub.

use std::path::Path;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;

use super::hub::Hub;
use super::staging::create_folders;
use crate::Secret;
use crate::files::{EMBEDDING_SETTING, Error};
use crate::http::{describe, printable};

/// Size of the write buffer in bytes. A received piece has only some ten kilobytes.
const WRITE_BUFFER_BYTES: usize = 1 << 20;

/// Hugging Face's header with the commit of a file.
const COMMIT_HEADER: &str = "x-repo-commit";

/// The progress of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The name of the file in the repository.
    pub file: &'a str,
    /// Bytes received so far.
    pub received_bytes: u64,
    /// Size of the file, if the hub reports it.
    pub total_bytes: Option<u64>,
}

/// A downloaded file.
pub(super) struct FetchedFile {
    pub(super) name: String,
    pub(super) sha256: String,
}

/// A model on a hub.
pub(super) struct Source<'a> {
    client: Client,
    base: String,
    hub: &'a Hub,
    authorization: Option<HeaderValue>,
    place: &'a Path,
}

impl<'a> Source<'a> {
    pub(super) fn new(model_id: &str, hub: &'a Hub, place: &'a Path) -> Result<Self, Error> {
        let endpoint = hub.endpoint.trim_end_matches('/');
        let url =
            // The URL is not quoted, because it may contain a credential.
            Url::parse(endpoint).map_err(|error| Error::Hub(format!("the hub's address is invalid: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Error::Hub(format!(
                "the hub's address {} must begin with https:// or http://",
                printable(&url)
            )));
        }
        let client = Client::builder()
            .connect_timeout(hub.connect_timeout)
            .read_timeout(hub.read_timeout)
            .timeout(hub.file_timeout)
            .https_only(url.scheme() == "https")
            .build()
            .map_err(|error| Error::Hub(format!("cannot prepare the connection to the hub: {}", describe(error))))?;
        let authorization = hub.token.as_ref().map(bearer).transpose()?;
        let base = format!("{endpoint}/{model_id}/resolve/{}", hub.revision);
        Ok(Self { client, base, hub, authorization, place })
    }

    /// Downloads one file into `directory`. None if the hub has no such file.
    pub(super) async fn fetch(
        &self,
        file: &str,
        directory: &Path,
        on_progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Option<FetchedFile>, Error> {
        let mut request = self.client.get(format!("{}/{file}", self.base));
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        let response = request.send().await.map_err(|error| self.failed(file, describe(error)))?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                let hint = "the repository does not exist, or it needs a token that may read it";
                return Err(self.failed(file, format!("{status}: {hint}")));
            }
            status => return Err(self.failed(file, format!("the hub answered {status}"))),
        }
        self.require_pinned(&response, file)?;
        let sha256 = self.store(response, file, &directory.join(file), on_progress).await?;
        Ok(Some(FetchedFile { name: file.to_owned(), sha256 }))
    }

    /// Checks that the file is from the requested commit, if the hub reports the commit.
    fn require_pinned(&self, response: &Response, file: &str) -> Result<(), Error> {
        let commit = response.headers().get(COMMIT_HEADER).and_then(|commit| commit.to_str().ok());
        match commit {
            Some(commit) if is_commit(&self.hub.revision) && !commit.eq_ignore_ascii_case(&self.hub.revision) => {
                Err(self.failed(file, format!("the hub sent the commit {commit} instead of the requested one")))
            }
            _ => Ok(()),
        }
    }

    async fn store(
        &self,
        mut response: Response,
        file: &str,
        path: &Path,
        on_progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<String, Error> {
        let total_bytes = response.content_length();
        let too_big = || self.failed(file, format!("it is larger than {} bytes", self.hub.max_file_bytes));
        if total_bytes.is_some_and(|bytes| bytes > self.hub.max_file_bytes) {
            return Err(too_big());
        }
        let parent = path.parent().unwrap_or(path);
        create_folders(parent).await?;
        let options = &mut tokio::fs::OpenOptions::new();
        let target =
            options.write(true).create(true).truncate(true).mode(0o600).open(path).await.map_err(Error::io(path))?;
        let mut target = tokio::io::BufWriter::with_capacity(WRITE_BUFFER_BYTES, target);
        let mut received_bytes = 0;
        let mut hasher = Sha256::new();
        while let Some(piece) = response.chunk().await.map_err(|error| self.failed(file, describe(error)))? {
            received_bytes += piece.len() as u64;
            if received_bytes > self.hub.max_file_bytes {
                return Err(too_big());
            }
            hasher.update(&piece);
            target.write_all(&piece).await.map_err(Error::io(path))?;
            on_progress(Progress { file, received_bytes, total_bytes });
        }
        target.flush().await.map_err(Error::io(path))?;
        target.get_ref().sync_all().await.map_err(Error::io(path))?;
        Ok(hex::encode(hasher.finalize()))
    }

    pub(super) fn missing(&self, file: &str) -> Error {
        self.failed(file, "the hub has no such file (an ONNX export and a tokenizer.json are needed)".to_owned())
    }

    fn failed(&self, file: &str, message: String) -> Error {
        let url = format!("{}/{file}", self.base);
        let url = Url::parse(&url).map_or(url, |url| printable(&url));
        Error::Fetch { url, message, directory: self.place.display().to_string(), setting: EMBEDDING_SETTING }
    }
}

/// Whether the revision is a full commit id. An abbreviated one may be the name of a tag.
fn is_commit(revision: &str) -> bool {
    revision.len() == 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn bearer(token: &Secret) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
        .map_err(|_| Error::Hub("the hub's token has characters that are not allowed in a header".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}
