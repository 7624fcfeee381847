//! What the status says about the nodes that are made for an engine, in Karpenter's own words.

use ragengine_operator_api::{RagEngine, Reason};

use crate::defaults::Defaults;
use crate::finding::{Finding, quoted, unended};
use crate::karpenter::{NodeClaim, NodeClaimCondition};
use crate::rag_engine::nodes::{NoNodes, Provider, instance_type, unreadable, wants};
use crate::rag_engine::observe::Observed;

/// The steps of a NodeClaim, in order. `Ready` sums them up.
const STEPS: [&str; 4] = ["Launched", "Registered", "Initialized", "Ready"];
/// The reason of a step that Karpenter has not begun.
const NOT_BEGUN: [&str; 2] = ["", "AwaitingReconciliation"];
/// The maximum length of Karpenter's words, in characters.
const MAX_WORDS: usize = 400;

/// Why the pod has no node, if Karpenter reports a failure, or the NodeClaims cannot be read.
pub(super) fn problem(engine: &RagEngine, observed: &Observed) -> Option<Finding> {
    forbidden(observed).or_else(|| failure(observed).filter(|_| !has_node(engine, observed)))
}

/// Why the pod has no node yet.
pub(super) fn waiting(engine: &RagEngine, observed: &Observed) -> Option<Finding> {
    if has_node(engine, observed) {
        return None;
    }
    observed.nodes.claims.first().map(words).or_else(|| observed.nodes.missing.first().map(|name| gone(engine, name)))
}

/// The node that others replace, while they or its end are waited for.
pub(super) fn replacing(observed: &Observed) -> Option<Finding> {
    let old = observed.nodes.replaced.first()?.name();
    let message = match observed.nodes.claims.iter().find(|claim| !claim.is_ready()) {
        Some(new) => format!("{}. Until then NodeClaim {old} keeps its node", unended(&words(new).message)),
        None if !observed.nodes.missing.is_empty() => format!("NodeClaim {old} keeps its node until others replace it"),
        None if observed.nodes.claims.is_empty() => {
            format!("waiting until no pod runs on the node of NodeClaim {old}, and it is gone")
        }
        None => format!("waiting until NodeClaim {old}, which others replace, and its node are gone"),
    };
    Some(Finding::new(Reason::NodeNotReady, message))
}

/// A failure beside a pod that runs.
pub(super) fn hint(engine: &RagEngine, observed: &Observed) -> Option<Finding> {
    let gone = || observed.nodes.missing.first().map(|name| gone(engine, name));
    forbidden(observed).or_else(|| failure(observed)).or_else(gone)
}

fn forbidden(observed: &Observed) -> Option<Finding> {
    let why = observed.nodes.unreadable.as_ref()?;
    Some(Finding::new(Reason::ObjectRefused, unreadable(why).message))
}

fn failure(observed: &Observed) -> Option<Finding> {
    let is_failure = |claim: &&NodeClaim| !claim.is_going() && step(claim).is_some_and(has_failed);
    observed.nodes.claims.iter().find(is_failure).map(words)
}

/// The names of the nodes, sorted.
pub(super) fn names(observed: &Observed) -> Vec<String> {
    let claims = observed.nodes.claims.iter().chain(&observed.nodes.replaced);
    let mut names: Vec<_> = claims.filter_map(NodeClaim::node).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

/// Adds to the finding that no node can run the pod why the operator makes none.
pub(super) fn explained(engine: &RagEngine, observed: &Observed, finding: Finding) -> Finding {
    match (why_none(engine, observed), finding.reason) {
        (Some(why), Reason::PodUnschedulable) => {
            Finding { message: format!("{}. {why}", unended(&finding.message)), ..finding }
        }
        _ => finding,
    }
}

/// A sentence for `compute.count`, if no nodes are made.
pub(super) fn count_not_acted_on(engine: &RagEngine, observed: &Observed) -> Option<String> {
    let count = engine.spec.compute.as_ref()?.count.filter(|count| *count != 1)?;
    Some(format!("compute.count ({count}) has no effect. {}", why_none(engine, observed)?))
}

/// A sentence for `compute.count`, if the operator does not make as many nodes.
pub(super) fn count_beyond_limit(engine: &RagEngine, observed: &Observed, defaults: &Defaults) -> Option<String> {
    let is_made = matches!(observed.nodes.provider, Provider::Karpenter(_)) && wants(&engine.spec);
    let most = defaults.node_limits.most;
    let count = engine.spec.compute.as_ref()?.count.filter(|count| is_made && *count > most)?;
    Some(format!(
        "compute.count is {count}, and this operator makes at most {most} for an engine: nodes beyond that stay while \
         they exist, and are not made again. Write at most {most}, or raise karpenter.maxNodes of the operator's chart"
    ))
}

/// Why the operator makes no nodes of the machine type, if it makes none.
fn why_none(engine: &RagEngine, observed: &Observed) -> Option<String> {
    let machine = instance_type(&engine.spec)?;
    let why = match observed.nodes.provider {
        Provider::Karpenter(_) => return None,
        Provider::Cluster(NoNodes::NoNodeClass) => {
            "it has no node class: set karpenter.nodeClass of its chart, or add such a node"
        }
        Provider::Cluster(NoNodes::NotServed) => {
            "the cluster has no NodeClaims (karpenter.sh/v1): install Karpenter, or add such a node"
        }
    };
    Some(format!("The operator makes no nodes of the type {machine} (compute.instanceType), because {why}"))
}

/// Whether the pod can have a node, as far as NodeClaims say.
fn has_node(engine: &RagEngine, observed: &Observed) -> bool {
    let is_made = matches!(observed.nodes.provider, Provider::Karpenter(_)) && wants(&engine.spec);
    !is_made || observed.nodes.claims.iter().any(NodeClaim::is_ready)
}

/// The first step that is not done.
fn step(claim: &NodeClaim) -> Option<&NodeClaimCondition> {
    STEPS.iter().filter_map(|step| claim.condition(step)).find(|condition| condition.status != "True")
}

/// Karpenter tries a failed launch again, so its status stays Unknown, with the reason of the failure.
fn has_failed(step: &NodeClaimCondition) -> bool {
    step.status == "False" || (step.type_ == "Launched" && !NOT_BEGUN.contains(&step.reason.as_str()))
}

fn words(claim: &NodeClaim) -> Finding {
    let name = claim.name();
    let message = match step(claim) {
        _ if claim.is_going() => {
            format!("NodeClaim {name} is being deleted: another one is made when it and its node are gone")
        }
        Some(step) if !NOT_BEGUN.contains(&step.reason.as_str()) => {
            let said = quoted(&step.message, MAX_WORDS);
            let said = if said.trim().is_empty() { String::new() } else { format!(": {}", unended(&said)) };
            let look = format!("See kubectl describe nodeclaim {name}");
            if has_failed(step) {
                format!("NodeClaim {name} gets no node ({}{said}). {look}", step.reason)
            } else {
                format!("waiting for the node of NodeClaim {name} ({}{said}). {look}", step.reason)
            }
        }
        _ => format!("waiting until Karpenter makes a node for NodeClaim {name}"),
    };
    Finding::new(Reason::NodeNotReady, message)
}

fn gone(engine: &RagEngine, name: &str) -> Finding {
    let machine = instance_type(&engine.spec).unwrap_or_default();
    let message = format!(
        "NodeClaim {name} is gone, and is made again within a minute. Karpenter deletes it when the cloud has no {machine}, \
         or its node does not join the cluster: see kubectl get events --namespace default"
    );
    Finding::new(Reason::NodeNotReady, message)
}
