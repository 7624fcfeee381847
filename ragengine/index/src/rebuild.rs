use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::Mutex;
use ragengine_faiss::Kind;
use tracing::{debug, error, info, warn};

use super::store::Reader;
use super::vectors::{Replacement, Segment};
use super::{Index, IndexError, snapshot};

/// Vectors handed to FAISS at once. FAISS splits them further for a graph.
const BATCH: usize = 2048;

/// The most vectors that a quantiser is trained on, unless its kind needs more.
const TRAINING_ROWS: usize = 50_000;

/// Allows one rebuild at a time in the process: each needs a core, and memory for a second copy of the vectors.
static REBUILDING: Mutex<()> = Mutex::new(());

impl Index {
    /// Starts a rebuild of the vectors or work on the full text in the background, if that is due and none is running.
    ///
    /// Until it is done, searches use the existing segments.
    pub fn rebuild_if_due(self: &Arc<Self>) {
        if !(self.is_rebuild_due() || self.is_full_text_due())
            || self.require_rebuild().is_err()
            || self.background.is_rebuilding.swap(true, Ordering::AcqRel)
        {
            return;
        }
        let index = Arc::clone(self);
        let spawned = std::thread::Builder::new().name("rebuild".to_owned()).spawn(move || {
            let flag = ClearWhenDone(&index.background.is_rebuilding);
            let turn = REBUILDING.lock();
            lower_priority();
            ragengine_faiss::use_one_thread_per_call();
            let is_done = index.work_on_full_text() & index.rebuild_while_due();
            drop((turn, flag));
            // A write after the last check found a rebuild running, so check once more.
            if is_done {
                index.rebuild_if_due();
            }
        });
        if let Err(error) = spawned {
            self.background.is_rebuilding.store(false, Ordering::Release);
            error!(index = self.name(), %error, "the thread for rebuilding the vector index could not be started");
        }
    }

    /// Stops rebuilds because the server shuts down. A running rebuild is abandoned and repeated after the next start;
    /// a running write of a snapshot is completed.
    pub fn shut_down(&self) {
        self.background.is_shutting_down.store(true, Ordering::Release);
    }

    /// Whether vectors are being rebuilt, or a snapshot of them is being written.
    pub fn is_rebuilding(&self) -> bool {
        self.background.is_rebuilding.load(Ordering::Acquire)
    }

    /// Checks that a rebuild is still useful: the index is not deleted, and the server is not shutting down.
    pub(super) fn require_rebuild(&self) -> Result<(), IndexError> {
        self.require_present()?;
        if self.background.is_shutting_down.load(Ordering::Acquire) { Err(IndexError::ShuttingDown) } else { Ok(()) }
    }

    fn is_rebuild_due(&self) -> bool {
        self.view.read().vectors().is_rebuild_due(self.search.exact_below_rows)
    }

    /// Rebuilds until no rebuild is due, then saves the snapshot. Returns false after a failure or if the index is
    /// gone.
    pub(super) fn rebuild_while_due(&self) -> bool {
        while self.is_rebuild_due() {
            match self.require_rebuild().and_then(|()| self.rebuild()) {
                Ok(rows) => info!(index = self.name(), rows, kind = %self.kind(), "vector index rebuilt"),
                Err(IndexError::NoSuchIndex(_) | IndexError::Superseded(_)) => return false,
                Err(IndexError::ShuttingDown) => {
                    info!(
                        index = self.name(),
                        "shutdown stopped a rebuild of the vector index; the next start repeats it"
                    );
                    break;
                }
                Err(error) => {
                    error!(index = self.name(), %error, "vector index not rebuilt; search uses the existing segments");
                    return false;
                }
            }
        }
        self.keep_snapshot();
        !self.background.is_shutting_down.load(Ordering::Acquire)
    }

