//! Building a generation beside the one that serves: everything once, then what changes meanwhile, until little enough is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tracing::{info, warn};

use super::Progress;
use super::compare::{Difference, Pair, Place};
use super::hand_over::HoldBack;
use crate::blocking;
use crate::embedding::Embedding;
use crate::index::catalog::{Catalog, TookOver};
use crate::index::store::Changes;
use crate::index::writer::{Incoming, Mode};
use crate::index::{Index, IndexError};
use crate::logging::Logged as _;
use crate::metrics::Metrics;

/// Documents that are compared, and at most written, at once.
const DOCUMENTS_AT_ONCE: usize = 32;

/// Documents deleted in one transaction.
const DELETED_AT_ONCE: usize = 200;

/// Changes that are compared while writers wait, at most.
const LAST_CHANGES: usize = 200;

/// After so many rounds of changes writers are held back, so that there is a last one.
const FREE_ROUNDS: u32 = 3;

/// The first pause before a failed attempt is tried again, and the longest.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// How often it is looked whether the vector index of the next generation is there.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// A generation that is being built, for those who ask how far it is.
#[derive(Default)]
pub struct Building {
    progress: Mutex<Progress>,
    next: Mutex<Option<Arc<Index>>>,
    /// Somebody builds it: two would take each other's changes.
    has_builder: AtomicBool,
}

impl Building {
    /// One that has nothing of so many documents.
    pub fn new(total: u64) -> Self {
        Self { progress: Mutex::new(Progress { total, ..Progress::default() }), ..Self::default() }
    }

    /// Whether nobody builds it yet: whoever asks does from now on, and whoever asks later does not.
    pub fn begin(&self) -> bool {
        !self.has_builder.swap(true, Ordering::AcqRel)
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        self.progress.lock().clone()
    }

    /// The generation, as soon as it is open.
    pub fn next(&self) -> Option<Arc<Index>> {
        self.next.lock().clone()
    }

    pub(in crate::index) fn set_next(&self, next: Option<Arc<Index>>) {
        *self.next.lock() = next;
    }

    fn fails(&self, error: String) {
        self.progress.lock().error = Some(error);
    }

    fn reaches(&self, documents: u64, total: u64) {
        *self.progress.lock() = Progress { documents, total, error: None };
    }
}

/// How building ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The generation serves.
    TookOver,
    /// It is not wanted any more.
    Dropped,
    /// The server stops.
    AtRest,
}

/// Builds one generation.
pub struct Builder {
    /// The index's name.
    pub name: String,
    /// The number of the folder in which it is built.
    pub folder: u64,
    /// How far it is.
    pub building: Arc<Building>,
    /// Where it belongs.
    pub catalog: Arc<Catalog>,
    /// The model of its vectors.
    pub embedding: Embedding,
    /// What Prometheus sees.
    pub metrics: Arc<Metrics>,
    /// One batch at a time in the whole process: what is built leaves room for requests.
    pub turns: Arc<Semaphore>,
}

/// The two generations, and how far the next one is.
struct Work {
    serving: Arc<Index>,
    next: Arc<Index>,
    /// The number of the latest document of the serving generation that the next one has.
    reached: u64,
}

