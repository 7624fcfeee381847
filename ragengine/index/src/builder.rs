//! Builds the next generation of an index while the current one serves: copies all documents, then applies changes in
//! rounds until few enough are left to switch over.

mod catch_up;
mod compare;
mod copy;

use std::sync::Arc;
use std::time::{Duration, Instant};

use compare::{Difference, Pair};
use ragengine_compute::blocking;
use ragengine_embedding::Embedding;
use ragengine_errors::Logged as _;
use tokio::sync::Semaphore;
use tracing::{info, warn};

use crate::catalog::Catalog;
use crate::generation::Building;
use crate::metrics::IndexMetrics;
use crate::writer::{Incoming, Mode};
use crate::{Index, IndexError};

/// Documents that are compared, and at most written, in one batch.
const DOCUMENTS_AT_ONCE: usize = 32;

/// Documents deleted in one transaction.
const DELETED_AT_ONCE: usize = 200;

/// The first pause before a failed attempt is repeated, and the longest.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// How often the builder checks whether the vector index of the next generation is ready.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// How a build ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildOutcome {
    /// The generation serves now.
    TookOver,
    /// The generation is no longer planned.
    Dropped,
    /// The server is shutting down.
    ShuttingDown,
}

/// Builds one generation.
pub struct Builder {
    /// The index's name.
    pub name: String,
    /// The number of the folder in which it is built.
    pub folder: u64,
    /// The progress of the build, for the API.
    pub building: Arc<Building>,
    /// The catalog that holds the index.
    pub catalog: Arc<Catalog>,
    /// The embedding model of the generation.
    pub embedding: Embedding,
    /// The metrics of indexes.
    pub metrics: Arc<IndexMetrics>,
    /// Held for each batch, so that only one build in the process works at a time and requests keep most of the
    /// processor.
    pub turns: Arc<Semaphore>,
}

/// The two generations, and how far the copy is.
struct Work {
    serving: Arc<Index>,
    next: Arc<Index>,
    /// The highest document number of the serving generation that was copied.
    reached: u64,
}

impl Builder {
    /// Builds until the generation serves or is no longer planned. Failures are retried.
    pub async fn run(self) -> BuildOutcome {
        let index = self.name.as_str();
        let started = Instant::now();
        info!(index, model = self.embedding.model_id(), "building the next generation");
        let mut pause = RETRY.0;
        loop {
            let before = self.building.progress().documents;
            match self.attempt().await {
                Ok(BuildOutcome::TookOver) => {
                    let elapsed_s = started.elapsed().as_secs_f64();
                    info!(index, elapsed_s, "the next generation serves");
                    self.metrics.generation_ended("finished");
                    return BuildOutcome::TookOver;
                }
                Ok(ended) => return ended,
                Err(_) if !self.is_wanted() => return BuildOutcome::Dropped,
                Err(IndexError::ShuttingDown) => {
                    let documents = self.building.progress().documents;
                    info!(index, documents, "shutdown stopped building the next generation; the next start resumes it");
                    return BuildOutcome::ShuttingDown;
                }
                Err(error) => {
                    warn!(
                        index,
                        kind = error.kind(),
                        reason = error.for_log(),
                        retry_in_s = pause.as_secs(),
                        "building the next generation failed; retrying"
                    );
                    self.metrics.generation_ended("failed");
                    let has_advanced = self.building.progress().documents > before;
                    self.building.fails(error.to_string());
                    tokio::time::sleep(pause).await;
                    pause = if has_advanced { RETRY.0 } else { (pause * 2).min(RETRY.1) };
                }
            }
        }
    }

    async fn attempt(&self) -> Result<BuildOutcome, IndexError> {
        let (catalog, name, folder) = (Arc::clone(&self.catalog), self.name.clone(), self.folder);
        let Some(next) = blocking::run(move || catalog.open_next(&name, folder)).await? else {
            return Ok(BuildOutcome::Dropped);
        };
        let serving = self.catalog.get(&self.name)?;
        let mut work = Work { serving, next, reached: 0 };
        work.serving.store.follow_changes(self.folder);
        self.copy_everything(&mut work).await?;
        self.wait_for_vector_index(&work).await?;
        self.catch_up(work).await
    }

    fn is_wanted(&self) -> bool {
        self.catalog.planned(&self.name).is_some_and(|planned| planned.plan.folder() == Some(self.folder))
    }

    /// Waits for the vector index: until it is ready, searches in the generation are exhaustive and slow.
    async fn wait_for_vector_index(&self, work: &Work) -> Result<(), IndexError> {
        work.next.rebuild_if_due();
        while work.next.is_rebuilding() && self.is_wanted() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        work.next.require_rebuild()
    }

    async fn apply(&self, work: &Work, difference: Difference) -> Result<(), IndexError> {
        let Difference { to_remove, to_write, revisions } = difference;
        let next = Arc::clone(&work.next);
        blocking::run(move || {
            to_remove.chunks(DELETED_AT_ONCE).try_for_each(|batch| next.remove(batch.to_vec()).map(drop))?;
            next.put_revisions(&revisions)
        })
        .await?;
        let mut to_write = to_write.into_iter();
        loop {
            let batch: Vec<Incoming> = to_write.by_ref().take(DOCUMENTS_AT_ONCE).collect();
            if batch.is_empty() {
                return Ok(());
            }
            let (serving, next) = (&work.serving, &work.next);
            let is_alike = serving.record().has_vectors_of(next.record());
            let donor = if is_alike { Some(Arc::new(serving.store.reader()?)) } else { None };
            next.write_with(batch, Mode::Upsert, &self.embedding, donor).await?;
        }
    }
}

fn pair<T>(
    serving: &Index,
    next: &Index,
    work: impl FnOnce(Pair<'_>) -> Result<T, IndexError>,
) -> Result<T, IndexError> {
    // The store's newest state: a commit is recorded as a change before the view shows it.
    let (serving, next) = (serving.store.reader()?, next.store.reader()?);
    work(Pair { serving: &serving, next: &next })
}

#[cfg(test)]
mod tests;
