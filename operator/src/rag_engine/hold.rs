//! Reasons not to change a RAGEngine at the moment.

use k8s_openapi::api::apps::v1::Deployment;
use ragengine_operator_api::{PAUSED_ANNOTATION, RagEngine, RagEngineStatus, Reason};

use super::build::{Desired, REFERENCES_HASH};
use super::observe::Observed;
use crate::finding::Finding;
use crate::hash::hash;
use crate::karpenter::NodeClaim;
use crate::names::APPLIED_HASH;

/// Why no object of an engine is created, changed or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// The annotation `ragengine.dev/paused` is set.
    Paused,
    /// The operator was upgraded, and the maximum number of engines is already rolling out.
    Queued {
        /// The number of engines that are rolling out.
        others: usize,
    },
}

/// The state of an engine before anything is applied.
#[derive(Debug, Clone, Copy)]
pub struct Before<'a> {
    /// The resource.
    pub engine: &'a RagEngine,
    /// Its last status.
    pub status: &'a RagEngineStatus,
    /// The existing objects.
    pub observed: &'a Observed,
    /// The desired objects.
    pub desired: &'a Desired,
}

impl Hold {
    /// The finding for the condition Progressing.
    pub fn finding(self) -> Finding {
        match self {
            Self::Paused => Finding::new(
                Reason::Paused,
                format!(
                    "the engine is paused: nothing is created, changed or deleted until the annotation \
                     {PAUSED_ANNOTATION} is removed"
                ),
            ),
            Self::Queued { others } => Finding::new(
                Reason::RollingOut,
                format!(
                    "the operator was upgraded or its settings changed: the engine keeps its current version until \
                     it is its turn to restart, while {} restarting",
                    if others == 1 { "1 other engine is".to_owned() } else { format!("{others} other engines are") }
                ),
            ),
        }
    }
}

/// Whether the rollout is caused by the operator: the desired pod differs although neither the specification nor the
/// referenced objects changed, or its nodes are replaced because the operator has another node class. Such an engine
/// waits for its turn. Its settings and its Service wait too, because they belong to the same version.
pub fn needs_a_turn(before: Before<'_>) -> bool {
    let Before { engine, status, observed, desired } = before;
    let (Some(live), Some(wanted)) = (observed.deployment.as_deref(), &desired.deployment) else { return false };
    let is_acted_on = status.observed_generation.is_some() && status.observed_generation == engine.metadata.generation;
    let is_applied =
        live.metadata.annotations.as_ref().and_then(|found| found.get(APPLIED_HASH)) == Some(&hash(wanted));
    let are_the_same = references_hash(live).is_none_or(|live| references_hash(wanted) == Some(live));
    let is_moved = has_another_node_class(&observed.nodes.claims, &desired.node_claims);
    engine.spec.replicas > 0 && is_acted_on && (is_moved || (!is_applied && are_the_same))
}

/// Whether a NodeClaim has another node class than those that are to replace it.
fn has_another_node_class(live: &[NodeClaim], desired: &[NodeClaim]) -> bool {
    let Some(wanted) = desired.first() else { return false };
    live.iter().any(|claim| !claim.is_going() && claim.spec.get("nodeClassRef") != wanted.spec.get("nodeClassRef"))
}

fn references_hash(deployment: &Deployment) -> Option<&String> {
    let pod = deployment.spec.as_ref()?.template.metadata.as_ref()?;
    pod.annotations.as_ref()?.get(REFERENCES_HASH)
}
