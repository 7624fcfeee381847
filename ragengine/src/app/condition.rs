//! The condition of the server, for `/readyz`, `/health` and `/status`.

use ragengine_client::wire::{
    Check, EngineStatus, GenerationPhase, GrowingGeneration, Problem, ProblemKind, Readiness,
};
use ragengine_settings::EmbeddingSource;

use super::stage::Stage;
use super::volume::VolumeError;
use super::{App, Loaded};
use crate::access::AccessControl;
use ragengine_engine::Index;
use ragengine_index::IndexSize;

/// One of the conditions for readiness.
struct Need {
    name: &'static str,
    /// Progress, or the error.
    words: String,
    /// Set if the condition is not met.
    problem: Option<ProblemKind>,
}

impl App {
    /// Whether the server is ready, with the result of each check.
    pub async fn readiness(&self) -> Readiness {
        let needs = self.needs().await;
        let check = |need: Need| (need.name.to_owned(), Check { ready: need.problem.is_none(), detail: need.words });
        Readiness { ready: self.is_ready(&needs), checks: needs.into_iter().map(check).collect() }
    }

    /// The status of the server, for operators.
    pub async fn status(&self) -> EngineStatus {
        let needs = self.needs().await;
        let ready = self.is_ready(&needs);
        let problem = |need: Need| Some(Problem { kind: need.problem?, detail: need.words });
        let language_model = self.language_model.problem();
        let language_model = language_model.map(|detail| Problem { kind: ProblemKind::InferenceServiceFailed, detail });
        let postgres = self.loaded.get().and_then(|loaded| loaded.stores.postgres_problem());
        let postgres = postgres.map(|detail| Problem { kind: ProblemKind::PostgresFailed, detail });
        let redis = self.loaded.get().and_then(|loaded| loaded.stores.redis_problem());
        let redis = redis.map(|detail| Problem { kind: ProblemKind::RedisFailed, detail });
        let access = self.access.get().filter(|access| access.is_ready()).and_then(AccessControl::problem);
        let access = access.map(|detail| Problem { kind: ProblemKind::AuthFailed, detail });
        let events = self.events.get().and_then(|events| events.problem());
        let events = events.map(|detail| Problem { kind: ProblemKind::EventsFailed, detail });
        let guardrails = self.guardrails.as_ref().and_then(|file| file.current().err());
        let guardrails =
            guardrails.map(|problem| Problem { kind: ProblemKind::GuardrailsFailed, detail: problem.to_string() });
        let reranker = self.reranker.problem();
        let reranker = reranker.map(|detail| Problem { kind: ProblemKind::RerankerFailed, detail });
        let problems = needs
            .into_iter()
            .filter_map(problem)
            .chain(language_model)
            .chain(postgres)
            .chain(redis)
            .chain(access)
            .chain(events)
            .chain(guardrails)
            .chain(reranker)
            .collect();
        let status = EngineStatus { ready, problems, ..EngineStatus::default() };
        match self.loaded.get() {
            Some(loaded) => {
                EngineStatus { data_id: Some(loaded.catalog.data_id().to_owned()), ..sized(status, loaded) }
            }
            None => status,
        }
    }

    /// A full volume does not make the server unready: reads still work, and deleting documents frees space. An
    /// unavailable index does not either, because the other indexes would not be served.
    fn is_ready(&self, needs: &[Need]) -> bool {
        let is_blocking = |problem| !matches!(problem, ProblemKind::IndexUnavailable | ProblemKind::VolumeFull);
        self.loaded.get().is_some() && !needs.iter().filter_map(|need| need.problem).any(is_blocking)
    }

    async fn needs(&self) -> Vec<Need> {
        let volume = self.volume.check(&self.settings.data_dir).await;
        let progress = self.progress.read();
        let needs = [self.volume_need(volume), self.indexes_need(&progress.indexes), self.model_need(&progress.model)];
        needs.into_iter().chain(self.access_need()).collect()
    }

    /// The rules of indexes, if callers must be known.
    fn access_need(&self) -> Option<Need> {
        let access = self.access.get()?;
        let (words, problem) = if access.is_ready() {
            ("read".to_owned(), None)
        } else {
            (access.problem().unwrap_or_default(), Some(ProblemKind::AuthFailed))
        };
        Some(Need { name: "access", words, problem })
    }

    fn volume_need(&self, result: Result<(), VolumeError>) -> Need {
        let (words, problem) = match result {
            Ok(()) => ("writable".to_owned(), None),
            Err(error @ VolumeError::Full) => (error.to_string(), Some(ProblemKind::VolumeFull)),
            Err(error) => (error.to_string(), Some(ProblemKind::VolumeFailed)),
        };
        Need { name: "volume", words, problem }
    }

    fn indexes_need(&self, stage: &Stage) -> Need {
        let Some(loaded) = self.loaded.get() else {
            return need("indexes", stage, ProblemKind::LoadingIndexes, ProblemKind::IndexesFailed);
        };
        let problems = loaded.catalog.problems();
        if problems.is_empty() {
            return Need { name: "indexes", words: format!("{} loaded", loaded.catalog.all().len()), problem: None };
        }
        Need { name: "indexes", words: problems.join("; "), problem: Some(ProblemKind::IndexUnavailable) }
    }

    fn model_need(&self, stage: &Stage) -> Need {
        let failed = match self.settings.embedding.source() {
            EmbeddingSource::Local(_) => ProblemKind::EmbeddingModelFailed,
            EmbeddingSource::Remote(_) => ProblemKind::EmbeddingServiceFailed,
        };
        need("model", stage, ProblemKind::LoadingModel, failed)
    }
}

fn need(name: &'static str, stage: &Stage, loading: ProblemKind, failed: ProblemKind) -> Need {
    let problem = match stage {
        Stage::Loading(_) => Some(loading),
        Stage::Failed(_) => Some(failed),
        Stage::Done(_) => None,
    };
    Need { name, words: stage.words().to_owned(), problem }
}

/// Most owners of sources in a status.
const MAX_OWNERS: usize = 1000;

/// Adds the sizes of the indexes. Cheap: each index keeps its size.
fn sized(status: EngineStatus, loaded: &Loaded) -> EngineStatus {
    let indexes = loaded.catalog.all();
    let sizes: Vec<IndexSize> = indexes.iter().map(Index::size).collect();
    EngineStatus {
        indexes: u32::try_from(sizes.len()).unwrap_or(u32::MAX),
        documents: sizes.iter().map(|size| size.documents).sum(),
        chunks: sizes.iter().map(|size| size.chunks).sum(),
        generations: generations(loaded),
        owners: indexes.iter().flat_map(Index::owners).take(MAX_OWNERS).collect(),
        ..status
    }
}

/// The next generations that are being built, also of indexes that are not available.
fn generations(loaded: &Loaded) -> Vec<GrowingGeneration> {
    let names = loaded.catalog.local().map(|catalog| catalog.names()).unwrap_or_default();
    names.into_iter().filter_map(|name| growing(loaded, name)).collect()
}

/// Returns the progress of an index's next generation, if one is being built.
fn growing(loaded: &Loaded, index: String) -> Option<GrowingGeneration> {
    let next = loaded.catalog.next_generation(&index)?;
    let is_building = next.phase == GenerationPhase::Building;
    is_building.then_some(GrowingGeneration { index, documents: next.documents, total: next.total, error: next.error })
}
