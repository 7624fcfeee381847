//! Fetching a model from a hub: into a directory beside its place, and from there into its place, weights last.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;

use super::kept::{self, Kept};
use super::model_id::{self, ModelId};
use super::{Error, ModelFiles, OPTIONAL, TOKENIZER, WEIGHTS};
use crate::Secret;
use crate::http::{describe, printable};

/// Bytes gathered before they are written: a piece of the network's is some ten kilobytes.
const WRITE_BUFFER_BYTES: usize = 1 << 20;

/// What is fetched when nobody says anything else.
const MAIN: &str = "main";

/// In it Hugging Face says of which commit a file is.
const COMMIT_HEADER: &str = "x-repo-commit";

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

/// How far a file has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Its name in the repository.
    pub file: &'a str,
    /// So far.
    pub received_bytes: u64,
    /// When the hub says so.
    pub total_bytes: Option<u64>,
}

/// The directory of a model: the one that `model_id` names, or `models_directory/organisation/name`, which is
/// fetched from the hub when it is not complete. Of another revision than `main` it is `…/name@revision`, so that what is there is never
/// taken for what is asked for. `on_progress` is called for each piece received.
///
/// The hashes of what is fetched are kept beside it, and compared each time it is located. A directory of the user's has none.
///
/// A fetch that fails or is dropped leaves nothing behind. One model is fetched by one caller at a time.
///
/// # Errors
///
/// The id is neither a directory nor `organisation/name`; a directory lacks a required file; a file is not what was fetched; the hub lacks one,
/// cannot be reached, or sends more than `max_file_bytes`; the directory cannot be written.
///
/// # Panics
///
/// When it fetches and the process has installed no rustls provider.
pub async fn locate_or_fetch(
    model_id: &str,
    models_directory: &Path,
    hub: &Hub,
    on_progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<PathBuf, Error> {
    let (organisation, name) = match model_id::parse(model_id)? {
        ModelId::Directory(directory) => return Ok(ModelFiles::at(directory)?.directory),
        ModelId::Repository { organisation, name } => (organisation, name),
    };
    let parent = models_directory.join(&organisation);
    model_id::check_segment(&hub.revision)
        .map_err(|reason| Error::Hub(format!("the hub's revision {:?}: {reason}", hub.revision)))?;
    let name = folder_name(&name, &hub.revision);
    let place = parent.join(&name);
    if ModelFiles::at(&place).is_ok() {
        compare(place.clone()).await?;
        return Ok(place);
    }
    let source = Source::new(model_id, hub, &place)?;
    let staging = Staging::create(parent.join(format!(".{name}.partial"))).await?;
    let fetched = fetch_files(&source, &staging, on_progress).await?;
    publish(&staging, &place, fetched, &hub.revision).await?;
    Ok(place)
}

/// What the usual revision is in is named as it always was.
fn folder_name(name: &str, revision: &str) -> String {
    if revision == MAIN { name.to_owned() } else { format!("{name}@{revision}") }
}

/// It reads all of a model, which takes a part of a second.
async fn compare(place: PathBuf) -> Result<(), Error> {
    apart(move || kept::compare_or_keep(&place)).await
}

async fn apart(work: impl FnOnce() -> Result<(), Error> + Send + 'static) -> Result<(), Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(Error::Hub(format!("the hashes of the model's files were not compared or kept: {error}")))
    })
}

/// A directory that is removed when it is dropped.
struct Staging(PathBuf);

impl Staging {
    async fn create(path: PathBuf) -> Result<Self, Error> {
        // A process that was killed may have left one.
        match tokio::fs::remove_dir_all(&path).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(&path)(error)),
            _ => {}
        }
        create_folders(&path).await?;
        Ok(Self(path))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next attempt.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A file that was fetched.
struct FetchedFile {
    name: String,
    sha256: String,
}

/// Only their owner may read what is fetched: some models are not public.
async fn create_folders(path: &Path) -> Result<(), Error> {
    tokio::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).await.map_err(Error::io(path))
}

