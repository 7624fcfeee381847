//! Opening an index: its documents, then the snapshot of its vectors, then the vectors that the snapshot lacks.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Weak};

use ragengine_faiss::Kind;
use ragengine_settings::VectorIndexKind;
use tracing::{info, warn};
use uuid::Uuid;

use super::full_text::FullText;
use super::record::IndexRecord;
use super::snapshot::{self, Identity, SnapshotError};
use super::store::Reader;
use super::vectors::{Segment, kind_for};
use super::view::View;
use super::{IndexError, SearchSettings};
use crate::metrics::IndexMetrics;

/// Vectors handed to FAISS at once.
const BATCH: usize = 4096;

/// Rows of a snapshot that are compared with the store, as a sample.
const COMPARED_ROWS: usize = 64;

/// The step that an index is at while it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Reading the documents.
    Documents,
    /// Reading the snapshot of the vectors.
    Snapshot,
    /// Reading the vectors that are not in the snapshot.
    Vectors {
        /// Vectors that were read.
        done: u64,
        /// All vectors to read.
        of: u64,
    },
}

impl std::fmt::Display for Step {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Documents => formatter.write_str("reading its documents"),
            Self::Snapshot => formatter.write_str("reading the snapshot of its vectors"),
            Self::Vectors { done, of } => write!(formatter, "{done} of {of} vectors read"),
        }
    }
}

/// The index that is being opened.
pub(super) struct Opening<'a> {
    pub(super) name: &'a str,
    pub(super) directory: &'a Path,
    pub(super) record: &'a IndexRecord,
    pub(super) search: SearchSettings,
    pub(super) metrics: &'a IndexMetrics,
    pub(super) store: Uuid,
}

impl Opening<'_> {
    /// Builds the view from the store. Also returns the segment that came from a snapshot.
    ///
    /// # Errors
    ///
    /// If the store cannot be read. An unusable snapshot is not an error: searches are exact until the graph is
    /// rebuilt.
    pub(super) fn recover(
        &self,
        reader: &Arc<Reader>,
        full_text: &FullText,
        progress: &mut dyn FnMut(Step),
    ) -> Result<(View, Weak<Segment>), IndexError> {
        progress(Step::Documents);
        let mut view = View::of_documents(Arc::clone(reader), self.record)?;
        full_text.recover(self, reader, &mut view)?;
        let rows = view.rows();
        progress(Step::Snapshot);
        let kept = self.snapshot(reader, &rows)?;
        let missing = match &kept {
            Some(segment) => without(&rows, segment.rows()),
            None => rows.clone(),
        };
        let mut kept_segment = Weak::new();
        if let Some(segment) = kept {
            view.vectors_mut().take(segment, rows.iter().cloned().flatten());
            kept_segment = view.vectors().built_segment().map(Arc::downgrade).unwrap_or_default();
        }
        if !missing.is_empty() {
            let segment = self.read(reader, &missing, progress)?;
            view.vectors_mut().take(segment, missing.into_iter().flatten());
        }
        Ok((view, kept_segment))
    }

    /// Reads the snapshot, if there is a good one. Removes an unusable one.
    fn snapshot(&self, reader: &Reader, rows: &[Range<u64>]) -> Result<Option<Segment>, IndexError> {
        let kind = self.record.vector_index;
        if kind == VectorIndexKind::Flat {
            return Ok(None);
        }
        let identity = Identity { store: self.store, kind, dimensions: self.record.dimensions };
        let next_row = reader.next_row()?;
        let read = snapshot::read(self.directory, identity, next_row).and_then(|segment| match segment {
            Some(segment) => is_of_the_store(&segment, reader, rows).map(|()| Some(segment)),
            None => Ok(None),
        });
        let count = rows.iter().map(|rows| rows.end - rows.start).sum::<u64>() as usize;
        let is_expected = kind_for(kind, count, self.search.exact_below_rows) != Kind::Flat;
        match read {
            Ok(Some(segment)) => {
                self.metrics.snapshot_read("loaded");
                Ok(Some(segment))
            }
            Ok(None) => {
                if is_expected {
                    self.metrics.snapshot_read("missing");
                    info!(index = self.name, "no snapshot of the vectors: search is exact until the graph is built");
                }
                Ok(None)
            }
            Err(error) => {
                self.metrics.snapshot_read(error.kind());
                let reason = error.to_string();
                warn!(
                    index = self.name,
                    reason, "the snapshot of the vectors is unusable: search is exact until the graph is rebuilt"
                );
                if let Err(error) = snapshot::remove(self.directory) {
                    warn!(index = self.name, %error, "the unusable snapshot could not be removed");
                }
                Ok(None)
            }
        }
    }

    fn read(
        &self,
        reader: &Reader,
        missing: &[Range<u64>],
        progress: &mut dyn FnMut(Step),
    ) -> Result<Segment, IndexError> {
        let of = missing.iter().map(|rows| rows.end - rows.start).sum();
        let mut segment = Segment::new(Kind::Flat, self.record.dimensions)?;
        let mut rows = Vec::with_capacity(BATCH);
        let mut vectors = Vec::with_capacity(BATCH * self.record.dimensions);
        reader.each_vector(missing, |row, vector| {
            rows.push(row);
            vectors.extend(vector);
            if rows.len() == BATCH {
                segment.add(&rows, &vectors)?;
                progress(Step::Vectors { done: segment.rows().len() as u64, of });
                rows.clear();
                vectors.clear();
            }
            Ok::<(), IndexError>(())
        })?;
        segment.add(&rows, &vectors)?;
        Ok(segment)
    }
}

/// Compares a sample of the snapshot's vectors with the store. They differ if the folder was assembled from copies of
/// different ages.
fn is_of_the_store(segment: &Segment, reader: &Reader, rows: &[Range<u64>]) -> Result<(), SnapshotError> {
    if !segment.kind().stores_exact_vectors() {
        return Ok(());
    }
    let count = segment.rows().len();
    for position in (0..count).step_by(count.div_ceil(COMPARED_ROWS).max(1)) {
        let row = segment.rows()[position];
        let after = rows.partition_point(|rows| rows.end <= row);
        let is_there = rows.get(after).is_some_and(|rows| rows.contains(&row));
        if is_there && reader.vector(row)?.is_some_and(|stored| segment.vector(position).ok() != Some(stored)) {
            return Err(SnapshotError::Foreign("other vectors".to_owned()));
        }
    }
    Ok(())
}

/// Removes rows from ranges. Both must be sorted.
fn without(ranges: &[Range<u64>], rows: &[u64]) -> Vec<Range<u64>> {
    let mut left = Vec::new();
    let mut next = 0;
    for range in ranges {
        let mut start = range.start;
        next += rows[next..].partition_point(|row| *row < start);
        while let Some(&row) = rows.get(next).filter(|row| **row < range.end) {
            if start < row {
                left.push(start..row);
            }
            start = row + 1;
            next += 1;
        }
        if start < range.end {
            left.push(start..range.end);
        }
    }
    left
}

#[cfg(test)]
mod tests;
