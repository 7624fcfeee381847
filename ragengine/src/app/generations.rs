//! Which generations are built, and who builds them.

mod writing;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ragengine_settings::EmbeddingSource;
use tokio::sync::Semaphore;
use tracing::{info, warn};

use crate::embedding::{Embeddings, ModelKey, Needed};
use ragengine_compute::blocking;
use ragengine_embedding::Embedding;
use ragengine_errors::Logged as _;
use ragengine_index::builder::{Builder, Ended};
use ragengine_index::catalog::{Catalog, Change};
use ragengine_index::generation::{Asked, Decision, Model, Plan, again, asked, decide};
use ragengine_index::metrics::IndexMetrics;
use ragengine_index::record::IndexRecord;
use ragengine_index::{Index, IndexError};

/// How long a start, or who brings indexes, waits for the models of generations that still serve.
const OLDER_MODELS: Duration = Duration::from_secs(20);

/// The generations of all indexes, and the models of their vectors.
pub struct Generations {
    catalog: Arc<Catalog>,
    embeddings: Arc<Embeddings>,
    metrics: Arc<IndexMetrics>,
    turns: Arc<Semaphore>,
    /// The settings of the server's model.
    source: EmbeddingSource,
    /// Held while it is found out which models are needed: what was found out first must not count last.
    keeping: Mutex<()>,
}

impl Generations {
    /// Those of a catalog. Nothing is begun yet.
    pub fn new(
        catalog: Arc<Catalog>,
        embeddings: Arc<Embeddings>,
        source: EmbeddingSource,
        metrics: Arc<IndexMetrics>,
    ) -> Arc<Self> {
        Arc::new(Self {
            catalog,
            embeddings,
            metrics,
            turns: Arc::new(Semaphore::new(1)),
            source,
            keeping: Mutex::default(),
        })
    }

    /// Begins and goes on with what the server's model makes necessary, and loads the models of what serves meanwhile.
    pub async fn start(self: &Arc<Self>) {
        self.take_in(self.catalog.all()).await;
    }

    /// Builds no more, because the server stops.
    pub fn rest(&self) {
        self.turns.close();
    }

    /// As [`Self::start`], for indexes that have just come: the models of their vectors have been tried when this returns.
    pub async fn take_in(self: &Arc<Self>, indexes: Vec<Arc<Index>>) {
        let (this, names) = (Arc::clone(self), indexes.iter().map(|index| index.name().to_owned()).collect::<Vec<_>>());
        let decided = blocking::run(move || {
            for index in indexes {
                if let Err(error) = this.decide(&index) {
                    warn!(
                        index = index.name(),
                        error = error.for_log(),
                        "its next generation cannot be begun; the next start tries again"
                    );
                }
            }
            Ok::<_, IndexError>(())
        });
        if let Err(error) = decided.await {
            warn!(error = error.for_log(), "generations not begun");
        }
        names.into_iter().for_each(|name| self.build(name));
        self.keep_models();
        self.embeddings.tried(OLDER_MODELS).await;
    }

    fn decide(&self, index: &Index) -> Result<(), IndexError> {
        let model = self.model();
        if model.has_made(index.record()) {
            index.keep_embedding_source(&self.source)?;
        }
        self.catalog.change_plan(index.name(), |serving, plan| Ok(change(decide(serving, plan, &model)))).map(drop)
    }

    /// Begins the generation that a user asks for, when it differs from what is there or being built.
    ///
    /// # Errors
    ///
    /// [`IndexError::NoSuchIndex`], or what the disk says.
    pub async fn ask(self: &Arc<Self>, name: &str, wanted: Asked) -> Result<(), IndexError> {
        let model = self.model();
        let change = self.change(name, move |serving, plan| Ok(change(asked(serving, plan, &model, wanted)))).await?;
        if change == Change::Drop {
            self.abandoned(name);
        }
        Ok(())
    }

    /// Begins what was given up.
    ///
    /// # Errors
    ///
    /// As [`Self::ask`].
    pub async fn begin(self: &Arc<Self>, name: &str) -> Result<(), IndexError> {
        let model = self.model();
        let again = move |serving: &IndexRecord, plan: Option<&Plan>| Ok(change(again(serving, plan, &model)));
        self.change(name, again).await.map(drop)
    }

    /// Gives the next generation up. What serves stays, and a start does not begin it again.
    ///
    /// # Errors
    ///
    /// [`IndexError::NoGeneration`] when none is being built, and as [`Self::ask`].
    pub async fn abandon(self: &Arc<Self>, name: &str) -> Result<(), IndexError> {
        let index = name.to_owned();
        let give_up = move |_: &IndexRecord, plan: Option<&Plan>| match plan.filter(|plan| is_being_built(plan)) {
            Some(plan) => Ok(Change::Abandon(plan.target.clone())),
            None => Err(IndexError::NoGeneration(index)),
        };
        self.change(name, give_up).await?;
        self.abandoned(name);
        Ok(())
    }

