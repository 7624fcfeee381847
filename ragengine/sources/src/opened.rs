use std::path::PathBuf;
use std::sync::Arc;

use ragengine_settings::sync::{Origin, Source};

use crate::filter::Filter;
use crate::folder::{Folder, FolderKind, Place};
use crate::git::Git;
use crate::http::Http;
use crate::inline::Inline;
use crate::listing::{Listing, ListingBuilder};
use crate::s3::Bucket;
use crate::{Access, FetchError, Fetched, FileError, Item, Limits, SourceError};

/// A source whose files were listed.
#[derive(Debug)]
pub struct Opened {
    listing: Listing,
    revision: Option<String>,
    files: Files,
    work_folder: PathBuf,
    limits: Limits,
}

/// The kind of the source, with what is needed to fetch files from it.
#[derive(Debug)]
enum Files {
    Inline(Arc<Inline>),
    Folder(Folder),
    Http(Box<Http>),
    Git(Box<Git>),
    Bucket(Box<Bucket>),
}

/// Lists the files of a source.
///
/// # Errors
///
/// When the source cannot be listed. If only some files cannot be listed, they are in [`Opened::errors`].
pub async fn open(source: &Source, access: &Access) -> Result<Opened, SourceError> {
    let timeout = access.limits.listing_timeout;
    match tokio::time::timeout(timeout, list(source, access)).await {
        Ok(opened) => opened,
        Err(_) => Err(SourceError::Timeout { seconds: timeout.as_secs() }),
    }
}

async fn list(source: &Source, access: &Access) -> Result<Opened, SourceError> {
    let filter = Filter::new(&source.include, &source.exclude)?;
    let mut listing = ListingBuilder::new(filter, access.limits.max_files);
    let files = match &source.origin {
        Origin::Inline(inline) => Files::Inline(Arc::new(Inline::open(inline, &mut listing)?)),
        Origin::Folder(folder) => {
            let place = Place { path: folder.path.clone(), mounts: access.mounts.clone() };
            let (files, gathered) = open_folder(place, FolderKind::Claim, listing).await?;
            listing = gathered;
            files
        }
        Origin::ConfigMap(folder) => {
            let place = Place { path: folder.path.clone(), mounts: None };
            let (files, gathered) = open_folder(place, FolderKind::ConfigMap, listing).await?;
            listing = gathered;
            files
        }
        Origin::Http(http) => Files::Http(Box::new(Http::open(http, access, &mut listing).await?)),
        Origin::Git(git) => {
            let (files, gathered) = Git::open(git, access, listing).await?;
            listing = gathered;
            Files::Git(Box::new(files))
        }
        Origin::S3(s3) => Files::Bucket(Box::new(Bucket::open(s3, access, &mut listing).await?)),
    };
    let listing = listing.finish();
    let revision = match &files {
        Files::Git(git) => Some(git.commit()),
        _ => listing.revision(),
    };
    Ok(Opened { listing, revision, files, work_folder: access.work_folder.clone(), limits: access.limits })
}

/// Lists a folder on a blocking thread, because a network mount may be slow.
async fn open_folder(
    place: Place,
    kind: FolderKind,
    listing: ListingBuilder,
) -> Result<(Files, ListingBuilder), SourceError> {
    let walk = move || {
        let mut listing = listing;
        let folder = Folder::open(&place, kind, &mut listing)?;
        Ok((Files::Folder(folder), listing))
    };
    tokio::task::spawn_blocking(walk).await.map_err(|error| SourceError::Internal(error.to_string()))?
}

impl Opened {
    /// The revision of the source: the commit of a repository, or a hash of the listed paths and revisions. `None` if
    /// the listing has no revisions, as for folders and web pages.
    pub fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    /// The files that match `include` and `exclude`, ordered by path.
    pub fn items(&self) -> &[Item] {
        &self.listing.items
    }

    /// The entries that could not be listed, ordered by path.
    pub fn errors(&self) -> &[FileError] {
        &self.listing.errors
    }

    /// Copies a file into the work folder, unless it still has the known revision.
    ///
    /// # Errors
    ///
    /// When this file cannot be fetched. Other files may still be available.
    pub async fn fetch(&self, item: &Item, known_revision: Option<&str>) -> Result<Fetched, FetchError> {
        if known_revision.is_some() && item.revision.as_deref() == known_revision {
            return Ok(Fetched::Unchanged);
        }
        let max_bytes = self.limits.max_file_bytes;
        if item.size_bytes.is_some_and(|size_bytes| size_bytes > max_bytes) {
            return Err(FetchError::TooLarge { max_bytes });
        }
        match &self.files {
            Files::Inline(inline) => {
                let inline = Arc::clone(inline);
                self.fetch_blocking(item, known_revision, move |path, known, folder, max_bytes| {
                    inline.fetch(path, known, folder, max_bytes)
                })
                .await
            }
            Files::Folder(files) => {
                let files = files.clone();
                self.fetch_blocking(item, known_revision, move |path, known, folder, max_bytes| {
                    files.fetch(path, known, folder, max_bytes)
                })
                .await
            }
            Files::Http(http) => http.fetch(&item.path, known_revision).await,
            Files::Git(git) => git.fetch(item).await,
            Files::Bucket(bucket) => bucket.fetch(&item.path, known_revision).await,
        }
    }

    async fn fetch_blocking<F>(
        &self,
        item: &Item,
        known_revision: Option<&str>,
        fetch: F,
    ) -> Result<Fetched, FetchError>
    where
        F: FnOnce(&str, Option<&str>, &std::path::Path, u64) -> Result<Fetched, FetchError> + Send + 'static,
    {
        let (path, known) = (item.path.clone(), known_revision.map(str::to_owned));
        let (work_folder, max_bytes) = (self.work_folder.clone(), self.limits.max_file_bytes);
        tokio::task::spawn_blocking(move || fetch(&path, known.as_deref(), &work_folder, max_bytes))
            .await
            .map_err(|error| FetchError::Io(std::io::Error::other(error)))?
    }
}
