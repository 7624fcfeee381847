//! Decides how to change the objects of an engine. Pure functions.

use ragengine_operator_api::{RagEngine, RagEngineStatus, is_paused};

use super::build::{self, Desired};
use super::hold::{Before, Hold, needs_a_turn};
use super::observe::Observed;
use super::validate::Validated;
use crate::defaults::Defaults;
use crate::error::BuildError;
use crate::finding::Invalid;

/// The specification and the previous status.
#[derive(Debug, Clone, Copy)]
pub struct EngineInput<'a> {
    /// The resource.
    pub engine: &'a RagEngine,
    /// Its validated specification, or why it is invalid.
    pub validated: Result<&'a Validated, &'a Invalid>,
    /// The status that was written last.
    pub before: &'a RagEngineStatus,
}

/// The observed objects and the work to do. Only [`prepare`] creates one, and applying consumes it.
#[derive(Debug)]
pub struct Prepared {
    observed: Observed,
    work: Work,
}

/// The work to do.
#[derive(Debug)]
pub enum Work {
    /// Do nothing. The reason, if the engine is held.
    Leave(Option<Hold>),
    /// Stop the server and what costs something without it: its nodes and its backups. Change nothing else.
    Stop,
    /// Apply these objects.
    Apply(Box<Desired>),
    /// Apply these objects when it is the engine's turn, because the operator causes the rollout.
    ApplyInTurn(Box<Desired>),
}

impl Prepared {
    pub(super) fn into_parts(self) -> (Observed, Work) {
        (self.observed, self.work)
    }
}

/// Decides the work from the observed objects.
///
/// # Errors
///
/// [`BuildError`] when the settings cannot be serialised.
pub fn prepare(input: EngineInput<'_>, observed: Observed, defaults: &Defaults) -> Result<Prepared, BuildError> {
    let work = match input.validated {
        _ if is_paused(&input.engine.metadata) => Work::Leave(Some(Hold::Paused)),
        Ok(validated) => {
            let desired = build::build(validated, &observed, defaults)?;
            let before = Before { engine: input.engine, status: input.before, observed: &observed, desired: &desired };
            if needs_a_turn(before) { Work::ApplyInTurn(Box::new(desired)) } else { Work::Apply(Box::new(desired)) }
        }
        // An invalid specification changes nothing, except that a server with `replicas: 0` is stopped.
        Err(_) if input.engine.spec.replicas == 0 => Work::Stop,
        Err(_) => Work::Leave(None),
    };
    Ok(Prepared { observed, work })
}
