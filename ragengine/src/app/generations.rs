//! Generations of indexes: which are built, and the builds themselves.

mod detached;
mod writing;

use std::sync::Arc;
use std::time::Duration;

pub use detached::run_detached;
use parking_lot::Mutex;
use ragengine_settings::EmbeddingSource;
use tokio::sync::Semaphore;
use tracing::{info, warn};

use crate::access::{Action, Caller, may};
use crate::embedding::{Embeddings, ModelKey, Needed};
use crate::error::ApiError;
use ragengine_compute::blocking;
use ragengine_embedding::Embedding;
use ragengine_engine::{Catalog, Index};
use ragengine_errors::Logged as _;
use ragengine_index::IndexError;
use ragengine_index::builder::{BuildOutcome, Builder};
use ragengine_index::catalog::PlanChange;
use ragengine_index::generation::{
    Decision, Model, Plan, RequestedSettings, decide_at_start, decide_on_request, decide_on_resume,
};
use ragengine_index::metrics::IndexMetrics;
use ragengine_index::record::IndexRecord;

/// How long a start, or a restore, waits for the models of older generations that still serve.
const OLDER_MODELS: Duration = Duration::from_secs(20);

/// What cannot be done with an external engine.
const NO_GENERATIONS: &str = "An index in a vector database keeps its embedding model and its settings: make a \
                              new index with others, and add the documents to it";

/// The generations of all indexes, and their embedding models.
pub struct Generations {
    catalog: Catalog,
    embeddings: Arc<Embeddings>,
    metrics: Arc<IndexMetrics>,
    turns: Arc<Semaphore>,
    /// The settings of the server's embedding model.
    source: EmbeddingSource,
    /// Serializes [`Self::keep_models`], so that an older result does not replace a newer one.
    keeping: Mutex<()>,
}

