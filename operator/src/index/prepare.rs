//! Turns a plan into the objects to write. Pure functions.

use kube::api::Preconditions;

use super::build::{Synchronisation, synchronisation};
use super::plan::{Plan, PlanInput, Step};
use crate::defaults::Defaults;
use crate::error::BuildError;
use crate::sync_job::Desired;

/// A plan with the work to do. Only [`prepare`] creates one, and applying consumes it.
#[derive(Debug)]
pub struct Prepared {
    plan: Plan,
    work: Work,
}

/// The work to do.
#[derive(Debug)]
pub enum Work {
    /// Do nothing.
    Leave,
    /// Remove the finalizer that earlier versions of the operator set.
    Release,
    /// Delete the Job of this name. The preconditions protect a newer Job of the same name.
    Stop(String, Preconditions),
    /// Create a Job and its task.
    Start(Box<Desired>),
}

impl Prepared {
    pub(super) fn into_parts(self) -> (Plan, Work) {
        (self.plan, self.work)
    }
}

/// Builds the work of a plan.
///
/// # Errors
///
/// [`BuildError`] when a task cannot be serialised.
pub fn prepare(input: PlanInput<'_>, plan: Plan, defaults: &Defaults) -> Result<Prepared, BuildError> {
    let PlanInput { index, validated, observed, .. } = input;
    let work = match (&plan.step, observed.engine.as_deref()) {
        (Step::Wait, _) | (Step::Start(_), None) => Work::Leave,
        (Step::Release, _) => Work::Release,
        (Step::Stop(name), _) => {
            let job = observed.jobs.iter().find(|job| job.metadata.name.as_ref() == Some(name));
            let uid = job.and_then(|job| job.metadata.uid.clone());
            Work::Stop(name.clone(), Preconditions { uid, resource_version: None })
        }
        (Step::Start(start), Some(engine)) => {
            let what = Synchronisation { index, validated: validated.ok(), engine, observed, start };
            Work::Start(Box::new(synchronisation(what, defaults)?))
        }
    };
    Ok(Prepared { plan, work })
}
