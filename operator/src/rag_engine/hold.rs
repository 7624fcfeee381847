//! Why a RAGEngine is left as it is, for now.

use k8s_openapi::api::apps::v1::Deployment;
use ragengine_operator_api::{PAUSED_ANNOTATION, RagEngine, RagEngineStatus, Reason};

use super::build::{Desired, REFERENCES_HASH};
use super::observe::Observed;
use crate::finding::Finding;
use crate::hash::hash;
use crate::names::APPLIED_HASH;

/// Why nothing of an engine is made, changed or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Its annotation says so.
    Paused,
    /// The operator was upgraded, and as many others are being rolled as may be at a time.
    Queued {
        /// How many.
        others: usize,
    },
}

/// What is known of an engine before anything is applied.
#[derive(Debug, Clone, Copy)]
pub struct Before<'a> {
    /// The resource.
    pub engine: &'a RagEngine,
    /// Its last status.
    pub status: &'a RagEngineStatus,
    /// What there is.
    pub observed: &'a Observed,
    /// What there is to be.
    pub desired: &'a Desired,
}

impl Hold {
    /// In the words of the condition Progressing.
    pub fn finding(self) -> Finding {
        match self {
            Self::Paused => Finding::new(
                Reason::Paused,
                format!(
                    "the engine is paused: nothing is created, changed or deleted until the annotation {PAUSED_ANNOTATION} is removed"
                ),
            ),
            Self::Queued { others } => Finding::new(
                Reason::RollingOut,
                format!("waiting until {others} other engines have been rolled out: the operator was upgraded or its settings changed"),
            ),
        }
    }
}

/// Whether it is the operator that would roll the pod: a running one would be another one though neither the specification nor what it refers to has
/// changed. It waits for its turn then, and its settings and its Service wait with it: they are of one version.
pub fn needs_a_turn(before: Before<'_>) -> bool {
    let Before { engine, status, observed, desired } = before;
    let (Some(live), Some(wanted)) = (observed.deployment.as_deref(), &desired.deployment) else { return false };
    let is_acted_on = status.observed_generation.is_some() && status.observed_generation == engine.metadata.generation;
    let is_applied =
        live.metadata.annotations.as_ref().and_then(|found| found.get(APPLIED_HASH)) == Some(&hash(wanted));
    let are_the_same = references_hash(live).is_none_or(|live| references_hash(wanted) == Some(live));
    engine.spec.replicas > 0 && is_acted_on && !is_applied && are_the_same
}

fn references_hash(deployment: &Deployment) -> Option<&String> {
    let pod = deployment.spec.as_ref()?.template.metadata.as_ref()?;
    pod.annotations.as_ref()?.get(REFERENCES_HASH)
}
