//! Snapshots of built segments: the graph (or the trained codes) of an index, saved because building it takes long.
//!
//! The store is the source of truth; a snapshot only saves time. It is written to a temporary folder, synced and
//! renamed. A snapshot that is incomplete or belongs to another store is discarded, and the segment is rebuilt from the
//! stored vectors. Rows are never changed or reused, so an old snapshot stays valid: deleted rows are dead in it, and
//! missing rows are read from the store.
//!
//! So no snapshot is written at shutdown: the current segment was saved when it was built.

mod folders;
mod identity;
mod manifest;

use std::io::{self, ErrorKind};
use std::path::Path;

pub use folders::{Folders, require_room};
pub use identity::Identity;
pub use manifest::Manifest;
use manifest::ManifestError;
use ragengine_faiss::Error as FaissError;
use uuid::Uuid;

use super::vectors::Segment;

const FOLDERS: Folders = Folders { prefix: "snapshot-", unfinished: "snapshot.tmp" };
const VECTORS: &str = "vectors.faiss";

/// A snapshot cannot be used, or was not written.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Its content is damaged.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It was made from other data.
    #[error("it belongs to {0}")]
    Foreign(String),
    /// A newer version wrote it.
    #[error("it was written in format {0}, which this version does not know")]
    Newer(u32),
    /// It would not leave enough space on the disk.
    #[error("there is no room for it: {needed_bytes} bytes are needed and {free_bytes} are free")]
    NoRoom {
        /// The bytes that it needs, including the space that must stay free.
        needed_bytes: u64,
        /// The bytes that are free.
        free_bytes: u64,
    },
    /// The disk failed.
    #[error("the disk failed: {0}")]
    Disk(String),
}

impl SnapshotError {
    /// The error's kind, for metrics and logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Damaged(_) => "damaged",
            Self::Foreign(_) => "foreign",
            Self::Newer(_) => "newer",
            Self::NoRoom { .. } => "no_room",
            Self::Disk(_) => "disk",
        }
    }
}

impl From<io::Error> for SnapshotError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound => Self::Damaged("a file of it is missing".to_owned()),
            _ => Self::Disk(error.to_string()),
        }
    }
}

impl From<FaissError> for SnapshotError {
    fn from(error: FaissError) -> Self {
        match error {
            FaissError::Io { source, .. } => source.into(),
            FaissError::OtherIndex { .. } => Self::Foreign(error.to_string()),
            error => Self::Damaged(error.to_string()),
        }
    }
}

impl From<ManifestError> for SnapshotError {
    fn from(error: ManifestError) -> Self {
        match error {
            ManifestError::Damaged(reason) => Self::Damaged(reason.to_owned()),
            ManifestError::Newer(format) => Self::Newer(format),
        }
    }
}

impl From<super::store::StoreError> for SnapshotError {
    fn from(error: super::store::StoreError) -> Self {
        Self::Disk(error.to_string())
    }
}

/// Writes a snapshot of a segment, which replaces older ones.
///
/// # Errors
///
/// If there is not enough space, or the disk fails. The older snapshot is kept then.
pub fn write(folder: &Path, store: Uuid, dimensions: usize, segment: &Segment) -> Result<(), SnapshotError> {
    let make = |aside: &Path| {
        require_room(aside, segment.file_bytes()?, segment.rows().len())?;
        segment.write(&aside.join(VECTORS))?;
        let (kind, rows) = (segment.kind().to_string(), segment.rows().iter().copied().collect());
        Ok(Manifest { store, kind, dimensions: dimensions as u64, rows })
    };
    FOLDERS.write(folder, make).map(drop)
}

/// Reads the latest snapshot in an index's folder. None if there is none.
///
/// `next_row` is the row that the store assigns next. A snapshot with that row or a later one was made from a later
/// state of the store, so this store is an old copy and may assign the same rows to other vectors.
///
/// # Errors
///
/// If it cannot be used. The caller should then [`remove`] it.
pub fn read(folder: &Path, identity: Identity, next_row: u64) -> Result<Option<Segment>, SnapshotError> {
    let Some((path, manifest)) = FOLDERS.latest(folder)? else { return Ok(None) };
    let kind = identity.kind_of(&manifest, next_row)?;
    let rows = manifest.rows.into_iter().collect();
    let segment = Segment::read(&path.join(VECTORS), kind, identity.dimensions, rows)?;
    segment.map(Some).ok_or_else(|| SnapshotError::Damaged("the numbers of vectors and rows differ".to_owned()))
}

/// Removes all snapshots of an index.
///
/// # Errors
///
/// If the disk fails.
pub fn remove(folder: &Path) -> Result<(), SnapshotError> {
    FOLDERS.remove(folder)
}

#[cfg(test)]
mod tests;
