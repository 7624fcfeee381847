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

/// Vectors handed to FAISS at once. A graph takes them in batches of its own.
const BATCH: usize = 2048;

/// Vectors that a quantiser is trained on, at most. Many lists want more.
const TRAINING_ROWS: usize = 50_000;

/// One rebuild at a time in the whole process: each takes a core, and memory for a second copy of its vectors.
static REBUILDING: Mutex<()> = Mutex::new(());

impl Index {
    /// Starts a rebuild of the vectors in the background when one is due and none is running.
    ///
    /// Until it is done, searches go on in the segments that are there.
    pub fn rebuild_if_due(self: &Arc<Self>) {
        if !self.is_rebuild_due()
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
            let is_done = index.rebuild_while_due();
            drop((turn, flag));
            // What was written since the last look found a rebuild running.
            if is_done {
                index.rebuild_if_due();
            }
        });
        if let Err(error) = spawned {
            self.background.is_rebuilding.store(false, Ordering::Release);
            error!(index = self.name(), %error, "no thread for rebuilding the vector index");
        }
    }

    /// Begins no rebuild any more, and gives up the one that runs: what was built so far is built again after the next start. A snapshot of
    /// what is built is written to its end.
    pub fn rest(&self) {
        self.background.is_at_rest.store(true, Ordering::Release);
    }

    /// Whether vectors are being rebuilt, or a snapshot of them is being written.
    pub fn is_rebuilding(&self) -> bool {
        self.background.is_rebuilding.load(Ordering::Acquire)
    }

    /// An index that is deleted needs no graph, and its store is about to be closed; a server that stops has other things to do.
    pub(super) fn require_rebuild(&self) -> Result<(), IndexError> {
        self.require_present()?;
        match self.background.is_at_rest.load(Ordering::Acquire) {
            true => Err(IndexError::ShuttingDown),
            false => Ok(()),
        }
    }

    fn is_rebuild_due(&self) -> bool {
        self.view.read().vectors().is_rebuild_due(self.search.exact_below_rows)
    }

    /// Again when more was written meanwhile, then the snapshot. Returns whether all went well: an index that is deleted needs no more.
    pub(super) fn rebuild_while_due(&self) -> bool {
        while self.is_rebuild_due() {
            match self.require_rebuild().and_then(|()| self.rebuild()) {
                Ok(rows) => info!(index = self.name(), rows, kind = %self.kind(), "vector index rebuilt"),
                Err(IndexError::NoSuchIndex(_) | IndexError::Superseded(_)) => return false,
                Err(IndexError::ShuttingDown) => {
                    info!(index = self.name(), "vector index not rebuilt: the server stops; the next start does it");
                    break;
                }
                Err(error) => {
                    error!(index = self.name(), %error, "vector index not rebuilt; search goes on without");
                    return false;
                }
            }
        }
        self.keep_snapshot();
        !self.background.is_at_rest.load(Ordering::Acquire)
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

    /// Writes the graph to the disk, unless it is there already. That it cannot be written is no fault of the index: the next start takes
    /// longer.
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
                    reason, "no snapshot of the vectors was written: the next start builds them anew"
                );
            }
        }
        if self.require_present().is_err() {
            // It was deleted meanwhile, and the snapshot may have come into a folder that was being removed.
            drop(std::fs::remove_dir_all(&self.directory));
        }
    }

    /// Few rows are left, and none is in a graph any more.
    fn forget_snapshot(&self) {
        *self.background.kept.lock() = Weak::new();
        if let Err(error) = snapshot::remove(&self.directory) {
            debug!(index = self.name(), %error, "an old snapshot of the vectors is still there");
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

/// So many rows, evenly spread; all where there are no more.
fn sample(rows: &[u64], count: usize) -> Vec<u64> {
    match rows.len() <= count {
        true => rows.to_vec(),
        false => (0..count).map(|number| rows[number * rows.len() / count]).collect(),
    }
}

/// The rows that have a vector, and their vectors one after the other.
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

/// Rows in order, as ranges.
fn ranges(rows: &[u64]) -> Vec<Range<u64>> {
    rows.chunk_by(|left, right| left + 1 == *right).map(|rows| rows[0]..rows[0] + rows.len() as u64).collect()
}

/// A graph takes minutes of one core; requests go first.
fn lower_priority() {
    let thread = rustix::thread::gettid();
    if let Err(error) = rustix::process::setpriority_process(Some(thread), 10) {
        tracing::debug!(%error, "the priority of the rebuild could not be lowered");
    }
}