impl Builder {
    /// Builds until the generation serves, or is not wanted any more. What fails is tried again.
    pub async fn run(self) -> Ended {
        let index = self.name.as_str();
        let started = Instant::now();
        info!(index, model = self.embedding.model_id(), "next generation begins");
        let mut pause = RETRY.0;
        loop {
            let before = self.building.progress().documents;
            match self.attempt().await {
                Ok(Ended::TookOver) => {
                    let elapsed_s = started.elapsed().as_secs_f64();
                    info!(index, elapsed_s, "next generation serves");
                    self.metrics.generation_ended("finished");
                    return Ended::TookOver;
                }
                Ok(ended) => return ended,
                Err(_) if !self.is_wanted() => return Ended::Dropped,
                Err(IndexError::ShuttingDown) => {
                    let documents = self.building.progress().documents;
                    info!(index, documents, "next generation rests: the server stops; the next start goes on");
                    return Ended::AtRest;
                }
                Err(error) => {
                    warn!(
                        index,
                        kind = error.kind(),
                        reason = error.for_log(),
                        retry_in_s = pause.as_secs(),
                        "next generation waits"
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

    async fn attempt(&self) -> Result<Ended, IndexError> {
        let (catalog, name, folder) = (Arc::clone(&self.catalog), self.name.clone(), self.folder);
        let Some(next) = blocking::run(move || catalog.open_next(&name, folder)).await? else {
            return Ok(Ended::Dropped);
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

    /// Every document, in order; what is there already costs a look.
    async fn copy_everything(&self, work: &mut Work) -> Result<(), IndexError> {
        let serving = Arc::clone(&work.serving);
        let numbers = blocking::run(move || Ok(serving.store.reader()?.document_numbers()?)).await?;
        let total = numbers.len() as u64;
        let (mut done, mut tenths) = (0, 0);
        let mut last = None;
        for batch in numbers.chunks(DOCUMENTS_AT_ONCE) {
            let _turn = self.turns.acquire().await.map_err(|_| IndexError::ShuttingDown)?;
            self.copy_batch(work, batch, &mut last).await?;
            done += batch.len() as u64;
            self.building.reaches(done, total);
            if done * 10 / total > tenths {
                tenths = done * 10 / total;
                info!(index = self.name, documents = done, total, "next generation grows");
            }
        }
        work.reached = numbers.last().copied().unwrap_or(0);
        let (serving, next) = (Arc::clone(&work.serving), Arc::clone(&work.next));
        let gone = blocking::run(move || pair(&serving, &next, |pair| pair.gone())).await?;
        self.apply(work, Difference { to_remove: gone, ..Difference::default() }).await
    }

    /// Some documents, behind the last one that the next generation has.
    async fn copy_batch(&self, work: &Work, numbers: &[u64], last: &mut Option<u64>) -> Result<(), IndexError> {
        let (serving, next, numbers, mut reached) =
            (Arc::clone(&work.serving), Arc::clone(&work.next), numbers.to_vec(), *last);
        let compare = move || {
            pair(&serving, &next, |pair| {
                let mut difference = Difference::default();
                for number in numbers {
                    reached = pair.compare(number, Place::Behind(reached), &mut difference)?.max(reached);
                }
                Ok((difference, reached))
            })
        };
        let (difference, reached) = blocking::run(compare).await?;
        let written: Vec<String> = difference.to_write.iter().map(|document| document.doc_id.clone()).collect();
        self.apply(work, difference).await?;
        let next = Arc::clone(&work.next);
        let written = blocking::run(move || {
            let reader = next.store.reader()?;
            let numbers = written.iter().map(|doc_id| Ok(reader.number(doc_id)?));
            Ok(numbers.collect::<Result<Vec<_>, IndexError>>()?.into_iter().max().flatten())
        })
        .await?;
        *last = reached.max(written);
        Ok(())
    }

    /// A generation that is searched one by one until its vector index is there would answer late.
    async fn wait_for_vector_index(&self, work: &Work) -> Result<(), IndexError> {
        work.next.rebuild_if_due();
        while work.next.is_rebuilding() && self.is_wanted() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        work.next.require_rebuild()
    }

    /// What has changed meanwhile, again and again. Each round is shorter than the one before, or writers are held back.
    async fn catch_up(&self, mut work: Work) -> Result<Ended, IndexError> {
        let mut held_back = None;
        for round in 0_u32.. {
            if round == FREE_ROUNDS {
                held_back = Some(HoldBack::begin(&work.serving));
            }
            match self.take_over(&work).await? {
                TookOver::Yes => return Ok(Ended::TookOver),
                TookOver::Stale if self.is_wanted() => return Err(IndexError::Superseded(self.name.clone())),
                TookOver::Stale => return Ok(Ended::Dropped),
                TookOver::NotYet => self.apply_changes(&mut work).await?,
            }
            if held_back.as_ref().is_some_and(HoldBack::is_over) {
                break;
            }
        }
        Err(IndexError::StillChanging)
    }

    /// All changes so far.
    async fn apply_changes(&self, work: &mut Work) -> Result<(), IndexError> {
        // Another generation is being built by now, or none.
        let superseded = || IndexError::Superseded(self.name.clone());
        let changes = work.serving.store.take_changes(self.folder).ok_or_else(superseded)?;
        if changes.is_everything {
            return self.copy_everything(work).await;
        }
        let (serving, next, reached) = (Arc::clone(&work.serving), Arc::clone(&work.next), work.reached);
        let compare = move || {
            pair(&serving, &next, |pair| {
                let latest = pair.serving.last_document()?.unwrap_or(0);
                Ok((pair.changed(&changes, reached)?, latest))
            })
        };
        let (difference, latest) = blocking::run(compare).await?;
        self.apply(work, difference).await?;
        work.reached = work.reached.max(latest);
        Ok(())
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

    /// Takes over when nothing is left that has to be embedded.
    async fn take_over(&self, work: &Work) -> Result<TookOver, IndexError> {
        let (catalog, serving, next) = (Arc::clone(&self.catalog), Arc::clone(&work.serving), Arc::clone(&work.next));
        let (folder, reached) = (self.folder, work.reached);
        blocking::run(move || {
            catalog.take_over(&serving, &next, folder, || {
                let superseded = || IndexError::Superseded(serving.name().to_owned());
                let changes = serving.store.take_changes(folder).ok_or_else(superseded)?;
                let is_last = is_last(&serving, &next, &changes, reached)?;
                if !is_last {
                    serving.store.put_back_changes(folder, changes);
                }
                Ok(is_last)
            })
        })
        .await
    }
}

/// Whether nothing is left but what needs no embedding, which is done.
fn is_last(serving: &Index, next: &Index, changes: &Changes, reached: u64) -> Result<bool, IndexError> {
    if changes.len() > LAST_CHANGES {
        return Ok(false);
    }
    let difference = pair(serving, next, |pair| pair.changed(changes, reached))?;
    if !difference.to_write.is_empty() {
        return Ok(false);
    }
    next.remove(difference.to_remove.clone())?;
    next.put_revisions(&difference.revisions)?;
    Ok(true)
}

fn pair<T>(
    serving: &Index,
    next: &Index,
    work: impl FnOnce(Pair<'_>) -> Result<T, IndexError>,
) -> Result<T, IndexError> {
    // Not the view's reader: what is committed is noted before the view shows it.
    let (serving, next) = (serving.store.reader()?, next.store.reader()?);
    work(Pair { serving: &serving, next: &next })
}
