//! The objects that a step comes down to: what the synchronisation is to do, and its Job. Pure.

mod inherited;
mod job;
mod task;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use ragengine_client::wire::{OwnedSources, SourceOwner, WhenOwnerIsGone};
use ragengine_operator_api::{Index, RagEngine, SyncResources};

use self::job::Ingredients;
use super::observe::Observed;
use super::plan::Start;
use super::validate::Validated;
use crate::names::{Identity, IndexIdentity, OWNER, SYNC_ID};
use crate::rag_engine::validate::Defaults;

pub use task::{CREDENTIALS_FOLDER, SOURCES_FOLDER, TASK_FILE, TASK_FOLDER};

/// What one synchronisation takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Desired {
    /// What it is to do.
    pub task: ConfigMap,
    /// Who does it.
    pub job: Job,
}

/// Why objects cannot be built.
#[derive(Debug, thiserror::Error)]
#[error("what is to be synchronised cannot be written: {0}")]
pub struct BuildError(#[from] serde_saphyr::SerializeError);

/// Builds what a synchronisation of an Index takes.
///
/// # Errors
///
/// [`BuildError`] when the task cannot be written, which no specification is known to cause.
pub fn synchronisation(
    index: &Index,
    validated: Option<&Validated>,
    engine: &RagEngine,
    observed: &Observed,
    start: &Start,
    defaults: &Defaults,
) -> Result<Desired, BuildError> {
    let metadata = IndexIdentity::of(index).owned(&start.job_name);
    Ok(Desired {
        task: task::config_map(metadata, &task::synchronisation(index, validated, engine, observed, start, defaults))?,
        job: job::synchronisation(index, engine, observed, start, defaults),
    })
}

/// Builds what the deletion of an Index's documents takes, which belongs to the engine: the Index is gone.
///
/// # Errors
///
/// [`BuildError`] when the task cannot be written, which nothing is known to cause.
pub fn deletion(
    engine: &RagEngine,
    owner: &OwnedSources,
    job_name: &str,
    sync_id: &str,
    defaults: &Defaults,
) -> Result<Desired, BuildError> {
    let mut metadata = Identity::of(engine).deletion(job_name, &owner.name);
    let task = task::deletion(engine, &owner.index, &owner.name, sync_id, defaults);
    let task = task::config_map(metadata.clone(), &task)?;
    let pod_labels = metadata.labels.clone().unwrap_or_default();
    let labels = [(SYNC_ID, sync_id), (OWNER, &owner.uid)].map(|(label, value)| (label.to_owned(), value.to_owned()));
    metadata.labels.get_or_insert_default().extend(labels);
    let ingredients = Ingredients {
        metadata,
        pod_labels,
        engine,
        sources: &[],
        resources: SyncResources::default(),
        sync_id,
        owner: Some(SourceOwner {
            name: owner.name.clone(),
            uid: owner.uid.clone(),
            scope: owner.scope.clone(),
            when_gone: WhenOwnerIsGone::Delete,
        }),
        api_server: &[],
    };
    Ok(Desired { task, job: job::job(ingredients, defaults) })
}