/// Fetches everything there is; returns the files in the order in which they are to be published.
async fn fetch_files(
    source: &Source<'_>,
    staging: &Staging,
    on_progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Vec<FetchedFile>, Error> {
    let mut fetched = Vec::new();
    let tokenizer = source.fetch(TOKENIZER, &staging.0, on_progress).await?;
    fetched.push(tokenizer.ok_or_else(|| source.not_there(TOKENIZER))?);
    for file in OPTIONAL {
        fetched.extend(source.fetch(file, &staging.0, on_progress).await?);
    }
    for weights in WEIGHTS {
        if let Some(weights) = source.fetch(weights, &staging.0, on_progress).await? {
            // Models of more than 2 GB keep their weights in a second file.
            fetched.extend(source.fetch(&format!("{}_data", weights.name), &staging.0, on_progress).await?);
            fetched.push(weights);
            return Ok(fetched);
        }
    }
    Err(source.not_there(WEIGHTS[0]))
}

/// Moves the files into place, after their hashes and the weights last: a directory with weights is complete.
async fn publish(staging: &Staging, place: &Path, fetched: Vec<FetchedFile>, revision: &str) -> Result<(), Error> {
    let sha256: BTreeMap<String, String> =
        fetched.iter().map(|file| (file.name.clone(), file.sha256.clone())).collect();
    let (kept, folder) = (Kept { revision: Some(revision.to_owned()), sha256 }, staging.0.clone());
    apart(move || kept.write(&folder)).await?;
    let files = fetched.into_iter().map(|file| file.name);
    for file in [kept::FILE.to_owned()].into_iter().chain(files) {
        let to = place.join(&file);
        let parent = to.parent().unwrap_or(place);
        create_folders(parent).await?;
        tokio::fs::rename(staging.0.join(&file), &to).await.map_err(Error::io(&to))?;
        let directory = tokio::fs::File::open(parent).await.map_err(Error::io(parent))?;
        directory.sync_all().await.map_err(Error::io(parent))?;
    }
    Ok(())
}

/// One model of one hub.
struct Source<'a> {
    client: Client,
    base: String,
    hub: &'a Hub,
    authorization: Option<HeaderValue>,
    place: &'a Path,
}

impl<'a> Source<'a> {
    fn new(model_id: &str, hub: &'a Hub, place: &'a Path) -> Result<Self, Error> {
        let endpoint = hub.endpoint.trim_end_matches('/');
        let url =
            // It may hold a credential: it is not repeated.
            Url::parse(endpoint).map_err(|error| Error::Hub(format!("the hub's address is not one: {error}")))?;
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

    /// Fetches one file into `directory`; None when the hub has no such file.
    async fn fetch(
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

    /// A hub that says of which commit a file is must not say another one than was asked for.
    fn require_pinned(&self, response: &Response, file: &str) -> Result<(), Error> {
        let commit = response.headers().get(COMMIT_HEADER).and_then(|commit| commit.to_str().ok());
        match commit {
            Some(commit) if is_commit(&self.hub.revision) && !commit.eq_ignore_ascii_case(&self.hub.revision) => {
                Err(self.failed(file, format!("the hub sends the commit {commit}")))
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
        let too_big = || self.failed(file, format!("it is bigger than {} bytes", self.hub.max_file_bytes));
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

    fn not_there(&self, file: &str) -> Error {
        self.failed(file, "the hub has no such file (an ONNX export and a tokenizer.json are needed)".to_owned())
    }

    fn failed(&self, file: &str, message: String) -> Error {
        let url = format!("{}/{file}", self.base);
        let url = Url::parse(&url).map_or(url, |url| printable(&url));
        Error::Fetch { url, message, directory: self.place.display().to_string() }
    }
}

/// A whole one: an abbreviation may be a tag's name.
fn is_commit(revision: &str) -> bool {
    revision.len() == 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn bearer(token: &Secret) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
        .map_err(|_| Error::Hub("the hub's token has characters that no header may have".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}
