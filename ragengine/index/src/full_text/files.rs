//! The files of the full text, in a folder of the index like the snapshot of its vectors.

use std::path::Path;

use tantivy::TantivyError;
use tantivy::directory::error::OpenReadError;
use uuid::Uuid;

use super::segment::TextSegment;
use super::set::TextPart;
use crate::snapshot::{Folders, Manifest, SnapshotError, require_room};

const FOLDERS: Folders = Folders { prefix: "text-", unfinished: "text.tmp" };

/// The properties that files must match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextIdentity {
    /// The id of the store.
    pub store: Uuid,
    /// The name of the analysis.
    pub analysis: String,
}

impl TextIdentity {
    /// Merges segments into files, which replace older ones, and opens them.
    ///
    /// # Errors
    ///
    /// If there is not enough space, or tantivy or the disk fails. The older files are kept then.
    pub fn write(&self, folder: &Path, parts: &[TextPart]) -> Result<TextSegment, SnapshotError> {
        let segments: Vec<_> = parts.iter().map(|part| (&*part.segment, &*part.dead)).collect();
        let mut rows = Vec::new();
        let path = FOLDERS.write(folder, |aside| {
            let bytes = segments.iter().map(|(segment, _)| segment.bytes()).sum::<Result<u64, _>>()?;
            require_room(aside, bytes, segments.iter().map(|(segment, _)| segment.rows().len()).sum())?;
            rows = TextSegment::write_merged(&segments, aside)?;
            let (store, kind) = (self.store, self.analysis.clone());
            Ok(Manifest { store, kind, dimensions: 0, rows: rows.iter().copied().collect() })
        })?;
        Ok(TextSegment::read(&path, rows)?)
    }

    /// Reads the latest files in an index's folder. None if there are none. `next_row` is the row that the store
    /// assigns next.
    ///
    /// # Errors
    ///
    /// If they cannot be used. The caller should then [`remove`] them.
    pub fn read(&self, folder: &Path, next_row: u64) -> Result<Option<TextSegment>, SnapshotError> {
        let Some((path, manifest)) = FOLDERS.latest(folder)? else { return Ok(None) };
        let foreign = |what: &str| Err(SnapshotError::Foreign(what.to_owned()));
        if manifest.store != self.store {
            return foreign("another store");
        }
        if manifest.kind != self.analysis {
            return foreign(&format!("the analysis '{}'", manifest.kind));
        }
        if manifest.rows.max() >= Some(next_row) {
            return foreign("a later state of the store");
        }
        Ok(Some(TextSegment::read(&path, manifest.rows.into_iter().collect())?))
    }
}

/// Removes the files of the full text.
///
/// # Errors
///
/// If the disk fails.
pub fn remove(folder: &Path) -> Result<(), SnapshotError> {
    FOLDERS.remove(folder)
}

impl From<TantivyError> for SnapshotError {
    fn from(error: TantivyError) -> Self {
        match error {
            TantivyError::IoError(error) => Self::Disk(error.to_string()),
            TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. }) => Self::Disk(io_error.to_string()),
            error => Self::Damaged(error.to_string()),
        }
    }
}
