//! The objects that a step comes down to: what the synchronisation is to do, and its Job. Pure.

mod job;
mod task;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use ragengine_operator_api::{Index, RagEngine};

use super::plan::Start;
use super::validate::Validated;
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

/// Builds both. `validated` is not needed for a deletion.
///
/// # Errors
///
/// [`BuildError`] when the task cannot be written, which no specification is known to cause.
pub fn build(
    index: &Index,
    validated: Option<&Validated>,
    engine: &RagEngine,
    start: &Start,
    defaults: &Defaults,
) -> Result<Desired, BuildError> {
    let sources = match start.work {
        super::plan::Work::Synchronise => index.spec.sources.as_slice(),
        super::plan::Work::Delete => &[],
    };
    Ok(Desired {
        task: task::config_map(index, &task::task(index, validated, engine, sources, start, defaults))?,
        job: job::job(index, engine, sources, start, defaults),
    })
}
