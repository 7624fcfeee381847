//! The nodes that are made for an engine: its NodeClaims as they are, and when each was made last.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, ListParams};
use parking_lot::Mutex;
use ragengine_operator_api::{RAG_ENGINE_FINALIZER, RagEngine, RagEngineSpec};
use tokio::time::Instant;

use crate::apply::Refused;
use crate::context::Context;
use crate::finding::{quoted, unended};
use crate::karpenter::{NodeClaim, NodeClass, is_alike, is_served};
use crate::names::{Identity, NODE_OF};
use crate::pod;
use crate::requests::within_limit;

/// The time between two attempts to make the same NodeClaim. Karpenter deletes one when the cloud has no such machine.
pub const NEXT_ATTEMPT: Duration = Duration::from_secs(60);

/// Who provides the nodes of the machine type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provider {
    /// The operator makes NodeClaims of this node class.
    Karpenter(NodeClass),
    /// The cluster has the nodes already, because the operator makes none.
    Cluster(NoNodes),
}

/// Why the operator makes no nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoNodes {
    /// The operator has no node class.
    NoNodeClass,
    /// The cluster has no NodeClaims.
    NotServed,
}

impl Default for Provider {
    fn default() -> Self {
        Self::Cluster(NoNodes::NoNodeClass)
    }
}

/// What is known of the nodes of an engine.
#[derive(Debug, Clone, Default)]
pub struct ObservedNodes {
    /// Who provides them.
    pub provider: Provider,
    /// Whether the engine has the finalizer.
    pub is_held: bool,
    /// All its NodeClaims; after an apply only the desired ones.
    pub claims: Vec<NodeClaim>,
    /// NodeClaims that others replace, until the replaced ones are gone; without others, those that still have pods.
    pub replaced: Vec<NodeClaim>,
    /// The names of NodeClaims that are gone again and are made a little later.
    pub missing: Vec<String>,
    /// Why the NodeClaims may not be read, if so. Then none is made or deleted.
    pub unreadable: Option<String>,
}

impl ObservedNodes {
    /// Whether something is to be done later that no event announces.
    pub fn need_another_look(&self) -> bool {
        !self.missing.is_empty() || self.unreadable.is_some()
    }
}

/// The NodeClaims of an engine in the cluster.
pub enum Listing {
    /// The cluster has no NodeClaims of any engine.
    NotServed,
    /// All of them.
    Claims(Vec<NodeClaim>),
    /// The operator may not read them.
    Unreadable(String),
}

/// Whether a specification asks for nodes of a machine type. A stopped engine needs none.
pub fn wants(spec: &RagEngineSpec) -> bool {
    spec.replicas > 0 && instance_type(spec).is_some()
}

/// The machine type, if the specification names one.
pub fn instance_type(spec: &RagEngineSpec) -> Option<&str> {
    spec.compute.as_ref()?.instance_type.as_deref()
}

/// Whether an engine has the finalizer.
pub fn is_held(engine: &RagEngine) -> bool {
    engine.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == RAG_ENGINE_FINALIZER)
}

/// Reads what a reconcile needs to know. Sends nothing for an engine without a machine type.
///
/// # Errors
///
/// When the API server does not answer.
pub async fn observe(context: &Context, engine: &RagEngine) -> Result<ObservedNodes, kube::Error> {
    let node_class = &context.defaults.node_class;
    let is_held = is_held(engine);
    let asks = is_held || (node_class.is_some() && instance_type(&engine.spec).is_some());
    if !asks {
        return Ok(ObservedNodes::default());
    }
    let listing = list(&context.client, &Identity::of(engine)).await?;
    let why_none = if node_class.is_some() { NoNodes::NotServed } else { NoNodes::NoNodeClass };
    let provider = match (&listing, node_class) {
        (Listing::NotServed, _) | (_, None) => Provider::Cluster(why_none),
        (_, Some(node_class)) => Provider::Karpenter(node_class.clone()),
    };
    let (claims, unreadable) = match listing {
        Listing::NotServed => (Vec::new(), None),
        Listing::Claims(claims) => (claims, None),
        Listing::Unreadable(why) => (Vec::new(), Some(why)),
    };
    Ok(ObservedNodes { provider, is_held, claims, unreadable, ..ObservedNodes::default() })
}

/// The pods of an engine, and their Deployment as it was applied.
#[derive(Debug, Clone, Copy)]
pub struct Users<'a> {
    /// The pods.
    pub pods: &'a [Arc<Pod>],
    /// The Deployment.
    pub deployment: Option<&'a Deployment>,
}