impl Generations {
    /// Starts no builds; [`Self::start`] does.
    pub fn new(
        catalog: Catalog,
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

    /// Starts and resumes the builds that the server's embedding model requires, and loads the models of the
    /// generations that serve until then.
    pub async fn start(self: &Arc<Self>) {
        self.take_in(self.catalog.all()).await;
    }

    /// Stops all builds.
    pub fn shut_down(&self) {
        self.turns.close();
    }

    /// Does the same as [`Self::start`] for new indexes. Returns when loading each of their models has been tried.
    pub async fn take_in(self: &Arc<Self>, indexes: Vec<Index>) {
        let (this, names) = (Arc::clone(self), indexes.iter().map(|index| index.name().to_owned()).collect::<Vec<_>>());
        let decided = blocking::run(move || {
            for index in indexes {
                if let Err(error) = this.decide(&index) {
                    warn!(
                        index = index.name(),
                        error = error.for_log(),
                        "the next generation cannot be started; the next start of the server retries"
                    );
                }
            }
            Ok::<_, IndexError>(())
        });
        if let Err(error) = decided.await {
            warn!(error = error.for_log(), "generations not started");
        }
        names.into_iter().for_each(|name| self.build(name));
        self.keep_models();
        self.embeddings.tried(OLDER_MODELS).await;
    }

    /// An external index has no generations: it keeps its model and its settings.
    fn decide(&self, index: &Index) -> Result<(), IndexError> {
        let (Some(catalog), Some(index)) = (self.catalog.local(), index.local()) else { return Ok(()) };
        let model = self.model();
        if model.has_made(index.record()) {
            index.keep_embedding_source(&self.source)?;
        }
        let decide = |serving: &IndexRecord, plan: Option<&Plan>| Ok(change(decide_at_start(serving, plan, &model)));
        catalog.change_plan(index.name(), decide).map(drop)
    }

    /// Starts a generation with the requested settings, if they differ from the current and the next generation.
    ///
    /// # Errors
    ///
    /// [`ApiError`] when the caller may not, there is no such index, or the disk fails.
    pub async fn ask(self: &Arc<Self>, caller: &Caller, name: &str, wanted: RequestedSettings) -> Result<(), ApiError> {
        may(caller, Action::Write, Some(name))?;
        let model = self.model();
        if self.catalog.local().is_none() {
            let index = self.catalog.get(name).await?;
            return match decide_on_request(index.record(), None, &model, wanted) {
                Decision::Nothing => Ok(()),
                _ => Err(IndexError::NotPossible(NO_GENERATIONS).into()),
            };
        }
        let decide = move |serving: &IndexRecord, plan: Option<&Plan>| {
            Ok(change(decide_on_request(serving, plan, &model, wanted)))
        };
        let change = self.change(name, decide).await?;
        if change == PlanChange::Drop {
            self.abandoned(name);
        }
        Ok(())
    }

    /// Starts an abandoned generation again.
    ///
    /// # Errors
    ///
    /// As [`Self::ask`].
    pub async fn begin(self: &Arc<Self>, caller: &Caller, name: &str) -> Result<(), ApiError> {
        may(caller, Action::Write, Some(name))?;
        let model = self.model();
        let decide =
            move |serving: &IndexRecord, plan: Option<&Plan>| Ok(change(decide_on_resume(serving, plan, &model)));
        self.change(name, decide).await?;
        Ok(())
    }

    /// Abandons the next generation. The current one keeps serving, and a restart of the server does not resume it.
    ///
    /// # Errors
    ///
    /// [`IndexError::NoGeneration`] when none is being built, and as [`Self::ask`].
    pub async fn abandon(self: &Arc<Self>, caller: &Caller, name: &str) -> Result<(), ApiError> {
        may(caller, Action::Write, Some(name))?;
        let index = name.to_owned();
        let abandon = move |_: &IndexRecord, plan: Option<&Plan>| match plan.filter(|plan| is_being_built(plan)) {
            Some(plan) => Ok(PlanChange::Abandon(plan.target.clone())),
            None => Err(IndexError::NoGeneration(index)),
        };
        self.change(name, abandon).await?;
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
        decide: impl FnOnce(&IndexRecord, Option<&Plan>) -> Result<PlanChange, IndexError> + Send + 'static,
    ) -> Result<PlanChange, IndexError> {
        let (this, name) = (Arc::clone(self), name.to_owned());
        run_detached(async move {
            let (catalog, index) = (Arc::clone(this.catalog.require_local(NO_GENERATIONS)?), name.clone());
            let change = blocking::run(move || catalog.change_plan(&index, decide)).await?;
            if matches!(change, PlanChange::Begin(_)) {
                this.build(name);
            }
            Ok(change)
        })
        .await
    }

    /// Builds the planned generation of an index, in the background.
    fn build(self: &Arc<Self>, name: String) {
        let Some(catalog) = self.catalog.local() else { return };
        let Some(planned) = catalog.planned(&name) else { return };
        let Some(folder) = planned.plan.folder() else { return };
        if !planned.building.begin() {
            return;
        }
        let builder = Builder {
            name,
            folder,
            building: planned.building,
            catalog: Arc::clone(catalog),
            embedding: self.embeddings.current().clone(),
            metrics: Arc::clone(&self.metrics),
            turns: Arc::clone(&self.turns),
        };
        let this = Arc::clone(self);
        tokio::spawn(async move {
            if builder.run().await == BuildOutcome::TookOver {
                this.keep_models();
            }
        });
    }

    /// Loads the models of the serving generations, and unloads all others.
    fn keep_models(&self) {
        let _keeping = self.keeping.lock();
        let needed = |index: Index| Needed {
            index: index.name().to_owned(),
            key: key(index.record()),
            name: index.record().model.clone(),
            source: index.embedding_source().unwrap_or_else(|error| {
                warn!(
                    index = index.name(),
                    error = error.for_log(),
                    "the settings of the index's embedding model cannot be read"
                );
                None
            }),
        };
        self.embeddings.keep(self.catalog.all().into_iter().map(needed).collect());
    }

    /// Returns the embedding model of an index's vectors.
    ///
    /// # Errors
    ///
    /// [`IndexError::ModelMissing`], with the progress of the next generation.
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
        let Some(catalog) = self.catalog.local() else { return NO_GENERATIONS.to_owned() };
        let Some(planned) = catalog.planned(name).filter(|planned| is_being_built(&planned.plan)) else {
            return format!("It has no next generation: start one with PUT /indexes/{name}/generation");
        };
        let (model, progress) = (&planned.plan.target.model, planned.building.progress());
        let waits = progress.error.map(|error| format!(" and is delayed: {error}")).unwrap_or_default();
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

fn is_being_built(plan: &Plan) -> bool {
    plan.folder().is_some()
}

fn key(record: &IndexRecord) -> ModelKey {
    ModelKey { fingerprint: record.embedding_fingerprint.clone(), dimensions: record.dimensions }
}

fn change(decision: Decision) -> PlanChange {
    match decision {
        Decision::Nothing | Decision::Resume => PlanChange::Nothing,
        Decision::Drop => PlanChange::Drop,
        Decision::Begin(target) => PlanChange::Begin(target),
    }
}
