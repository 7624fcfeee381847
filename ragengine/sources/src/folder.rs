//! Folders: mounted claims and ConfigMaps. Files may change at any time, so they are checked again when they are
//! opened.

mod below;
mod walk;

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use below::Root;
use sha2::{Digest, Sha256};

use crate::listing::ListingBuilder;
use crate::spool::{Spool, revision_of};
use crate::{FetchError, Fetched, FetchedFile, SourceError};

/// The size of the read buffer, in bytes.
const BUFFER_BYTES: usize = 64 * 1024;

/// A folder that was listed.
#[derive(Debug, Clone)]
pub struct Folder {
    root: Arc<Root>,
    kind: FolderKind,
}

/// The place of a folder.
#[derive(Debug, Clone)]
pub struct Place {
    /// Its path.
    pub path: PathBuf,
    /// A folder with mounted volumes, below which symbolic links in the path are not followed.
    pub mounts: Option<PathBuf>,
}

/// The kind of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderKind {
    /// A folder whose files change independently, such as a mounted claim.
    Claim,
    /// A mounted ConfigMap. All of its files are replaced at once.
    ConfigMap,
}

impl Folder {
    /// Lists the files of a folder. Skips names that begin with a dot, symbolic links, anything other than regular
    /// files, and the folder `lost+found` of a file system.
    pub fn open(place: &Place, kind: FolderKind, listing: &mut ListingBuilder) -> Result<Self, SourceError> {
        let path = match kind {
            FolderKind::Claim => place.path.clone(),
            FolderKind::ConfigMap => current_data(&place.path),
        };
        let failed = |source| SourceError::Folder { path: path.clone(), source };
        let root = Root::open(&path, place.mounts.as_deref()).map_err(failed)?;
        walk::walk(&root.path_of_open_folder(), listing, failed)?;
        Ok(Self { root: Arc::new(root), kind })
    }

    /// Copies a file into the work folder, unless its content has the known revision. The revision is the hash of the
    /// copied bytes, even if the file changes while it is copied.
    pub fn fetch(
        &self,
        path: &str,
        known: Option<&str>,
        work_folder: &Path,
        max_bytes: u64,
    ) -> Result<Fetched, FetchError> {
        let mut file = match self.root.open_file(path) {
            Ok(file) => file,
            Err(FetchError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => return self.missing(),
            Err(error) => return Err(error),
        };
        let facts = file.metadata()?;
        if facts.len() > max_bytes {
            return Err(FetchError::TooLarge { max_bytes });
        }
        if let Some(known) = known {
            if hash(&mut file, max_bytes)? == known {
                return Ok(Fetched::Unchanged);
            }
            file.rewind()?;
        }
        let mut spool = Spool::new(work_folder, max_bytes)?;
        read_in_parts(&mut file, |part| spool.write_all(part)).map_err(|error| Spool::explain(error, max_bytes))?;
        let spooled = spool.finish();
        let modified = match self.kind {
            FolderKind::Claim => facts.modified().ok().and_then(|time| jiff::Timestamp::try_from(time).ok()),
            // It is the time of mounting.
            FolderKind::ConfigMap => None,
        };
        Ok(Fetched::File(FetchedFile {
            path_on_disk: spooled.path,
            revision: spooled.revision,
            content_type: None,
            url: None,
            modified: modified.map(|time| in_seconds(time).to_string()),
        }))
    }

    fn missing(&self) -> Result<Fetched, FetchError> {
        match self.kind {
            FolderKind::Claim => Ok(Fetched::Gone),
            FolderKind::ConfigMap => Err(FetchError::Changed),
        }
    }
}

/// The folder with the current files of a ConfigMap. The kubelet replaces the link `..data` to it when they change. A
/// folder without this link is used directly.
fn current_data(path: &Path) -> PathBuf {
    path.join("..data").canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// A time without fractions of a second.
fn in_seconds(time: jiff::Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_second(time.as_second()).unwrap_or(time)
}

fn hash(file: &mut File, max_bytes: u64) -> Result<String, FetchError> {
    let mut hasher = Sha256::new();
    let mut size_bytes = 0;
    read_in_parts(file, |part| {
        size_bytes += part.len() as u64;
        if size_bytes > max_bytes {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        hasher.update(part);
        Ok(())
    })
    .map_err(|error| Spool::explain(error, max_bytes))?;
    Ok(revision_of(hasher))
}

fn read_in_parts(file: &mut File, mut consume: impl FnMut(&[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            length => consume(&buffer[..length])?,
        }
    }
}