/// Whether a NodeClaim that is not desired may go. `claims` are the desired ones that exist.
///
/// Without a node it goes. When all of the desired ones have their nodes, it stays while a pod serves on its node, until the Deployment is complete: the
/// pod may be the only one, such as before the first pod of a new version serves. Before they have their nodes, it goes
/// only if no pod can be on its node any more, because it may be what keeps the others from getting theirs, such as by
/// a quota.
pub fn may_go(old: &NodeClaim, desired: &[NodeClaim], claims: &[NodeClaim], users: Users<'_>) -> bool {
    let node = old.node();
    if node.is_none() && !old.is_ready() {
        return true;
    }
    let is_there = |pod: &&Arc<Pod>| node.is_some() && pod::node(pod) == node && pod::is_alive(pod);
    let mut on_its_node = users.pods.iter().filter(is_there);
    let is_ready = |wanted: &NodeClaim| claims.iter().any(|found| found.name() == wanted.name() && found.is_ready());
    if desired.iter().all(is_ready) {
        return !on_its_node.any(|pod| pod::is_ready(pod)) || users.deployment.is_some_and(is_complete);
    }
    // Pods of the previous version are made again until all of the next one serve, unless they are stopped first.
    let has_stopped_others = users.deployment.is_some_and(|live| is_observed(live) && is_recreated(live));
    has_stopped_others && on_its_node.next().is_none() && !desired.iter().any(|wanted| is_alike(old, wanted))
}

/// Whether Kubernetes acts on the current version of a Deployment.
fn is_observed(deployment: &Deployment) -> bool {
    let observed = deployment.status.as_ref().and_then(|status| status.observed_generation);
    observed.is_some() && observed >= deployment.metadata.generation
}

/// Whether all pods of the previous version stop before the next one starts.
fn is_recreated(deployment: &Deployment) -> bool {
    let strategy = deployment.spec.as_ref().and_then(|spec| spec.strategy.as_ref()?.type_.as_deref());
    strategy == Some("Recreate")
}

/// Whether all pods are of the current version and serve.
fn is_complete(deployment: &Deployment) -> bool {
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    deployment.status.as_ref().is_some_and(|status| {
        let [all, updated, available] =
            [status.replicas, status.updated_replicas, status.available_replicas].map(Option::unwrap_or_default);
        is_observed(deployment) && all == updated && updated >= wanted && available >= wanted
    })
}

/// Lists all NodeClaims of an engine, in one consistent reply.
///
/// # Errors
///
/// When the API server does not answer.
pub async fn list(client: &Client, identity: &Identity) -> Result<Listing, kube::Error> {
    if !is_served(client).await? {
        return Ok(Listing::NotServed);
    }
    let claims: Api<NodeClaim> = Api::all(client.clone());
    let its = ListParams::default().labels(&format!("{NODE_OF}={}", identity.uid));
    match within_limit(claims.list(&its)).await {
        Ok(found) => {
            let its = found.items.into_iter().filter(|claim| identity.made_node_claim(&claim.metadata));
            Ok(Listing::Claims(its.collect()))
        }
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(Listing::Unreadable(status.message)),
        Err(error) => Err(error),
    }
}

/// What a user is told of NodeClaims that the operator may not read.
pub fn unreadable(why: &str) -> Refused {
    let message = format!(
        "the NodeClaims of the engine cannot be read: {}. Set karpenter.nodeClass of the operator's chart, which grants \
         the right",
        unended(&quoted(why, 300))
    );
    Refused { message }
}

/// When each NodeClaim was made last, by the uid of its engine.
#[derive(Default)]
pub struct Attempts(Mutex<HashMap<String, HashMap<String, Instant>>>);

impl Attempts {
    /// Whether a NodeClaim may be made now.
    pub fn is_due(&self, uid: &str, name: &str) -> bool {
        let all = self.0.lock();
        let last = all.get(uid).and_then(|of_engine| of_engine.get(name));
        last.is_none_or(|at| at.elapsed() >= NEXT_ATTEMPT)
    }

    /// Notes that a NodeClaim was made.
    pub fn made(&self, uid: &str, name: &str) {
        let mut all = self.0.lock();
        let of_engine = all.entry(uid.to_owned()).or_default();
        of_engine.retain(|_, at| at.elapsed() < NEXT_ATTEMPT);
        of_engine.insert(name.to_owned(), Instant::now());
    }

