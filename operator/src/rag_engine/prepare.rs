//! What is to be done to the objects of an engine: pure.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use ragengine_operator_api::{RagEngine, RagEngineStatus, is_paused};

use super::build::{self, Desired};
use super::hold::{Before, Hold, needs_a_turn};
use super::observe::Observed;
use super::validate::Validated;
use crate::defaults::Defaults;
use crate::error::BuildError;
use crate::finding::Invalid;

/// What is asked for, and what was said of it last.
#[derive(Debug, Clone, Copy)]
pub struct EngineInput<'a> {
    /// The resource.
    pub engine: &'a RagEngine,
    /// Its specification, or why it cannot be built.
    pub validated: Result<&'a Validated, &'a Invalid>,
    /// Its last status.
    pub before: &'a RagEngineStatus,
}

/// What there is, and what is to be done. Only [`prepare`] makes one, and whoever applies it has it no more.
#[derive(Debug)]
pub struct Prepared {
    observed: Observed,
    work: Work,
}

/// What is to be done.
#[derive(Debug)]
pub enum Work {
    /// Nothing, and why, where it is held.
    Leave(Option<Hold>),
    /// The server is stopped, and nothing else is changed.
    Stop(Arc<Deployment>),
    /// The objects become these.
    Apply(Box<Desired>),
    /// The same, when it is the engine's turn: it is the operator that would roll its pod.
    ApplyInTurn(Box<Desired>),
}

impl Prepared {
    pub(super) fn into_parts(self) -> (Observed, Work) {
        (self.observed, self.work)
    }
}

/// Decides what is to be done, from what there is.
///
/// # Errors
///
/// [`BuildError`] when the settings cannot be written.
pub fn prepare(asked: EngineInput<'_>, observed: Observed, defaults: &Defaults) -> Result<Prepared, BuildError> {
    let work = match asked.validated {
        _ if is_paused(&asked.engine.metadata) => Work::Leave(Some(Hold::Paused)),
        Ok(validated) => {
            let desired = build::build(validated, &observed, defaults)?;
            let before = Before { engine: asked.engine, status: asked.before, observed: &observed, desired: &desired };
            match needs_a_turn(before) {
                true => Work::ApplyInTurn(Box::new(desired)),
                false => Work::Apply(Box::new(desired)),
            }
        }
        // For a specification that is not understood nothing is changed: what runs goes on running, unless it is to stop.
        Err(_) => match observed.deployment.clone().filter(|_| asked.engine.spec.replicas == 0) {
            Some(running) => Work::Stop(running),
            None => Work::Leave(None),
        },
    };
    Ok(Prepared { observed, work })
}
