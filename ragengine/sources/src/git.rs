//! Git repositories. One commit is fetched as a pack, and files are read from the pack. There is no working tree, so a
//! repository can neither write outside of it nor run hooks or filters.
//!
//! If the server supports partial clones, only the folders are fetched first. The files are fetched when the first
//! changed one is needed.

mod bounded;
mod limited;
mod pack;
mod reference;
mod remote;
mod transport;
mod tree;

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use gix_hash::ObjectId;
use pack::Pack;
use ragengine_settings::sync;
use reference::Reference;
use remote::{Part, Remote, StopCondition};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::address::parse_url;
use crate::credentials::{TokenScheme, WebCredentials, check_receiver};
use crate::error::work_folder;
use crate::listing::ListingBuilder;
use crate::spool::Spool;
use crate::{Access, FetchError, Fetched, FetchedFile, Item, Limits, SourceError};

/// The maximum size of a file in a repository, in bytes. Files are unpacked in memory.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Part of a git server's error message if it does not have the requested commit.
const UNKNOWN_COMMIT: &str = "not our ref";

/// A repository that was listed.
#[derive(Debug)]
pub struct Git {
    commit: ObjectId,
    remote: Arc<Remote>,
    /// The pack with the files, or the error of fetching it. It is fetched when it is first needed.
    files: OnceCell<Result<Arc<Pack>, String>>,
    packs: Arc<TempDir>,
    work_folder: PathBuf,
    limits: Limits,
}

/// The commit and the files of a repository when it was opened.
struct State {
    commit: ObjectId,
    pack: Pack,
    listing: ListingBuilder,
}

/// Interrupts a blocking thread when its caller is cancelled.
struct InterruptOnDrop(Arc<AtomicBool>);

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Git {
    /// Fetches the folders of a commit, and lists its files.
    pub async fn open(
        source: &sync::Git,
        access: &Access,
        listing: ListingBuilder,
    ) -> Result<(Self, ListingBuilder), SourceError> {
        let url = parse_url(&source.url)?;
        let failed = |source_error| SourceError::Repository { url: url.to_string(), source: source_error };
        access.check_request(&url).await.map_err(|refused| failed(refused.into()))?;
        if source.credentials.is_some() {
            check_receiver(&source.credential_hosts, &url, &access.proxies)?;
        }
        let credentials = WebCredentials::read(source.credentials.as_deref(), TokenScheme::Password)?;
        let remote = Arc::new(Remote::new(&url, credentials, access, MAX_FILE_BYTES.min(access.limits.max_file_bytes)));
        let packs = private_folder("git-", &access.work_folder);
        let packs = Arc::new(packs.map_err(|error| work_folder(&error, &access.work_folder))?);
        let reference = Reference::new(source.reference.as_deref());
        let state = {
            let (remote, packs) = (Arc::clone(&remote), Arc::clone(&packs));
            let deadline = Instant::now() + access.limits.listing_timeout;
            run(move |interrupt| {
                read_state(&remote, &reference, &packs, listing, StopCondition { deadline, interrupt })
            })
            .await
        };
        let State { commit, pack, listing } = state.map_err(|error| SourceError::Internal(error.to_string()))??;
        let files = if pack.has_files() { OnceCell::new_with(Some(Ok(Arc::new(pack)))) } else { OnceCell::new() };
        let git = Self { commit, remote, files, packs, work_folder: access.work_folder.clone(), limits: access.limits };
        Ok((git, listing))
    }

    /// The id of the commit whose files were listed.
    pub fn commit(&self) -> String {
        self.commit.to_string()
    }

    /// Copies a file from the pack into the work folder.
    pub async fn fetch(&self, item: &Item) -> Result<Fetched, FetchError> {
        let Some(blob) = item.revision.as_ref().and_then(|revision| ObjectId::from_hex(revision.as_bytes()).ok())
        else {
            return Ok(Fetched::Gone);
        };
        let files = self.files.get_or_init(|| self.receive_files()).await;
        let files = files.clone().map_err(FetchError::Unreachable)?;
        let (work_folder, max_bytes) = (self.work_folder.clone(), self.remote.max_file_bytes());
        let write = move |_: &AtomicBool| {
            let content = files.read(blob)?.ok_or(FetchError::TooLarge { max_bytes })?;
            let mut spool = Spool::new(&work_folder, max_bytes)?;
            spool.write_all(&content).map_err(|error| Spool::explain(error, max_bytes))?;
            Ok::<_, FetchError>(spool.finish().path)
        };
        let path_on_disk = run(write).await.map_err(std::io::Error::other)??;
        let revision = blob.to_string();
        Ok(Fetched::File(FetchedFile { path_on_disk, revision, content_type: None, url: None, modified: None }))
    }

    /// Fetches the files of the commit. This is not retried: an error applies to all files.
    async fn receive_files(&self) -> Result<Arc<Pack>, String> {
        let (remote, packs, commit) = (Arc::clone(&self.remote), Arc::clone(&self.packs), self.commit);
        let deadline = Instant::now() + self.limits.listing_timeout;
        let receive = move |interrupt: &AtomicBool| {
            let mut connection = remote.connect()?;
            connection.receive(commit, Part::Files, packs.path(), StopCondition { deadline, interrupt })
        };
        match run(receive).await {
            Ok(Ok(pack)) => Ok(Arc::new(pack)),
            Ok(Err(error)) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Creates a folder that only its owner can read, because a repository may be confidential.
fn private_folder(prefix: &str, within: &Path) -> std::io::Result<TempDir> {
    tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(0o700)).tempdir_in(within)
}

/// Runs a blocking function on another thread. It is interrupted when the future is dropped.
async fn run<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> Result<T, tokio::task::JoinError> {
    let interrupt = Arc::new(AtomicBool::new(false));
    let _guard = InterruptOnDrop(Arc::clone(&interrupt));
    tokio::task::spawn_blocking(move || work(&interrupt)).await
}

fn read_state(
    remote: &Remote,
    reference: &Reference,
    packs: &TempDir,
    mut listing: ListingBuilder,
    until: StopCondition<'_>,
) -> Result<State, SourceError> {
    let failed = |source| SourceError::Repository { url: remote.url().to_owned(), source };
    let missing = || SourceError::Reference { url: remote.url().to_owned(), reference: reference.describe() };
    let mut connection = remote.connect().map_err(failed)?;
    let commit = connection.find(reference).map_err(failed)?.ok_or_else(missing)?;
    let pack = match connection.receive(commit, Part::Folders, packs.path(), until) {
        Ok(pack) => pack,
        Err(FetchError::Answer(reason)) if reason.contains(UNKNOWN_COMMIT) => return Err(missing()),
        Err(error) => return Err(failed(error)),
    };
    tree::list(&pack, commit, &mut listing, failed)?;
    Ok(State { commit, pack, listing })
}