    /// Forgets an engine.
    pub fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn claim(name: &str, machine: &str, is_ready: bool) -> NodeClaim {
        let requirement = json!({"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [machine]});
        let ready = json!([{"type": "Ready", "status": if is_ready { "True" } else { "Unknown" }}]);
        serde_json::from_value(json!({
            "metadata": {"name": name}, "spec": {"requirements": [requirement]},
            "status": {"conditions": ready, "nodeName": is_ready.then(|| format!("node-of-{name}"))},
        }))
        .unwrap()
    }

    /// A pod on this node, in this phase, which may be ready.
    fn pod_on(node: &str, phase: &str, is_ready: bool) -> Arc<Pod> {
        let ready = json!([{"type": "Ready", "status": if is_ready { "True" } else { "False" }}]);
        let pod = json!({
            "metadata": {"name": "p"}, "spec": {"nodeName": node, "containers": []},
            "status": {"phase": phase, "conditions": ready},
        });
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    fn deployment(strategy: &str, status: &Value) -> Deployment {
        let spec = json!({
            "replicas": 1, "strategy": {"type": strategy}, "selector": {}, "template": {"spec": {"containers": []}},
        });
        serde_json::from_value(json!({"metadata": {"generation": 2}, "spec": spec, "status": status})).unwrap()
    }

    #[test]
    fn a_node_stays_while_a_pod_serves_on_it_and_goes_when_none_can_be_on_it() {
        let complete = json!({"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1});
        let rolling = json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 1});
        let changed = json!({"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1});
        let stopped = json!({"observedGeneration": 2});
        let (serving, starting) = (pod_on("node-of-old", "Running", true), pod_on("node-of-old", "Running", false));
        let (ended, elsewhere) = (pod_on("node-of-old", "Failed", false), pod_on("node-of-new", "Running", true));
        let (ready, pending) = (claim("new", "larger", true), claim("new", "larger", false));
        let (same_ready, same_pending) = (claim("new", "large", true), claim("new", "large", false));
        for (what, new, strategy, status, pods, expected) in [
            ("the next one does not serve yet", &ready, "RollingUpdate", &rolling, vec![&serving], false),
            ("the change is not seen yet", &ready, "RollingUpdate", &changed, vec![&serving], false),
            ("it has left", &ready, "RollingUpdate", &rolling, vec![&elsewhere], true),
            ("it fits on both, and serves", &same_ready, "Recreate", &complete, vec![&serving], true),
            ("it fits on both, and does not serve", &same_ready, "Recreate", &stopped, vec![&starting], true),
            ("the old pod has stopped", &pending, "Recreate", &stopped, vec![], true),
            ("the old pod has ended", &pending, "Recreate", &stopped, vec![&ended], true),
            ("the old pod stops", &pending, "Recreate", &stopped, vec![&starting], false),
            ("the change is not seen", &pending, "Recreate", &changed, vec![], false),
            ("the old pod is made again", &pending, "RollingUpdate", &rolling, vec![], false),
            ("a pod can come back", &same_pending, "Recreate", &stopped, vec![], false),
        ] {
            let (pods, live) = (pods.into_iter().cloned().collect::<Vec<_>>(), deployment(strategy, status));
            let users = Users { pods: &pods, deployment: Some(&live) };
            let new = std::slice::from_ref(new);
            assert_eq!(may_go(&claim("old", "large", true), new, new, users), expected, "{what}");
        }
        let (pods, live) = ([serving], deployment("RollingUpdate", &rolling));
        let never_there = claim("old", "large", false);
        let (new, users) = (std::slice::from_ref(&pending), Users { pods: &pods, deployment: Some(&live) });
        assert!(may_go(&never_there, new, new, users), "it never got a node");
        let old = claim("old", "large", true);
        assert!(!may_go(&old, &[], &[], Users { pods: &pods, deployment: Some(&live) }), "none is desired any more");
        assert!(may_go(&old, &[], &[], Users { pods: &[], deployment: None }), "stopped");
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_claim_is_made_again_after_a_while() {
        let attempts = Attempts::default();
        attempts.made("u", "a");
        assert!(!attempts.is_due("u", "a") && attempts.is_due("u", "b") && attempts.is_due("v", "a"));
        tokio::time::advance(NEXT_ATTEMPT).await;
        assert!(attempts.is_due("u", "a"));
        attempts.made("u", "a");
        attempts.forget("u");
        assert!(attempts.is_due("u", "a"));
    }
}