    fn abandoned(&self, name: &str) {
        self.metrics.generation_ended("abandoned");
        info!(index = name, "next generation abandoned");
    }

    async fn change(
        self: &Arc<Self>,
        name: &str,
        decide: impl FnOnce(&IndexRecord, Option<&Plan>) -> Result<Change, IndexError> + Send + 'static,
    ) -> Result<Change, IndexError> {
        let (this, name) = (Arc::clone(self), name.to_owned());
        to_its_end(async move {
            let (catalog, index) = (Arc::clone(&this.catalog), name.clone());
            let change = blocking::run(move || catalog.change_plan(&index, decide)).await?;
            if matches!(change, Change::Begin(_)) {
                this.build(name);
            }
            Ok(change)
        })
        .await
    }

    /// Builds what is planned for an index, in the background.
    fn build(self: &Arc<Self>, name: String) {
        let Some(planned) = self.catalog.planned(&name) else { return };
        let Some(folder) = planned.plan.folder() else { return };
        if !planned.building.begin() {
            return;
        }
        let builder = Builder {
            name,
            folder,
            building: planned.building,
            catalog: Arc::clone(&self.catalog),
            embedding: self.embeddings.current().clone(),
            metrics: Arc::clone(&self.metrics),
            turns: Arc::clone(&self.turns),
        };
        let this = Arc::clone(self);
        tokio::spawn(async move {
            if builder.run().await == Ended::TookOver {
                this.keep_models();
            }
        });
    }

    /// The models of the generations that serve.
    fn keep_models(&self) {
        let _keeping = self.keeping.lock();
        let needed = |index: Arc<Index>| Needed {
            index: index.name().to_owned(),
            key: key(index.record()),
            name: index.record().model.clone(),
            source: index.embedding_source().unwrap_or_else(|error| {
                warn!(index = index.name(), error = error.for_log(), "the settings of its model cannot be read");
                None
            }),
        };
        self.embeddings.keep(self.catalog.all().into_iter().map(needed).collect());
    }

    /// The model of an index's vectors.
    ///
    /// # Errors
    ///
    /// [`IndexError::ModelMissing`], with how far the next generation is.
    pub fn embedding_of(&self, index: &Index) -> Result<Embedding, IndexError> {
        let record = index.record();
        self.embeddings.of(index.name(), &key(record)).map_err(|reason| IndexError::ModelMissing {
            index: index.name().to_owned(),
            model: record.model.clone(),
            reason,
            progress: self.progress(index.name()),
        })
    }

    fn progress(&self, name: &str) -> String {
        let Some(planned) = self.catalog.planned(name).filter(|planned| is_being_built(&planned.plan)) else {
            return format!("Nothing takes its place: begin its next generation with PUT /indexes/{name}/generation");
        };
        let (model, progress) = (&planned.plan.target.model, planned.building.progress());
        let waits = progress.error.map(|error| format!(", and waits: {error}")).unwrap_or_default();
        format!("Its next generation, with {model}, has {} of {} documents{waits}", progress.documents, progress.total)
    }

    fn model(&self) -> Model {
        let embedding = self.embeddings.current();
        Model {
            name: embedding.model_id().to_owned(),
            fingerprint: embedding.fingerprint().to_owned(),
            dimensions: embedding.dimensions(),
            max_passage_tokens: embedding.max_passage_tokens(),
        }
    }
}

/// Does work that is not to end half-way, even if whoever waits for it leaves.
///
/// # Errors
///
/// What the work says.
pub async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, IndexError>> + Send + 'static,
) -> Result<T, IndexError> {
    tokio::spawn(work).await.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => Err(IndexError::ShuttingDown),
    })
}

fn is_being_built(plan: &Plan) -> bool {
    plan.folder().is_some()
}

fn key(record: &IndexRecord) -> ModelKey {
    ModelKey { fingerprint: record.embedding_fingerprint.clone(), dimensions: record.dimensions }
}

fn change(decision: Decision) -> Change {
    match decision {
        Decision::Rest | Decision::Resume => Change::Nothing,
        Decision::Drop => Change::Drop,
        Decision::Begin(target) => Change::Begin(target),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn work_is_done_to_its_end_when_its_caller_has_left() {
        let (goes_on, is_done) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let (waits, done) = (Arc::clone(&goes_on), Arc::clone(&is_done));
        let work = async move {
            waits.notified().await;
            done.store(true, Ordering::SeqCst);
            Ok(7)
        };
        let caller = tokio::spawn(to_its_end(work));
        tokio::task::yield_now().await;
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
        goes_on.notify_one();
        while !is_done.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
        assert_eq!(to_its_end(async { Ok(7) }).await.unwrap(), 7);
        let panics = tokio::spawn(to_its_end::<()>(async { panic!("as planned") }));
        assert!(panics.await.unwrap_err().is_panic());
    }
}
