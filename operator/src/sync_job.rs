//! Builds and creates Jobs that fill an index or delete documents from it, each with a ConfigMap that holds its task.
//! Callers provide the ingredients.

pub mod inherited;
mod job;
mod make;
pub mod mount;
pub mod task;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use ragengine_client::wire::{OwnedSources, SourceOwner, WhenOwnerIsGone};
use ragengine_operator_api::{RagEngine, SyncResources};
use ragengine_settings::sync::SyncTask;

use crate::defaults::Defaults;
use crate::error::BuildError;
use crate::names::{Identity, OWNER, SYNC_ID};

pub use job::Ingredients;
pub use make::{Made, make};
pub use task::{CREDENTIALS_FOLDER, SOURCES_FOLDER, TASK_FILE, TASK_FOLDER};

/// A Job and its task.
#[derive(Debug, Clone, PartialEq)]
pub struct Desired {
    /// The ConfigMap with the task.
    pub task: ConfigMap,
    /// The Job.
    pub job: Job,
}

/// Builds a Job and the ConfigMap with its task. The name of the ConfigMap starts with the name in `metadata`.
///
/// # Errors
///
/// [`BuildError`] when the task cannot be serialised.
pub fn build(
    metadata: ObjectMeta,
    task: &SyncTask,
    ingredients: Ingredients<'_>,
    defaults: &Defaults,
) -> Result<Desired, BuildError> {
    let task = task::config_map(metadata, task)?;
    let job = job::job(ingredients, task.metadata.name.as_deref().unwrap_or_default(), defaults);
    Ok(Desired { task, job })
}

/// Builds the Job that deletes the documents of a deleted Index. It belongs to the engine.
///
/// # Errors
///
/// [`BuildError`] when the task cannot be serialised. No cause is known.
pub fn deletion(
    engine: &RagEngine,
    owner: &OwnedSources,
    job_name: &str,
    sync_id: &str,
    defaults: &Defaults,
) -> Result<Desired, BuildError> {
    let task_metadata = Identity::of(engine).deletion(job_name, &owner.name);
    let task = task::deletion(engine, &owner.index, &owner.name, sync_id, defaults);
    let pod_labels = task_metadata.labels.clone().unwrap_or_default();
    let labels = [(SYNC_ID, sync_id), (OWNER, &owner.uid)].map(|(label, value)| (label.to_owned(), value.to_owned()));
    let mut metadata = task_metadata.clone();
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
    build(task_metadata, &task, ingredients, defaults)
}