    pub(super) fn rebuild(&self) -> Result<usize, IndexError> {
        let (parts, reader, kind) = {
            let mut view = self.view.write();
            let kind = view.vectors().rebuilt_kind(self.search.exact_below_rows);
            (view.vectors_mut().close(), Arc::clone(view.reader()), kind)
        };
        let mut rows: Vec<u64> = parts.rows().collect();
        let mut segment = match parts.base(kind) {
            Some(base) => {
                let last = base.rows().last().copied();
                rows.retain(|row| Some(*row) > last);
                base.copy()?
            }
            None => self.trained(kind, &reader, &rows)?,
        };
        for batch in rows.chunks(BATCH) {
            self.require_rebuild()?;
            let (rows, vectors) = vectors_of(&reader, batch)?;
            segment.add(&rows, &vectors)?;
        }
        let count = segment.rows().len();
        let replacement = Replacement::new(segment, parts);
        let replaced = self.view.write().vectors_mut().replace(replacement);
        drop(replaced);
        Ok(count)
    }

    fn trained(&self, kind: Kind, reader: &Reader, rows: &[u64]) -> Result<Segment, IndexError> {
        let mut segment = Segment::new(kind, self.record.dimensions)?;
        if kind.needs_training() {
            let sample = sample(rows, TRAINING_ROWS.max(kind.min_training_rows()));
            segment.train(&vectors_of(reader, &sample)?.1)?;
        }
        Ok(segment)
    }

    /// Saves the graph, unless the snapshot on disk is current. A failure is only logged, because it just makes the
    /// next start slower.
    pub(super) fn keep_snapshot(&self) {
        let built = self.view.read().vectors().built_segment().cloned();
        let Some(segment) = built else {
            self.forget_snapshot();
            return;
        };
        if self.background.kept.lock().ptr_eq(&Arc::downgrade(&segment)) || self.require_present().is_err() {
            return;
        }
        let started = Instant::now();
        match snapshot::write(&self.directory, self.store.id(), self.record.dimensions, &segment) {
            Ok(()) => {
                *self.background.kept.lock() = Arc::downgrade(&segment);
                self.metrics.snapshot_written("written");
                let (rows, elapsed_ms) = (segment.rows().len(), started.elapsed().as_millis() as u64);
                info!(index = self.name(), rows, elapsed_ms, "snapshot of the vectors written");
            }
            Err(_) if self.require_present().is_err() => {}
            Err(error) => {
                self.metrics.snapshot_written(error.kind());
                let reason = error.to_string();
                warn!(
                    index = self.name(),
                    reason, "the snapshot of the vectors could not be saved: the next start rebuilds the vector index"
                );
            }
        }
        if self.require_present().is_err() {
            // The index was deleted in the meantime, and the snapshot may be in a folder that was being removed.
            drop(std::fs::remove_dir_all(&self.directory));
        }
    }

    /// Removes the snapshot, because few rows are left and none is in a graph.
    fn forget_snapshot(&self) {
        *self.background.kept.lock() = Weak::new();
        if let Err(error) = snapshot::remove(&self.directory) {
            debug!(index = self.name(), %error, "an old snapshot of the vectors could not be removed");
        }
    }
}

/// Clears a flag however the thread ends.
struct ClearWhenDone<'a>(&'a AtomicBool);

impl Drop for ClearWhenDone<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// A sample of `count` evenly spread rows, or all rows if there are fewer.
fn sample(rows: &[u64], count: usize) -> Vec<u64> {
    if rows.len() <= count {
        rows.to_vec()
    } else {
        (0..count).map(|number| rows[number * rows.len() / count]).collect()
    }
}

/// The rows that have a vector, and their concatenated vectors.
fn vectors_of(reader: &Reader, rows: &[u64]) -> Result<(Vec<u64>, Vec<f32>), IndexError> {
    let mut present = Vec::with_capacity(rows.len());
    let mut vectors = Vec::new();
    reader.each_vector(&ranges(rows), |row, vector| {
        present.push(row);
        vectors.extend(vector);
        Ok::<(), IndexError>(())
    })?;
    Ok((present, vectors))
}

/// Converts sorted rows to ranges.
fn ranges(rows: &[u64]) -> Vec<Range<u64>> {
    rows.chunk_by(|left, right| left + 1 == *right).map(|rows| rows[0]..rows[0] + rows.len() as u64).collect()
}

/// Building a graph uses one core for minutes, so requests get priority.
fn lower_priority() {
    let thread = rustix::thread::gettid();
    if let Err(error) = rustix::process::setpriority_process(Some(thread), 10) {
        tracing::debug!(%error, "lowering the priority of the rebuild failed");
    }
}
