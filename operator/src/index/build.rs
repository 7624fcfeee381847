//! Builds the Job of a synchronisation and its task. Pure functions.

mod job;
mod task;

use ragengine_operator_api::{Index, RagEngine};

use super::observe::Observed;
use super::plan::Start;
use super::validate::Validated;
use crate::defaults::Defaults;
use crate::error::BuildError;
use crate::names::IndexIdentity;
use crate::sync_job::{self, Desired};

/// The input of a synchronisation that is about to start.
#[derive(Debug, Clone, Copy)]
pub struct Synchronisation<'a> {
    /// The Index.
    pub index: &'a Index,
    /// Its specification, if it is valid.
    pub validated: Option<&'a Validated>,
    /// The engine that gets the documents.
    pub engine: &'a RagEngine,
    /// The observed objects.
    pub observed: &'a Observed,
    /// The planned start: names and requests.
    pub start: &'a Start,
}

/// Builds the Job and the ConfigMap of a synchronisation.
///
/// # Errors
///
/// [`BuildError`] when the task cannot be serialised. No specification is known to cause this.
pub fn synchronisation(what: Synchronisation<'_>, defaults: &Defaults) -> Result<Desired, BuildError> {
    let metadata = IndexIdentity::of(what.index).owned(&what.start.job_name);
    sync_job::build(metadata, &task::task(what, defaults), job::ingredients(what), defaults)
}
