use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tracing::{error, info};

use super::store::Reader;
use super::vectors::Segment;
use super::{Index, IndexError};

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
        if !self.is_rebuild_due() || self.is_rebuilding.swap(true, Ordering::AcqRel) {
            return;
        }
        let index = Arc::clone(self);
        let spawned = std::thread::Builder::new().name("rebuild".to_owned()).spawn(move || {
            let _flag = ClearWhenDone(&index.is_rebuilding);
            let _turn = REBUILDING.lock();
            lower_priority();
            ragengine_faiss::use_one_thread_per_call();
            index.rebuild_while_due();
        });
        if let Err(error) = spawned {
            self.is_rebuilding.store(false, Ordering::Release);
            error!(index = self.name(), %error, "no thread for rebuilding the vector index");
        }
    }

    fn is_rebuild_due(&self) -> bool {
        self.view.read().vectors().is_rebuild_due(self.search.exact_below_rows)
    }

    /// Again when more was written meanwhile. An index that is deleted needs none.
    fn rebuild_while_due(&self) {
        while self.is_rebuild_due() && self.require_present().is_ok() {
            match self.rebuild() {
                Ok(rows) => info!(index = self.name(), rows, kind = %self.kind(), "vector index rebuilt"),
                Err(error) => {
                    error!(index = self.name(), %error, "vector index not rebuilt; search goes on without");
                    return;
                }
            }
        }
    }

    fn rebuild(&self) -> Result<usize, IndexError> {
        let (parts, reader, kind) = {
            let mut view = self.view.write();
            let kind = view.vectors().rebuilt_kind(self.search.exact_below_rows);
            (view.vectors_mut().seal()?, Arc::clone(view.reader()), kind)
        };
        let rows = parts.rows();
        let mut segment = Segment::new(kind, self.record.dimensions)?;
        if kind.needs_training() {
            let sample = sample(&rows, TRAINING_ROWS.max(kind.min_training_rows()));
            segment.train(&vectors_of(&reader, &sample)?.1)?;
        }
        for batch in rows.chunks(BATCH) {
            let (rows, vectors) = vectors_of(&reader, batch)?;
            segment.add(&rows, &vectors)?;
        }
        self.view.write().vectors_mut().replace_sealed(segment);
        Ok(rows.len())
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
    for &row in rows {
        if let Some(vector) = reader.vector(row)? {
            present.push(row);
            vectors.extend(vector);
        }
    }
    Ok((present, vectors))
}

/// A graph takes minutes of one core; requests go first.
fn lower_priority() {
    let thread = rustix::thread::gettid();
    if let Err(error) = rustix::process::setpriority_process(Some(thread), 10) {
        tracing::debug!(%error, "the priority of the rebuild could not be lowered");
    }
}
