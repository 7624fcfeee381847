//! What a synchronisation comes down to: what it is to do, and its Job. Pure.

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

/// A synchronisation that is to begin.
#[derive(Debug, Clone, Copy)]
pub struct Synchronisation<'a> {
    /// Of which Index.
    pub index: &'a Index,
    /// Its specification, if it can be acted on.
    pub validated: Option<&'a Validated>,
    /// Whose index is filled.
    pub engine: &'a RagEngine,
    /// What there is.
    pub observed: &'a Observed,
    /// What it is called, and why it begins.
    pub start: &'a Start,
}

/// Builds what a synchronisation takes.
///
/// # Errors
///
/// [`BuildError`] when the task cannot be written, which no specification is known to cause.
pub fn synchronisation(what: Synchronisation<'_>, defaults: &Defaults) -> Result<Desired, BuildError> {
    let metadata = IndexIdentity::of(what.index).owned(&what.start.job_name);
    sync_job::build(metadata, &task::task(what, defaults), job::ingredients(what), defaults)
}
