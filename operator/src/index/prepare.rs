//! What a plan comes down to: pure.

use kube::api::Preconditions;

use super::build::{Synchronisation, synchronisation};
use super::plan::{PlanInput, Plan, Step};
use crate::defaults::Defaults;
use crate::error::BuildError;
use crate::sync_job::Desired;

/// A plan, and what it takes. Only [`prepare`] makes one, and whoever applies it has it no more.
#[derive(Debug)]
pub struct Prepared {
    plan: Plan,
    work: Work,
}

/// What is to be done.
#[derive(Debug)]
pub enum Work {
    /// Nothing.
    Leave,
    /// The finalizer that earlier versions have put on it is taken away.
    Release,
    /// The Job of this name is deleted: this one, and not another that has taken its name meanwhile.
    Stop(String, Preconditions),
    /// A Job and its task are made.
    Start(Box<Desired>),
}

impl Prepared {
    pub(super) fn into_parts(self) -> (Plan, Work) {
        (self.plan, self.work)
    }
}

/// Decides what the plan takes.
///
/// # Errors
///
/// [`BuildError`] when a task cannot be written.
pub fn prepare(known: PlanInput<'_>, plan: Plan, defaults: &Defaults) -> Result<Prepared, BuildError> {
    let PlanInput { index, validated, observed, .. } = known;
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
