//! Snapshots of built segments: the graph (or the trained codes) of an index, saved because building it takes long.
//!
//! The store is the source of truth; a snapshot only saves time. It is written to a temporary folder, synced and
//! renamed. A snapshot that is incomplete or belongs to another store is discarded, and the segment is rebuilt from the
//! stored vectors. Rows are never changed or reused, so an old snapshot stays valid: deleted rows are dead in it, and
//! missing rows are read from the store.
//!
//! So no snapshot is written at shutdown: the current segment was saved when it was built.

mod identity;
mod manifest;

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

pub use identity::Identity;
use manifest::{Manifest, ManifestError};
use ragengine_faiss::Error as FaissError;
use uuid::Uuid;

use super::store::sync_directory;
use super::vectors::Segment;
use crate::private;

const UNFINISHED: &str = "snapshot.tmp";
const PREFIX: &str = "snapshot-";
const MANIFEST: &str = "manifest";
const VECTORS: &str = "vectors.faiss";

/// Bytes that a snapshot must leave free on the disk for documents.
const SPARE_BYTES: u64 = 64 << 20;

/// The largest manifest: 100 bytes, and at most 8 for each of the 2^31 rows that FAISS can number.
const MAX_MANIFEST_BYTES: u64 = 1 << 34;

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

/// Writes a snapshot of a segment: to a temporary folder, which is synced and then replaces older snapshots. So a
/// snapshot that exists is complete.
///
/// # Errors
///
/// If there is not enough space, or the disk fails. The older snapshot is kept then.
pub fn write(folder: &Path, store: Uuid, dimensions: usize, segment: &Segment) -> Result<(), SnapshotError> {
    let aside = folder.join(UNFINISHED);
    let written = write_aside(&aside, store, dimensions, segment).and_then(|()| put_in_place(folder, &aside));
    written.map_err(|error| {
        drop(fs::remove_dir_all(&aside));
        match error {
            // A file that is incomplete right after writing is a failure of the disk.
            SnapshotError::Damaged(reason) => SnapshotError::Disk(reason),
            error => error,
        }
    })
}

fn write_aside(aside: &Path, store: Uuid, dimensions: usize, segment: &Segment) -> Result<(), SnapshotError> {
    if aside.exists() {
        fs::remove_dir_all(aside)?;
    }
    private::create_folder(aside)?;
    let (kind, rows) = (segment.kind().to_string(), segment.rows().iter().copied().collect());
    let manifest = Manifest { store, kind, dimensions: dimensions as u64, rows };
    let bytes = manifest.encode();
    require_room(aside, segment.file_bytes()? + bytes.len() as u64 + SPARE_BYTES)?;
    segment.write(&aside.join(VECTORS))?;
    let mut file = private::file().write(true).create_new(true).open(aside.join(MANIFEST))?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    Ok(sync_directory(aside)?)
}

fn require_room(folder: &Path, needed_bytes: u64) -> Result<(), SnapshotError> {
    let disk = rustix::fs::statvfs(folder).map_err(io::Error::from)?;
    let free_bytes = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free_bytes < needed_bytes { Err(SnapshotError::NoRoom { needed_bytes, free_bytes }) } else { Ok(()) }
}

fn put_in_place(folder: &Path, aside: &Path) -> Result<(), SnapshotError> {
    let older = numbered(folder)?;
    let number = older.last().map_or(1, |(number, _)| number + 1);
    fs::rename(aside, folder.join(format!("{PREFIX}{number:08}")))?;
    sync_directory(folder)?;
    for (_, path) in older {
        fs::remove_dir_all(path)?;
    }
    Ok(())
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
    remove_unfinished(folder)?;
    let Some((_, path)) = numbered(folder)?.pop() else { return Ok(None) };
    let mut bytes = Vec::new();
    File::open(path.join(MANIFEST))?.take(MAX_MANIFEST_BYTES).read_to_end(&mut bytes)?;
    let manifest = Manifest::decode(&bytes)?;
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
    remove_unfinished(folder)?;
    for (_, path) in numbered(folder)? {
        fs::remove_dir_all(path)?;
    }
    Ok(())
}

fn remove_unfinished(folder: &Path) -> Result<(), SnapshotError> {
    match fs::remove_dir_all(folder.join(UNFINISHED)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// The snapshots in a folder, in order. There is more than one only after a crash between two steps.
fn numbered(folder: &Path) -> Result<Vec<(u64, PathBuf)>, SnapshotError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(number) = name.strip_prefix(PREFIX).and_then(|number| number.parse().ok()) {
            found.push((number, path));
        }
    }
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests;
